// What a warpgroup of BackwardByQueries' role `keys` does: dK and dV of every other block of keys.
//
// One block; no MMA is in flight before or after it:
//
// | tensor cores  | then                                |
// | ------------- | ----------------------------------- |
// | S^T = K Q^T   | P^T                                 |
// | dP^T = V dO^T | dS^T, also to SMEM, over V          |
// | dV = P^T dO   | dV is staged                        |
// | dK = dS^T Q   | meanwhile dV leaves; dK is staged   |
//
// The other warpgroup and the role `queries` use the tensor cores in between.
#pragma once

#include "kernels/backward/gradient.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, BackwardByQueries<...>.
template <class K>
struct StationaryKeys {
  using M = typename K::M;
  using Mask = typename K::Mask;
  using Scores = typename K::Scores;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using Scored = Fragment<M, K::C.queries>;                 // S^T, P^T, dP^T, dS^T
  using Gradient = Fragment<M, K::C.head_dim>;              // dV or dK
  using Weights = Operand<M, typename K::T, K::C.queries>;  // P^T or dS^T
  using Bends = Operand<M, typename K::T, Scores::kBends ? K::C.queries : 16>;

  const typename K::Params& p;
  Smem& smem;
  const int group;
  const bool lead;

  JFA_DEVICE StationaryKeys(const typename K::Params& params, Smem& memory, int of_group)
      : p(params), smem(memory), group(of_group), lead(M::warp_index() % 4 == 0 && M::elect()) {}

  typename decltype(Smem::work)::Cursor work = {};
  typename decltype(Smem::q_ring)::Cursor q = {};
  typename decltype(Smem::rows_ring)::Cursor rows = {};
  typename decltype(Smem::kv_ring)::Cursor kv = {};
  const Work* now = nullptr;

  JFA_DEVICE void run() {
    int turn = 0;
    for (;;) {
      now = &smem.work.wait(work);
      const int blocks = known<M>(now->blocks);
      if (blocks < 0) break;
      if (known<M>(now->first_of_task) != 0) smem.q_ring.wait(q);
      if (blocks > 0) {
        smem.rows_ring.wait(rows);
        for (int block = 0; block < blocks; ++block) {
          // NOTE [every phase]: the other warpgroup's blocks are passed as well. One that saw every
          // other phase of a slot's barrier could not tell it from the one before.
          smem.kv_ring.wait(kv);
          if (turn == group) {
            visit(known<M>(now->first_key) + block * K::kKeys);
          } else {
            smem.kv_ring.release(kv);
          }
          turn ^= 1;
        }
        smem.rows_ring.release(rows);
      }
      if (known<M>(now->last_of_task) != 0) smem.q_ring.release(q);
      smem.work.release(work);
    }
    if (lead) wait_read<M>();
  }

  /// Registers hold what a block needs and no longer: fragments live within steps.
  JFA_DEVICE void visit(int first_key) {
    Weights probabilities;
    Weights slopes;
    Bends bends;
    {
      Scored s;
      multiply(s, smem.kv[kv.slot].k, smem.q);
      make_probabilities(s, probabilities, bends, first_key);
    }
    {
      Scored s;
      multiply(s, K::values(smem, kv.slot), smem.dout[rows.slot]);
      make_slopes(s, probabilities, bends, slopes);
      smem.kv_ring.release(kv);  // after MMAs only
    }
    {
      Gradient dv;
      multiply(dv, probabilities, transposed(smem.dout[rows.slot]));
      write(dv, p.dv, first_key);
    }
    Gradient dk;
    multiply(dk, slopes, transposed(smem.q));
    write(dk, p.dk, first_key);
  }

  template <int N>
  JFA_DEVICE void multiply(Fragment<M, N>& to, auto&& a, auto&& b) {
    M::wgmma_fence();  // operands in registers, written by threads, before the MMA uses them
    wgmma(to, a, b, false);
    M::wgmma_commit();
    if constexpr (InRegisters<std::remove_cvref_t<decltype(a)>>) {
      wgmma_wait<0>(to, a);
    } else {
      wgmma_wait<0>(to);
    }
  }

  /// S^T becomes P^T.
  JFA_DEVICE void make_probabilities(Scored& s, Weights& to, Bends& bends, int first_key) {
    const Scores scores{p.scores};
    if constexpr (Scores::kBends) {
      scores.prepare(s);
      keep_bends<typename K::T>(bends, s, scores);
    }
    const float factor = score_factor(scores);
    const int queries = K::q_length(p, *now);
    const Mask mask{p.mask, TileRows{.first = 0,
                                     .pack_log2 = 0,
                                     .q_length = queries,
                                     .kv_length = known<M>(now->kv_length)}};
    hide_transposed(s, mask, first_key, queries, factor);
    weigh(s, factor, smem.lse[rows.slot].view());
    convert(to, s);
  }

  /// dP^T becomes dS^T, and takes V's place in shared memory.
  JFA_DEVICE void make_slopes(Scored& s, const Weights& probabilities, const Bends& bends,
                              Weights& to) {
    differentiate<Scores, typename K::T>(s, probabilities, bends, p.slope,
                                         smem.delta[rows.slot].view());
    convert(to, s);
    meet();  // the MMAs of the warpgroup's other warps have read V
    store_fragment(K::slopes(smem, kv.slot), s);
    M::template fence_proxy_async<Space::Shared>();  // dS, written by threads, read by MMAs
    smem.ds[kv.slot].open();
  }

  /// Writes dV or dK out, once the copy before has left the stage.
  JFA_DEVICE void write(Gradient& from, const typename M::TensorMap& to, int first_key) {
    if (lead) wait_read<M>();
    meet();
    store_fragment(smem.stage[group].view(), from);
    M::template fence_proxy_async<Space::Shared>();  // written by threads, read by a copy
    meet();                                          // all of it is staged
    if (!lead) return;
    const RaggedRows keys{M::load_shared(&now->kv_begin), M::load_shared(&now->kv_length)};
    tma_store(to, {0, M::load_shared(&now->head), keys.at(first_key), keys.end(), kRaggedRows},
              smem.stage[group]);
    M::bulk_commit();
  }

  JFA_DEVICE void meet(Site site = Site::here()) const {
    Meetings<M, typename K::Ids, 128, "first keys", "second keys">::sync(group, site);
  }
};

}  // namespace jfa::inline JFA_BACKEND
