// out[0] = out[1] = in: a [rows, cols] bf16 matrix, read once by each cluster of two blocks.
//
// | role  | warps | does                                                             |
// | ----- | ----- | ---------------------------------------------------------------- |
// | load  | 0     | one thread copies this block's half of each tile into both blocks |
// | store | 1     | one thread copies whole tiles to this block's output              |
//
//   load (both blocks) --tiles full--> store --tiles empty, of both blocks--> load
//
// | step | load                                         | store                           |
// | ---- | -------------------------------------------- | ------------------------------- |
// | i    | wait empty (freed by both), copy half i      | wait full, copy out, wait read, |
// |      |                                              | free in both blocks             |
// | end  | drain: the other block's releases have come  |                                 |
//
// SMEM: kSlots tiles and their barriers.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

struct MulticastCopyConfig {
  int tile_rows = 64;
  int tile_cols = 64;
  int slots = 3;
};

template <class M, MulticastCopyConfig C>
struct MulticastCopy {
  static constexpr int kThreads = 64;
  static constexpr int kClusterSize = 2;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kHalf = C.tile_rows / kClusterSize;
  static constexpr std::uint16_t kBothBlocks = 0b11;

  struct Params {
    typename M::TensorMap in;
    typename M::TensorMap out[kClusterSize];
    int rows;
    int cols;
  };

  using Slot = Tile<M, bf16, C.tile_rows, C.tile_cols>;
  using Half = TileView<M, bf16, kHalf, C.tile_cols, Swizzle::B128, C.tile_rows>;

  struct Smem {
    Ring<M, "tiles", Slot, C.slots, By<Tma>, FreedBy<OncePerWarpOfCluster<kClusterSize, 1>>> tiles;
  };

  /// `out` holds two matrices of `rows` x `cols`, one after the other; `cols` a multiple of 8.
  static Params make_params(bf16* in, bf16* out, int rows, int cols) {
    const auto height = static_cast<std::uint64_t>(rows);
    const auto width = static_cast<std::uint64_t>(cols);
    const auto out_map = [&](int block) {
      return M::make_tensor_map(matrix_map<typename Slot::View>(
          out + static_cast<std::uint64_t>(block) * height * width, height, width, width));
    };
    return {M::make_tensor_map(matrix_map<Half>(in, height, width, width)),
            {out_map(0), out_map(1)},
            rows,
            cols};
  }

  /// Calls fn(row, col) for each tile of the calling block's cluster.
  template <class Fn>
  static JFA_DEVICE void for_each_tile(const Params& p, Fn fn) {
    const int across = (p.cols + C.tile_cols - 1) / C.tile_cols;
    const int tiles = (p.rows + C.tile_rows - 1) / C.tile_rows * across;
    const int clusters = M::grid_size() / kClusterSize;
    for (int tile = M::block_index() / kClusterSize; tile < tiles; tile += clusters) {
      fn(tile / across * C.tile_rows, tile % across * C.tile_cols);
    }
  }

  static JFA_DEVICE void load(const Params& p, Smem& smem) {
    auto w = smem.tiles.writer();
    const int first = M::cluster_rank() * kHalf;
    for_each_tile(p, [&](int row, int col) {
      smem.tiles.fill(w, [&](Slot& slot, Mbarrier& full) {
        tma_load_multicast(full, slot.view().template rows<kHalf>(first), p.in, {col, row + first},
                           kBothBlocks);
      });
    });
    smem.tiles.drain(w);
  }

  static JFA_DEVICE void store(const Params& p, Smem& smem) {
    auto r = smem.tiles.reader();
    for_each_tile(p, [&](int row, int col) {
      Slot& slot = smem.tiles.wait(r);
      if (M::elect()) {
        tma_store(p.out[M::cluster_rank()], {col, row}, slot);
        M::bulk_commit();
        wait_read<M>();
      }
      smem.tiles.release(r);
    });
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M, kClusterSize>([&] { smem.tiles.init(); });
    warp_roles<M>(role<"load", Warps{0, 1}>([&] {
                    if (M::elect()) load(p, smem);
                  }),
                  role<"store", Warps{1, 1}>([&] { store(p, smem); }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
