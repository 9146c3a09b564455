// out = softmax(scale * in) along rows of kCols values: fp32 in, bf16 out, math on fragments.
//
// | role    | warps  | does                                              |
// | ------- | ------ | ------------------------------------------------- |
// | load    | 0      | one thread copies 64-row tiles into the ring       |
// | softmax | 4 to 7 | a warpgroup: tile to registers, softmax, tile, out |
//
//   load --rows full--> softmax --rows empty--> load             (the barrier graph)
//
// | step | load                | softmax                                               |
// | ---- | ------------------- | ----------------------------------------------------- |
// | i    | wait empty, copy in | wait full, read tile, free it, softmax, wait until the |
// |      |                     | last store has read, write out tile, copy out          |
//
// SMEM: kSlots fp32 tiles, one bf16 tile, barriers.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

struct SoftmaxConfig {
  int cols = 128;
  int slots = 2;
};

template <class M, SoftmaxConfig C>
struct Softmax {
  static constexpr int kThreads = 256;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kTileRows = 64;

  struct Params {
    typename M::TensorMap in;
    typename M::TensorMap out;
    int rows;
    float scale_log2;
  };

  using InTile = Tile<M, float, kTileRows, C.cols>;
  using OutTile = Tile<M, bf16, kTileRows, C.cols>;

  struct Smem {
    Ring<M, "rows", InTile, C.slots, By<Tma>, FreedBy<OncePerWarp<4>>> rows;
    OutTile out;
  };
  using Ids = BarrierIds<"out tile">;
  using OutTileMeeting = Meeting<M, "out tile", Ids, 128>;

  /// `scale` is any positive value; matrices are [rows, C.cols].
  static Params make_params(float* in, bf16* out, int rows, float scale) {
    constexpr float kLog2E = 1.44269504F;
    const auto height = static_cast<std::uint64_t>(rows);
    return {M::make_tensor_map(matrix_map<typename InTile::View>(in, height, C.cols, C.cols)),
            M::make_tensor_map(matrix_map<typename OutTile::View>(out, height, C.cols, C.cols)),
            rows, scale * kLog2E};
  }

  static JFA_DEVICE void load(const Params& p, Smem& smem) {
    auto w = smem.rows.writer();
    for (int row = M::block_index() * kTileRows; row < p.rows; row += M::grid_size() * kTileRows) {
      smem.rows.fill(w, [&](InTile& tile, Mbarrier& full) {
        tma_load(full, tile, p.in, {0, row});
      });
    }
  }

  static JFA_DEVICE void softmax(const Params& p, Smem& smem) {
    auto r = smem.rows.reader();
    for (int row = M::block_index() * kTileRows; row < p.rows; row += M::grid_size() * kTileRows) {
      Fragment<M, C.cols> x;
      x.fill(0);
      const auto tile = smem.rows.wait(r).view();
      x.apply([&](int i, int col, float& value) { value = tile.load(i, col).values[0]; });
      smem.rows.release(r);
      const float scale = p.scale_log2;
      const auto shift = max_across_lanes(partial_row_max(x)) * scale;
      x.map_rows(shift, [&](float v, float m) { return M::exp2(M::fma(v, scale, -m)); });
      const auto sum = sum_across_lanes(partial_row_sum<0, C.cols>(x));
      scale_rows(x, sum.map([](float s) { return M::reciprocal(s); }));
      store(p, smem, x, row);
    }
    if (M::warp_index() % 4 == 0 && M::elect()) wait_read<M>();
  }

  static JFA_DEVICE void store(const Params& p, Smem& smem, Fragment<M, C.cols>& x, int row) {
    const bool first_warp = M::warp_index() % 4 == 0;
    if (first_warp && M::elect()) wait_read<M>();
    OutTileMeeting::sync();  // the last store has read the tile
    store_fragment(smem.out.view(), x);
    M::template fence_proxy_async<Space::Shared>();  // the tile, written by threads, read by copies
    OutTileMeeting::sync();
    if (first_warp && M::elect()) {
      tma_store(p.out, {0, row}, smem.out);
      M::bulk_commit();
    }
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.rows.init(); });
    warp_roles<M>(role<"load", Warps{0, 1}>([&] {
                    if (M::elect()) load(p, smem);
                  }),
                  role<"softmax", Warps{4, 4}>([&] { softmax(p, smem); }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
