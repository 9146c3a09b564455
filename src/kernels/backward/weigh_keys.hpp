// What a warpgroup of the role `weigh` of Blackwell's backward kernel does: for 64 queries of each
// tile, a key a thread, from scores to weights and from their gradients to slopes; and of the two
// sums that a block of keys ends with, the first warpgroup writes dV, the second dK.
#pragma once

#include "kernels/backward/gradient.hpp"
#include "kernels/backward/key_blocks.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, BackwardBlackwell<...>.
template <class K>
struct WeighKeys {
  using M = typename K::M;
  using T = typename K::T;
  using Mask = typename K::Mask;
  using Scores = typename K::Scores;
  using Smem = typename K::Smem;
  using Tmem = typename K::Tmem;
  using Work = typename K::Work;
  static constexpr int kQueries = K::kGroupQueries;
  static constexpr int kChunk = 32;  // columns of dK or dV in registers at once

  const typename K::Params& p;
  Smem& smem;
  const int group;
  typename decltype(Smem::kv_ring)::Cursor kv = {};
  typename decltype(Smem::q_ring)::Cursor q = {};  // its statistics
  typename M::Phase visit = M::Phase::first();     // of scores and of gradients
  typename M::Phase sums = M::Phase::first();
  RowOperand<M, T, kQueries> weights;                      // P^T, then dS^T
  RowOperand<M, T, Scores::kBends ? kQueries : 16> bends;  // used where scores bend

  JFA_DEVICE WeighKeys(const typename K::Params& params, Smem& memory, int of_group)
      : p(params), smem(memory), group(of_group) {}

  JFA_DEVICE void run(const Tmem& tmem) {
    auto r = smem.work.reader();
    const auto own = [&](const auto& view) {
      return view.template cols<kQueries>(kQueries * group).own_rows();
    };
    const auto s = own(tmem.template at<"scores">());
    const auto dp = own(tmem.template at<"gradients">());
    for (;;) {
      const Work& work = smem.work.wait(r);
      const int tiles = known<M>(work.tiles);
      if (tiles < 0) break;
      smem.kv_ring.wait(kv);
      typename K::Place place{known<M>(work.first_tile), 0};
      for (int i = 0; i < tiles * p.heads; ++i, place.next(p)) {
        make_weights(work, place.tile, i, s);
        make_slopes(dp);
        q.advance();
      }
      if (K::ends_block(work)) {
        const bool seen = tiles > 0 || !K::begins_block(work);
        if (seen) {
          smem.sums.pass(sums);
          M::tensor_fence_after();  // dV and dK, added to by MMAs, before they are loaded
        }
        write(work, seen, group == 0 ? tmem.template at<"dv">() : tmem.template at<"dk">());
        smem.kv_ring.release(kv);
      }
      smem.work.release(r);
    }
  }

  /// With lists, what a visit is to, and whether they name the thread's keys for the group's
  /// queries.
  JFA_DEVICE bool find_tile(const Work& work, int number, int& tile) const {
    if constexpr (!Mask::kListed) {
      return true;
    } else {
      const int found = K::listed_visit(smem, work, number);
      tile = found / K::kNames;
      return (found >> (2 * group + M::warp_index() % 4 / 2) & 1) != 0;
    }
  }

  /// S^T to P^T, in place.
  JFA_DEVICE void make_weights(const Work& work, int tile, int number, const auto& place) {
    RowFragment<M, kQueries> s;
    smem.q_ring.wait(q);
    auto scores = visit;
    smem.scores.pass(scores);
    M::tensor_fence_after();  // S, written by MMAs, before it is loaded
    tmem_load(s, place);
    tmem_wait(s);
    const Scores policy{p.scores};
    if constexpr (Scores::kBends) {
      policy.prepare(s);
      keep_bends<T>(bends, s, policy);
    }
    const float factor = score_factor(policy);
    if (!find_tile(work, number, tile)) s.fill(hidden_score(factor));
    const int first = tile * K::kQueries + group * kQueries;
    const int q_length = known<M>(work.q_length);
    const Mask mask{p.mask, TileRows{.first = first,
                                     .pack_log2 = 0,
                                     .q_length = q_length,
                                     .kv_length = known<M>(work.kv_length)}};
    hide_transposed(s, mask, known<M>(work.first_key), q_length - first, factor);
    weigh(s, factor, smem.statistics[q.slot].lse[group].view());
    convert(weights, s);
    tmem_store(place.template as<T>(), weights);
    M::tensor_wait_stores();
    M::tensor_fence_before();  // P stored, before MMAs read it
    smem.weights.open();
  }

  /// dP^T to dS^T, in place and in shared memory.
  JFA_DEVICE void make_slopes(const auto& place) {
    RowFragment<M, kQueries> dp;
    smem.gradients.pass(visit);
    M::tensor_fence_after();  // dP, written by MMAs, before it is loaded
    tmem_load(dp, place);
    tmem_wait(dp);
    differentiate<Scores, T>(dp, weights, bends, p.slope,
                             smem.statistics[q.slot].delta[group].view());
    convert(weights, dp);
    tmem_store(place.template as<T>(), weights);
    store_fragment(smem.ds.view(), weights, kQueries * group);
    M::template fence_proxy_async<Space::Shared>();  // dS, written by threads, read by MMAs
    M::tensor_wait_stores();
    M::tensor_fence_before();  // dS stored, before MMAs read it
    smem.slopes.open();
  }

  /// dV over V, or dK over K, and from there out; zeros where no query sees the keys. (That the
  /// sums are loaded before MMAs overwrite them is ordered with the next block's weights.)
  JFA_DEVICE void write(const Work& work, bool seen, const auto& sum) {
    auto& block = smem.kv[kv.slot];
    auto& tile = group == 0 ? block.v : block.k;
    JFA_UNROLL
    for (int c = 0; c < K::C.head_dim; c += kChunk) {
      RowFragment<M, kChunk> part;
      if (seen) {
        tmem_load(part, sum.template cols<kChunk>(c).own_rows());
        tmem_wait(part);
      } else {
        part.fill(0);
      }
      store_fragment(tile.view(), part, c);
    }
    M::template fence_proxy_async<Space::Shared>();  // they are written by threads, read by a copy
    Meetings<M, typename K::Ids, 128, "dv", "dk">::sync(group);
    if (M::warp_index() % 4 != 0 || !M::elect()) return;
    const RaggedRows keys{M::load_shared(&work.kv_begin), M::load_shared(&work.kv_length)};
    const int at[5] = {0, M::load_shared(&work.kv_head), keys.at(M::load_shared(&work.first_key)),
                       keys.end(), kRaggedRows};
    tma_store<CacheHint::EvictFirst>(group == 0 ? p.dv : p.dk, at, tile);
    M::bulk_commit();
    wait_read<M>();
  }
};

}  // namespace jfa::inline JFA_BACKEND
