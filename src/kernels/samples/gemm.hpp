// C = A B^T: a persistent, warp-specialized matrix product.
//
//   A [m, k], B [n, k], C [m, n], bf16, row-major; sums in fp32, rounded once.
//   Any m, n, k with rows of a multiple of 16 bytes: copies zero-fill and clip at the edges.
//
// | role    | warps    | registers | does                                           |
// | ------- | -------- | --------- | ---------------------------------------------- |
// | load    | 0 to 3   | 40        | one thread of warp 0 copies A and B into stages |
// | multiply| 4 to 11  | 232       | a warpgroup for each 64-row half of the tile    |
//
//   load --stages full--> multiply --stages empty--> load       (the barrier graph)
//   multiply: each warpgroup stores its own half of C through its own tile
//
// | step | load                    | multiply (each warpgroup)                        |
// | ---- | ----------------------- | ------------------------------------------------ |
// | k    | wait empty, copy k + S  | wait full k, issue MMA k, wait MMA k-1, free k-1 |
// | last | next tile's k = 0 ...   | wait MMA, previous store read, C to SMEM, store  |
//
// SMEM: kStages x (A tile + B tile), one C tile, barriers.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

struct GemmConfig {
  int tile_m = 128;
  int tile_n = 128;
  int tile_k = 64;
  int stages = 4;
  int band = 8;  // tiles of m that share columns of B in L2
};

template <class M, GemmConfig C>
struct Gemm {
  static constexpr int kThreads = 384;
  static constexpr int kClusterSize = 1;
  static constexpr int kGroups = 2;
  static constexpr int kGroupRows = 64;
  static_assert(C.tile_m == kGroups * kGroupRows, "each warpgroup multiplies 64 rows");

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
  using CTile = Tile<M, bf16, kGroupRows, C.tile_n>;

  struct Stage {
    ATile a;
    BTile b;
  };
  struct Smem {
    Ring<M, "stages", Stage, C.stages, By<Tma>, FreedBy<OncePerWarp<4 * kGroups>>> stages;
    CTile c[kGroups];
  };
  using Ids = BarrierIds<"first half", "second half">;

  /// Output tiles in bands of rows, so that blocks at work at once share parts of A and B in L2.
  struct Schedule {
    int tiles_m;
    int tiles_n;
    int tile;

    JFA_DEVICE explicit Schedule(const Params& p)
        : tiles_m((p.m + C.tile_m - 1) / C.tile_m),
          tiles_n((p.n + C.tile_n - 1) / C.tile_n),
          tile(M::block_index()) {}
    JFA_DEVICE bool done() const { return tile >= tiles_m * tiles_n; }
    JFA_DEVICE void next() { tile += M::grid_size(); }
    JFA_DEVICE int row() const { return (first_of_band() + in_band() % rows_of_band()) * C.tile_m; }
    JFA_DEVICE int col() const { return in_band() / rows_of_band() * C.tile_n; }

   private:
    JFA_DEVICE int first_of_band() const { return tile / (C.band * tiles_n) * C.band; }
    JFA_DEVICE int in_band() const { return tile % (C.band * tiles_n); }
    JFA_DEVICE int rows_of_band() const {
      const int left = tiles_m - first_of_band();
      return left < C.band ? left : C.band;
    }
  };

  static JFA_DEVICE void load(const Params& p, Smem& smem) {
    auto w = smem.stages.writer();
    const int steps = (p.k + C.tile_k - 1) / C.tile_k;
    for (Schedule at(p); !at.done(); at.next()) {
      const int row = at.row();
      const int col = at.col();
      for (int step = 0; step < steps; ++step) {
        smem.stages.fill(w, [&](Stage& stage, Mbarrier& full) {
          tma_load(full, stage.a, p.a, {step * C.tile_k, row});
          tma_load(full, stage.b, p.b, {step * C.tile_k, col});
        });
      }
    }
  }

  static JFA_DEVICE void multiply(const Params& p, Smem& smem, int group) {
    auto ahead = smem.stages.reader();
    auto behind = smem.stages.reader();
    const int steps = (p.k + C.tile_k - 1) / C.tile_k;
    Fragment<M, C.tile_n> acc;
    for (Schedule at(p); !at.done(); at.next()) {
      for (int step = 0; step < steps; ++step) {
        Stage& stage = smem.stages.wait(ahead);
        wgmma_fence<M>();  // the accumulator read or rescaled by the last tile
        wgmma(acc, stage.a.template rows<kGroupRows>(group * kGroupRows), stage.b, step != 0);
        wgmma_commit<M>();
        ahead.advance();
        if (step > 0) {
          wgmma_wait<1>(acc);  // the MMAs of the step before have read their stage
          smem.stages.release(behind);
        }
      }
      wgmma_wait<0>(acc);
      smem.stages.release(behind);
      store(p, smem.c[group], acc, at, group);
    }
    if (M::warp_index() % 4 == 0 && M::elect()) wait_stored<M>();
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
      tma_store(p.c, {at.col(), at.row() + group * kGroupRows}, tile);
      commit_stores<M>();
    }
  }

  static JFA_DEVICE void meet(int group, Site site = Site::here()) {
    if (group == 0) {
      Meeting<M, "first half", Ids, 128>::sync(site);
    } else {
      Meeting<M, "second half", Ids, 128>::sync(site);
    }
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.stages.init(); });
    warp_roles<M>(role<"load", Warps{0, 4}, Regs{40}>([&] {
                    if (M::warp_index() == 0 && M::elect()) load(p, smem);
                  }),
                  role<"multiply", Warps{4, 8}, Regs{232}>(
                      [&] { multiply(p, smem, M::warp_index() / 4 - 1); }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
