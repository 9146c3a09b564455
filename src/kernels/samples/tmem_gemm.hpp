// C = A B^T with accumulators in tensor memory: Gemm for Blackwell. Compiled and emulated, not yet
// run on hardware.
//
//   A [m, k], B [n, k], C [m, n], bf16; parameters, tiles and their order are those of Gemm.
//
// | role     | warps  | does                                                          |
// | -------- | ------ | ------------------------------------------------------------- |
// | store    | 0 to 3 | C tile from tensor memory to SMEM, one thread copies it out    |
// | load     | 4      | one thread copies A and B into stages                         |
// | multiply | 5      | one thread issues the MMAs of a tile into one of two products |
//
//   load --stages full--> multiply --stages empty--> load       (the barrier graph)
//   multiply --products full--> store --products empty--> multiply
//
// | step | load            | multiply                          | store                          |
// | ---- | --------------- | --------------------------------- | ------------------------------ |
// | k    | wait empty, copy | wait full k, issue MMA k, free k   | tile before: to SMEM, copy out |
// | last | next tile ...   | product is full when MMAs are done | wait full, load, free          |
//
// SMEM: C.stages x (A tile + B tile), a C tile, barriers. Tensor memory: two products of C.tile_n
// columns.
#pragma once

#include "kernels/samples/gemm.hpp"

namespace jfa::inline JFA_BACKEND {

template <class M, GemmConfig C>
struct TmemGemm {
  static constexpr int kThreads = 192;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kProducts = 2;
  static_assert(C.tile_m == 128 && C.splits == 1, "an MMA has 128 rows, and C is stored once");

  using Base = Gemm<M, C>;
  using Params = typename Base::Params;
  using Schedule = typename Base::Schedule;
  using Stage = typename Base::Stage;
  using Output = bf16;
  using CTile = Tile<M, bf16, C.tile_m, C.tile_n>;
  using Tmem = TmemMap<M, Columns<"product", float, C.tile_n, kProducts>>;

  struct Product {};  // what is in tensor memory has no place in shared memory
  struct Smem {
    Ring<M, "stages", Stage, C.stages, By<Tma>, FreedBy<MmaDone>> stages;
    CTile c;
    Ring<M, "products", Product, kProducts, By<MmaDone>, FreedBy<OncePerWarp<4>>> products;
    std::uint32_t tmem;
  };
  using Ids = BarrierIds<"store">;

  static Params make_params(bf16* a, bf16* b, bf16* c, int m, int n, int k) {
    return Base::make_params(a, b, c, m, n, k);
  }

  static JFA_DEVICE void multiply(const Params& p, Smem& smem, const Tmem& tmem) {
    auto r = smem.stages.reader();
    auto w = smem.products.writer();
    for (Schedule at(p); !at.done(); at.next()) {
      smem.products.fill(w, [&](Product&) {
        M::tensor_fence_after();  // the product, loaded by the store role, before it is overwritten
        const auto product = tmem.template at<"product">(w.slot);
        for (int step = 0; step < at.steps; ++step) {
          Stage& stage = smem.stages.wait(r);
          mma(product, stage.a, stage.b, step != 0);
          smem.stages.release(r);
        }
      });
    }
  }

  static JFA_DEVICE void store(const Params& p, Smem& smem, const Tmem& tmem) {
    auto r = smem.products.reader();
    const bool copies = M::warp_index() == 0;
    for (Schedule at(p); !at.done(); at.next()) {
      RowFragment<M, C.tile_n> c;
      const auto rows = tmem.template at<"product">(r.slot).own_rows();
      smem.products.wait(r);
      M::tensor_fence_after();  // the product, written by MMAs, before it is loaded
      tmem_load(c, rows);
      tmem_wait(c);
      M::tensor_fence_before();  // loaded, before MMAs overwrite it
      smem.products.release(r);
      if (copies && M::elect()) wait_read<M>();
      Meeting<M, "store", Ids, 128>::sync();  // the last copy has read the tile
      store_fragment(smem.c.view(), c);
      M::template fence_proxy_async<Space::Shared>();  // the tile, written by threads, read by
                                                       // copies
      Meeting<M, "store", Ids, 128>::sync();
      if (copies && M::elect()) {
        for (int row = 0; row < C.tile_m; row += Base::kGroupRows) {
          tma_store(p.c, {at.col(), at.row() + row},
                    smem.c.view().template rows<Base::kGroupRows>(row));
        }
        M::bulk_commit();
      }
    }
    if (copies && M::elect()) wait_read<M>();
  }

  static JFA_DEVICE void load(const Params& p, Smem& smem) {
    auto w = smem.stages.writer();
    Base::load(p, smem, w);
    smem.stages.drain(w);  // the last commits have arrived
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    const auto init = [&] {
      smem.stages.init();
      smem.products.init();
    };
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
