// out = in: a [rows, cols] bf16 matrix through a ring of tiles, by the copy unit alone.
//
// | role  | warps | does                                       |
// | ----- | ----- | ------------------------------------------ |
// | load  | 0     | one thread copies tiles into the ring      |
// | store | 1     | one thread copies them out and frees slots |
//
//   load --tiles full--> store --tiles empty--> load            (the barrier graph)
//
// | step | load                 | store                                                   |
// | ---- | -------------------- | ------------------------------------------------------- |
// | i    | wait empty, copy in  | wait full, copy out i, wait until i-1 is read, free i-1 |
//
// SMEM: kSlots tiles and their barriers.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

struct RingCopyConfig {
  int tile_rows = 64;
  int tile_cols = 64;
  int slots = 4;
};

template <class M, RingCopyConfig C>
struct RingCopy {
  static constexpr int kThreads = 64;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static_assert(C.slots >= 2, "a slot is freed one step late");

  struct Params {
    typename M::TensorMap in;
    typename M::TensorMap out;
    int rows;
    int cols;
  };

  using Slot = Tile<M, bf16, C.tile_rows, C.tile_cols>;

  struct Smem {
    Ring<M, "tiles", Slot, C.slots, By<Tma>, FreedBy<EachThread<1>>> tiles;
  };

  /// `rows`, `cols` >= 1; `cols` a multiple of 8.
  static Params make_params(bf16* in, bf16* out, int rows, int cols) {
    const auto map = [&](bf16* base) {
      const auto width = static_cast<std::uint64_t>(cols);
      return M::make_tensor_map(
          matrix_map<typename Slot::View>(base, static_cast<std::uint64_t>(rows), width, width));
    };
    return {map(in), map(out), rows, cols};
  }

  /// Calls fn(row, col) for each tile of the calling block.
  template <class Fn>
  static JFA_DEVICE void for_each_tile(const Params& p, Fn fn) {
    const int across = (p.cols + C.tile_cols - 1) / C.tile_cols;
    const int tiles = (p.rows + C.tile_rows - 1) / C.tile_rows * across;
    for (int tile = M::block_index(); tile < tiles; tile += M::grid_size()) {
      fn(tile / across * C.tile_rows, tile % across * C.tile_cols);
    }
  }

  static JFA_DEVICE void load(const Params& p, Smem& smem) {
    auto w = smem.tiles.writer();
    for_each_tile(p, [&](int row, int col) {
      smem.tiles.fill(w, [&](Slot& slot, Mbarrier& full) {
        tma_load(full, slot, p.in, {col, row});
      });
    });
  }

  static JFA_DEVICE void store(const Params& p, Smem& smem) {
    auto r = smem.tiles.reader();
    auto behind = smem.tiles.reader();
    bool first = true;
    for_each_tile(p, [&](int row, int col) {
      tma_store(p.out, {col, row}, smem.tiles.wait(r));
      M::bulk_commit();
      r.advance();
      if (!first) {
        wait_read<M, 1>();
        smem.tiles.release(behind);
      }
      first = false;
    });
    wait_read<M>();
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.tiles.init(); });
    warp_roles<M>(role<"load", Warps{0, 1}>([&] {
                    if (M::elect()) load(p, smem);
                  }),
                  role<"store", Warps{1, 1}>([&] {
                    if (M::elect()) store(p, smem);
                  }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
