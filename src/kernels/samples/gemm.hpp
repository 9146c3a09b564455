// C = A B^T: a persistent, warp-specialized matrix product.
//
//   A [m, k], B [n, k], bf16, row-major; C [m, n]. Rows are multiples of 16 bytes; copies zero-fill
//   and clip at the edges. One split: C is bf16, rounded once. Several: each split of k is a tile
//   of its own, added in fp32 to a C that holds zeros (or anything to add to) before.
//
// | role     | warps   | registers | does                                             |
// | -------- | ------- | --------- | ------------------------------------------------ |
// | load     | 0 to 3  | 40        | one thread of warp 0 copies A and B into stages  |
// | multiply | 4 to 11 | 232       | a warpgroup for each 64-row half of the C tile   |
//
//   load --stages full--> multiply --stages empty--> load       (the barrier graph)
//   each warpgroup stores its own half of C through its own tile
//
// | step | load                    | multiply (each warpgroup)                        |
// | ---- | ----------------------- | ------------------------------------------------ |
// | k    | wait empty, copy k      | wait full k, issue MMA k, wait MMA k-1, free k-1 |
// | last | next tile's k = 0 ...   | wait MMA, last store has read, C to SMEM, store  |
//
// SMEM: C.stages x (A tile + B tile), a C tile a warpgroup, barriers.
#pragma once

#include <type_traits>

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

struct GemmConfig {
  int tile_m = 128;
  int tile_n = 256;
  int tile_k = 64;
  int stages = 3;
  int splits = 1;  // of k
  int band = 8;    // tiles of m that share columns of B in L2
};

template <class M, GemmConfig C>
struct Gemm {
  static constexpr int kThreads = 384;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kGroups = 2;
  static constexpr int kGroupRows = 64;
  static_assert(C.tile_m == kGroups * kGroupRows, "each warpgroup multiplies 64 rows");

  using Output = std::conditional_t<C.splits == 1, bf16, float>;

  struct Params {
    typename M::TensorMap a;
    typename M::TensorMap b;
    typename M::TensorMap c;
    int m;
    int n;
    int k;
  };

  using ATile = Tile<M, bf16, C.tile_m, C.tile_k>;
  using BTile = Tile<M, bf16, C.tile_n, C.tile_k>;
  using CTile = Tile<M, Output, kGroupRows, C.tile_n>;

  struct Stage {
    ATile a;
    BTile b;
  };
  struct Smem {
    Ring<M, "stages", Stage, C.stages, By<Tma>, FreedBy<OncePerWarp<4 * kGroups>>> stages;
    CTile c[kGroups];
  };
  using Ids = BarrierIds<"first half", "second half">;

  static Params make_params(bf16* a, bf16* b, Output* c, int m, int n, int k) {
    const auto rows = static_cast<std::uint64_t>(m);
    const auto cols = static_cast<std::uint64_t>(n);
    const auto depth = static_cast<std::uint64_t>(k);
    return {M::make_tensor_map(matrix_map<typename ATile::View>(a, rows, depth, depth)),
            M::make_tensor_map(matrix_map<typename BTile::View>(b, cols, depth, depth)),
            M::make_tensor_map(matrix_map<typename CTile::View>(c, rows, cols, cols)),
            m,
            n,
            k};
  }

  /// The calling block's tiles: in bands of rows, so that blocks at work at once share parts of A
  /// and B in L2; all of a split before the next.
  struct Schedule {
    int tiles_m;
    int tiles_n;
    int steps;  // of a split
    int tile;

