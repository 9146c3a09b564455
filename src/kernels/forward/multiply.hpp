// What the multiply role of Blackwell's forward kernel does: it issues all MMAs. The blocks of all
// tiles are one stream; O += P V of a block is issued with S of the block after it, which may be
// the next tile's first.
#pragma once

#include "kernels/forward/mask.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, ForwardBlackwell<...>.
template <class K>
struct Multiply {
  using M = typename K::M;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using KvCursor = typename decltype(Smem::kv)::Cursor;

  Smem& smem;
  typename decltype(Smem::q)::Cursor q = {};
  KvCursor k = {};  // of the block ahead
  KvCursor v = {};  // of the block in hand: K and V of a block are neighbours
  typename decltype(Smem::listed)::Cursor listed = {};
  typename M::Phase weights[K::kGroups] = {M::Phase::first(), M::Phase::first()};
  int in_hand = 0;  // flags of the block of which V is to be added

  JFA_DEVICE void run(const typename K::Tmem& tmem) {
    v.advance();
    K::for_each_work(smem, [&](const Work& work) {
      K::for_each_block(smem, listed, work, [&](int flags) {
        step<0>(tmem, flags);
        step<1>(tmem, flags);
        give_back(k);
        if (in_hand != 0) give_back(v);
        in_hand = flags;
      });
      smem.q.release(q);
    });
    add_values<0>(tmem);
    add_values<1>(tmem);
    if (in_hand != 0) give_back(v);
    smem.kv.drain(k);  // nobody else waits for the last commits
    smem.q.drain(q);
  }

  /// O += P V of the block in hand, S of the next. NOTE [in place]: P lies over S, and S of the
  /// next block over both. MMAs of one warp execute in order, so P is read before.
  template <int Group>
  JFA_DEVICE void step(const typename K::Tmem& tmem, int flags) {
    add_values<Group>(tmem);
    if ((flags & K::kVisit << Group) == 0) return;
    auto& queries = smem.q.wait(q).group[Group];
    auto& keys = smem.kv.wait(k);
    mma(tmem.template at<"scores">(Group), queries, keys, false);
    smem.scores[Group].open();
  }

  template <int Group>
  JFA_DEVICE void add_values(const typename K::Tmem& tmem) {
    if ((in_hand & K::kVisit << Group) != 0) {
      smem.weights[Group].pass(weights[Group]);
      M::tensor_fence_after();  // P stored, O scaled, S loaded by threads, before MMAs touch them
      auto& values = smem.kv.wait(v);
      const auto p = tmem.template at<"scores">(Group).template as<typename K::T>();
      mma(tmem.template at<"sums">(Group), p, transposed(values),
          (in_hand & K::kFirst << Group) == 0);
    }
    // Of a group without rows, too: who waits for sums need not know when it last visited.
    if ((in_hand & K::kLast) != 0) smem.sums[Group].open();
  }

  /// Gives K or V back once all MMAs so far are complete, and goes on to the next block's.
  /// NOTE [all blocks are visited]: windows leave no hole between the groups' keys, and of lists
  /// no other blocks are loaded, so that one of the groups has waited for K and V.
  JFA_DEVICE void give_back(KvCursor& at) {
    smem.kv.release(at);
    at.advance();
  }
};

}  // namespace jfa::inline JFA_BACKEND
