// What the multiply role of Blackwell's forward kernel does: it issues all MMAs. The blocks of all
// tiles are one stream; O += P V of a block is issued with S of the block after it, which may be
// the next tile's first.
#pragma once

#include "kernels/forward/mask.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// `K` is the kernel, ForwardBlackwell<...>.
template <class K>
struct Multiply {
  using M = typename K::M;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using KvCursor = typename decltype(Smem::kv)::Cursor;

  /// What a group does with the block in hand.
  struct InHand {
    bool visits = false;
    bool first = false;  // of its tile
    bool last = false;
  };

  Smem& smem;
  typename decltype(Smem::q)::Cursor q = {};
  KvCursor k = {};  // of the block ahead
  KvCursor v = {};  // of the block in hand: K and V of a block are neighbours
  typename M::Phase weights[K::kGroups] = {M::Phase::first(), M::Phase::first()};
  InHand in_hand[K::kGroups] = {};

  JFA_DEVICE void run(const typename K::Tmem& tmem) {
    v.advance();
    auto r = smem.work.reader();
    bool holds = false;  // a block in hand
    for (;;) {
      const Work work = M::load_shared(&smem.work.wait(r));
      smem.work.release(r);
      if (work.blocks == 0) break;
      for (int block = work.blocks - 1; block >= 0; --block) {
        step<0>(tmem, work.visits[0], block);
        step<1>(tmem, work.visits[1], block);
        give_back(k);
        if (holds) give_back(v);
        holds = true;
      }
      smem.q.release(q);
    }
    add_values<0>(tmem);
    add_values<1>(tmem);
    if (holds) give_back(v);
    smem.kv.drain(k);  // nobody else waits for the last commits
    smem.q.drain(q);
  }

  /// O += P V of the block in hand, S of the next. NOTE [in place]: P lies over S, and S of the
  /// next block over both. MMAs of one warp execute in order, so P is read before.
  template <int Group>
  JFA_DEVICE void step(const typename K::Tmem& tmem, const Visits& visits, int block) {
    add_values<Group>(tmem);
    if (block < visits.begin || block >= visits.end) return;
    auto& queries = smem.q.wait(q).group[Group];
    auto& keys = smem.kv.wait(k);
    mma(tmem.template at<"scores">(Group), queries, keys, false);
    smem.scores[Group].open();
    in_hand[Group] = {true, block == visits.end - 1, block == visits.begin};
  }

  template <int Group>
  JFA_DEVICE void add_values(const typename K::Tmem& tmem) {
    InHand& hand = in_hand[Group];
    if (!hand.visits) return;
    hand.visits = false;
    smem.weights[Group].pass(weights[Group]);
    M::tensor_fence_after();  // P stored, O scaled, S loaded by threads, before MMAs touch them
    auto& values = smem.kv.wait(v);
    const auto p = tmem.template at<"scores">(Group).template as<typename K::T>();
    mma(tmem.template at<"sums">(Group), p, transposed(values), !hand.first);
    if (hand.last) smem.sums[Group].open();
  }

  /// Gives K or V back once all MMAs so far are complete, and goes on to the next block's.
  /// NOTE [all blocks are visited]: windows leave no hole between the groups' keys, so that one of
  /// the groups has waited for K and V.
  JFA_DEVICE void give_back(KvCursor& at) {
    smem.kv.release(at);
    at.advance();
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
