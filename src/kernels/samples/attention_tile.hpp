// out = softmax(scale Q K^T) V for one tile of queries and one of keys: both MMAs back to back, P
// in registers between them.
//
//   Q [128, depth], K and V [keys, depth], out [128, depth], bf16; sums in fp32.
//
// | role   | warps  | does                                                        |
// | ------ | ------ | ----------------------------------------------------------- |
// | load   | 8      | one thread copies Q and K, then V                           |
// | attend | 0 to 7 | a warpgroup for each 64 query rows; stores O through Q's rows |
//
//   load --q, k--> attend      load --v--> attend               (the barrier graph)
//
// | step | load         | attend (each warpgroup)                                      |
// | ---- | ------------ | ------------------------------------------------------------ |
// | 1    | copy Q, K, V | wait q, k; S = Q K^T; P = exp2(scale S - max); O = P V       |
// | 2    |              | O / sum into the warpgroup's rows of Q, copy them out        |
//
// SMEM: Q, K, V tiles and two gates.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

struct AttentionTileConfig {
  int keys = 128;
  int depth = 128;
};

template <class M, AttentionTileConfig C>
struct AttentionTile {
  static constexpr int kThreads = 288;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kQueries = 128;
  static constexpr int kGroupRows = 64;

  using QTile = Tile<M, bf16, kQueries, C.depth>;
  using KvTile = Tile<M, bf16, C.keys, C.depth>;
  using OView = TileView<M, bf16, kGroupRows, C.depth, Swizzle::B128, kQueries>;

  struct Params {
    typename M::TensorMap q;
    typename M::TensorMap k;
    typename M::TensorMap v;
    typename M::TensorMap out;
    float scale_log2;
  };

  struct QueriesAndKeys {
    QTile q;
    KvTile k;
  };
  struct Smem {
    QueriesAndKeys qk;
    KvTile v;
    Gate<M, "q, k", By<Tma>> qk_ready;
    Gate<M, "v", By<Tma>> v_ready;
  };
  using Ids = BarrierIds<"first rows", "second rows">;

  static Params make_params(bf16* q, bf16* k, bf16* v, bf16* out, float scale) {
    constexpr float kLog2E = 1.44269504F;
    const auto kv_map = [](bf16* base) {
      return M::make_tensor_map(matrix_map<typename KvTile::View>(base, C.keys, C.depth, C.depth));
    };
    return {M::make_tensor_map(matrix_map<typename QTile::View>(q, kQueries, C.depth, C.depth)),
            kv_map(k), kv_map(v),
            M::make_tensor_map(matrix_map<OView>(out, kQueries, C.depth, C.depth)), scale * kLog2E};
  }

  static JFA_DEVICE void load(const Params& p, Smem& smem) {
    smem.qk_ready.open(smem.qk, [&](QueriesAndKeys& qk, Mbarrier& full) {
      tma_load(full, qk.q, p.q, {0, 0});
      tma_load(full, qk.k, p.k, {0, 0});
    });
    smem.v_ready.open(smem.v, [&](KvTile& v, Mbarrier& full) { tma_load(full, v, p.v, {0, 0}); });
  }

  static JFA_DEVICE void attend(const Params& p, Smem& smem, int group) {
    const auto rows = smem.qk.q.view().template rows<kGroupRows>(group * kGroupRows);
    auto qk_key = smem.qk_ready.key();
    auto v_key = smem.v_ready.key();
    Fragment<M, C.keys> s;
    smem.qk_ready.pass(qk_key);
    M::wgmma_fence();  // nothing written yet; opens the group
    wgmma(s, rows, smem.qk.k, false);
    M::wgmma_commit();
    wgmma_wait<0>(s);

    const float scale = p.scale_log2;
    const auto shift = max_across_lanes(partial_row_max(s)) * scale;
    s.map_rows(shift, [&](float x, float m) { return M::exp2(M::fma(x, scale, -m)); });
    const auto sum = sum_across_lanes(partial_row_sum<0, C.keys>(s));
    Operand<M, bf16, C.keys> probabilities;
    convert(probabilities, s);

    Fragment<M, C.depth> o;
    smem.v_ready.pass(v_key);
    M::wgmma_fence();  // P, written by threads, read by the MMA
    wgmma(o, probabilities, transposed(smem.v), false);
    M::wgmma_commit();
    wgmma_wait<0>(o, probabilities);
    scale_rows(o, sum.map([](float x) { return M::reciprocal(x); }));
    store(p, rows, o, group);
  }

  template <class Rows>
  static JFA_DEVICE void store(const Params& p, const Rows& rows, Fragment<M, C.depth>& o,
                               int group) {
    meet(group);  // the other warps' MMAs have read Q
    store_fragment(rows, o);
    M::template fence_proxy_async<Space::Shared>();  // O, written by threads, read by copies
    meet(group);
    if (M::warp_index() % 4 == 0 && M::elect()) {
      tma_store(p.out, {0, group * kGroupRows}, rows);
      M::bulk_commit();
      wait_read<M>();
    }
  }

  static JFA_DEVICE void meet(int group, Site site = Site::here()) {
    Meetings<M, Ids, 128, "first rows", "second rows">::sync(group, site);
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] {
      smem.qk_ready.init(sizeof(QueriesAndKeys));
      smem.v_ready.init(sizeof(KvTile));
    });
    warp_roles<M>(role<"attend", Warps{0, 8}>([&] { attend(p, smem, M::warp_index() / 4); }),
                  role<"load", Warps{8, 1}>([&] {
                    if (M::elect()) load(p, smem);
                  }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