    JFA_DEVICE explicit Schedule(const Params& p)
        : tiles_m((p.m + C.tile_m - 1) / C.tile_m),
          tiles_n((p.n + C.tile_n - 1) / C.tile_n),
          steps((p.k + C.splits * C.tile_k - 1) / (C.splits * C.tile_k)),
          tile(M::block_index()) {}
    JFA_DEVICE bool done() const { return tile >= tiles_m * tiles_n * C.splits; }
    JFA_DEVICE void next() { tile += M::grid_size(); }
    JFA_DEVICE int row() const { return (first_of_band() + in_band() % rows_of_band()) * C.tile_m; }
    JFA_DEVICE int col() const { return in_band() / rows_of_band() * C.tile_n; }
    JFA_DEVICE int depth() const { return tile / (tiles_m * tiles_n) * steps * C.tile_k; }

   private:
    JFA_DEVICE int in_split() const { return tile % (tiles_m * tiles_n); }
    JFA_DEVICE int first_of_band() const { return in_split() / (C.band * tiles_n) * C.band; }
    JFA_DEVICE int in_band() const { return in_split() % (C.band * tiles_n); }
    JFA_DEVICE int rows_of_band() const {
      const int left = tiles_m - first_of_band();
      return left < C.band ? left : C.band;
    }
  };

  /// Fills stages of `smem`, this kernel's or another's.
  static JFA_DEVICE void load(const Params& p, auto& smem, auto& w) {
    for (Schedule at(p); !at.done(); at.next()) {
      const int row = at.row();
      const int col = at.col();
      for (int step = 0; step < at.steps; ++step) {
        const int depth = at.depth() + step * C.tile_k;  // past k: zeros
        smem.stages.fill(w, [&](Stage& stage, Mbarrier& full) {
          tma_load(full, stage.a, p.a, {depth, row});
          tma_load(full, stage.b, p.b, {depth, col});
        });
      }
    }
  }

  static JFA_DEVICE void multiply(const Params& p, Smem& smem, int group) {
    auto ahead = smem.stages.reader();
    auto behind = smem.stages.reader();
    Fragment<M, C.tile_n> acc;
    for (Schedule at(p); !at.done(); at.next()) {
      for (int step = 0; step < at.steps; ++step) {
        Stage& stage = smem.stages.wait(ahead);
        M::wgmma_fence();  // the accumulator, read by the last tile's store, before it is written
        wgmma(acc, stage.a.view().template rows<kGroupRows>(group * kGroupRows), stage.b,
              step != 0);
        M::wgmma_commit();
        ahead.advance();
        if (step > 0) {
          wgmma_wait<1, M>();  // the MMAs of the step before have read their stage
          smem.stages.release(behind);
        }
      }
      wgmma_wait<0>(acc);
      smem.stages.release(behind);
      store(p, smem.c[group], acc, at, group);
    }
    if (M::warp_index() % 4 == 0 && M::elect()) wait_read<M>();
  }

  static JFA_DEVICE void store(const Params& p, CTile& tile, Fragment<M, C.tile_n>& acc,
                               const Schedule& at, int group) {
    const bool first_warp = M::warp_index() % 4 == 0;
    if (first_warp && M::elect()) wait_read<M>();
    meet(group);  // the last store has read the tile
    store_fragment(tile.view(), acc);
    M::template fence_proxy_async<Space::Shared>();  // the tile, written by threads, read by copies
    meet(group);
    if (first_warp && M::elect()) {
      const int row = at.row() + group * kGroupRows;
      if constexpr (C.splits == 1) {
        tma_store(p.c, {at.col(), row}, tile);
      } else {
        tma_reduce_add(p.c, {at.col(), row}, tile);
      }
      M::bulk_commit();
    }
  }

  static JFA_DEVICE void meet(int group, Site site = Site::here()) {
    Meetings<M, Ids, 128, "first half", "second half">::sync(group, site);
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.stages.init(); });
    warp_roles<M>(role<"load", Warps{0, 4}, Regs{40}>([&] {
                    auto w = smem.stages.writer();
                    if (M::warp_index() == 0 && M::elect()) load(p, smem, w);
                  }),
                  role<"multiply", Warps{4, 8}, Regs{232}>(
                      [&] { multiply(p, smem, M::warp_index() / 4 - 1); }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
