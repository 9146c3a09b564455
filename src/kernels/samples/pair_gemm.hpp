// C = A B^T by pairs of blocks whose tensor cores work together: TmemGemm with cta_group::2.
// Compiled and emulated, not yet run on hardware.
//
//   A [m, k], B [n, k], C [m, n], bf16; n a multiple of 8.
//
// A pair makes tiles of 256 x C.tile_n; each block loads 128 rows of A and half of B, and has 128
// rows of the product in its tensor memory. B is read from shared memory once for 256 rows.
//
// | role     | warps  | does, in both blocks                                             |
// | -------- | ------ | ---------------------------------------------------------------- |
// | store    | 0 to 3 | the block's rows from tensor memory to SMEM, one thread copies   |
// | load     | 4      | one thread copies the block's part of A and B into stages        |
// | multiply | 5      | says that its part is there; the first block's issues the MMAs   |
//
//   load --stages full--> multiply --both--> multiply of both blocks        (the barrier graph)
//   multiply --stages empty, of both--> load
//   multiply --products full, of both--> store --products empty, of both--> multiply
//
// SMEM: C.stages x (part of A + part of B), a tile of C, barriers. Tensor memory: two products of
// C.tile_n columns.
#pragma once

#include "kernels/samples/gemm.hpp"

namespace jfa::inline JFA_BACKEND {

template <class M, GemmConfig C>
struct PairGemm {
  static constexpr int kThreads = 192;
  static constexpr int kClusterSize = 2;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kProducts = 2;
  static_assert(C.tile_m == 128 && C.splits == 1, "a block has 128 rows, and C is stored once");

  using Output = bf16;
  using ATile = Tile<M, bf16, C.tile_m, C.tile_k>;
  using BTile = Tile<M, bf16, C.tile_n / 2, C.tile_k>;
  using CTile = Tile<M, bf16, C.tile_m, C.tile_n>;
  using Tmem = TmemMap<M, Columns<"product", float, C.tile_n, kProducts, 2>>;
  struct Params {
    typename M::TensorMap a, b, c;
    int m, n, k;
  };
  struct Stage {
    ATile a;
    BTile b;
  };
  /// Both blocks' parts of a stage are full. One a stage: an arrival at the other block's gate must
  /// come after that has been passed, which the stage's release says.
  using Both = Gate<M, "both", By<OncePerWarpOfCluster<2, 1>>>;
  struct Product {};  // what is in tensor memory has no place in shared memory
  struct Smem {
    Ring<M, "stages", Stage, C.stages, By<Tma>, FreedBy<MmaDoneOf<2>>> stages;
    CTile c;
    Ring<M, "products", Product, kProducts, By<MmaDoneOf<2>>, FreedBy<OncePerWarpOfCluster<2, 4>>>
        products;
    Both both[C.stages];
    std::uint32_t tmem;
  };
  using Ids = BarrierIds<"store">;

  static Params make_params(bf16* a, bf16* b, bf16* c, int m, int n, int k) {
    const auto map = [](auto* view, bf16* base, int rows, int cols) {
      return M::make_tensor_map(matrix_map<std::remove_pointer_t<decltype(view)>>(
          base, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols),
          static_cast<std::uint64_t>(cols)));
    };
    typename ATile::View* a_view = nullptr;
    typename BTile::View* b_view = nullptr;
    typename CTile::View* c_view = nullptr;
    return {map(a_view, a, m, k), map(b_view, b, n, k), map(c_view, c, m, n), m, n, k};
  }

  /// fn(row, col) for each of the block's parts of the pair's tiles.
  static JFA_DEVICE void for_each_tile(const Params& p, auto fn) {
    const int across = (p.n + C.tile_n - 1) / C.tile_n;
    const int tiles = (p.m + 2 * C.tile_m - 1) / (2 * C.tile_m) * across;
    for (int tile = M::block_index() / 2; tile < tiles; tile += M::grid_size() / 2) {
      fn((2 * (tile / across) + M::cluster_rank()) * C.tile_m, tile % across * C.tile_n);
    }
  }
  static JFA_DEVICE int steps(const Params& p) { return (p.k + C.tile_k - 1) / C.tile_k; }

  static JFA_DEVICE void load(const Params& p, Smem& smem) {
    auto w = smem.stages.writer();
    for_each_tile(p, [&](int row, int col) {
      for (int step = 0; step < steps(p); ++step) {
        smem.stages.fill(w, [&](Stage& stage, Mbarrier& full) {
          tma_load(full, stage.a, p.a, {step * C.tile_k, row});
          tma_load(full, stage.b, p.b, {step * C.tile_k, col + M::cluster_rank() * C.tile_n / 2});
        });
      }
    });
    smem.stages.drain(w);  // the last commits have arrived
  }

  static JFA_DEVICE void multiply(const Params& p, Smem& smem, const Tmem& tmem) {
    auto r = smem.stages.reader();
    auto w = smem.products.writer();
    for_each_tile(p, [&](int, int) {
      smem.products.fill(w, [&](Product&) {
        M::tensor_fence_after();  // the product, loaded by store roles, before it is overwritten
        const auto product = tmem.template at<"product">(w.slot);
        for (int step = 0; step < steps(p); ++step) {
          Stage& stage = smem.stages.wait(r);
          typename Both::Key full{r.phase};  // opened once for each use of the stage
          smem.both[r.slot].open();
          smem.both[r.slot].pass(full);
          mma(product, stage.a, stage.b, step != 0);
          smem.stages.release(r);
        }
      });
    });
  }

  static JFA_DEVICE void store(const Params& p, Smem& smem, const Tmem& tmem) {
    auto r = smem.products.reader();
    const bool copies = M::warp_index() == 0;
    for_each_tile(p, [&](int row, int col) {
      constexpr int kChunk = 64;  // columns in registers at once
      const auto rows = tmem.template at<"product">(r.slot).own_rows();
      if (copies && M::elect()) wait_read<M>();
      Meeting<M, "store", Ids, 128>::sync();  // the last copy has read the tile
      smem.products.wait(r);
      M::tensor_fence_after();  // the product, written by MMAs, before it is loaded
      for (int first = 0; first < C.tile_n; first += kChunk) {
        RowFragment<M, kChunk> part;
        tmem_load(part, rows.template cols<kChunk>(first));
        tmem_wait(part);
        store_fragment(smem.c.view(), part, first);
      }
      M::tensor_fence_before();  // loaded, before MMAs overwrite it
      smem.products.release(r);
      M::template fence_proxy_async<Space::Shared>();  // written by threads, read by a copy
      Meeting<M, "store", Ids, 128>::sync();
      if (copies && M::elect()) {
        tma_store(p.c, {col, row}, smem.c);
        M::bulk_commit();
      }
    });
    if (copies && M::elect()) wait_read<M>();
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    const auto init = [&] { init_each(smem.stages, smem.products, smem.both); };
    with_tmem<Tmem>(smem.tmem, init, [&](const Tmem& tmem) {
      warp_roles<M>(role<"store", Warps{0, 4}>([&] { store(p, smem, tmem); }),
                    role<"load", Warps{4, 1}>([&] {
                      if (M::elect()) load(p, smem);
                    }),
                    role<"multiply", Warps{5, 1}>([&] { multiply(p, smem, tmem); }));
    });
  }
};

}  // namespace jfa::inline JFA_BACKEND
