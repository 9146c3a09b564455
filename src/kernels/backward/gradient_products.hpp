// What the multiply role of Blackwell's backward kernel does: it issues all MMAs. The tiles that a
// block of keys visits are a stream; what comes of a tile's dS is issued behind the scores of the
// tile after it, so that the tensor cores have those to do while dS is made:
//
//   S(j+1) = K Q^T, dK += dS(j)^T Q, dQ(j) = dS(j) K, dP(j+1) = V dO^T, dV += P(j+1)^T dO
//
// NOTE [in place]: P lies over S, dS and then dQ over dP. MMAs of one warp execute in order, so
// that each has read what the next one writes over.
#pragma once

#include "kernels/backward/key_blocks.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, BackwardBlackwell<...>.
template <class K>
struct GradientProducts {
  using M = typename K::M;
  using T = typename K::T;
  using Smem = typename K::Smem;
  using Tmem = typename K::Tmem;
  using Work = typename K::Work;

  const typename K::Params& p;
  Smem& smem;
  typename decltype(Smem::kv_ring)::Cursor kv = {};
  typename decltype(Smem::q_ring)::Cursor q = {};     // of the tile ahead
  typename decltype(Smem::q_ring)::Cursor done = {};  // of the tile before
  typename decltype(Smem::dout_ring)::Cursor dout = {};
  typename M::Phase weights = M::Phase::first();
  typename M::Phase slopes = M::Phase::first();
  typename M::Phase drained = M::Phase::first();
  bool draining = false;  // dQ of the tile before lies where dP is to come
  int visits = 0;         // of the block of keys in hand

  JFA_DEVICE void run(const Tmem& tmem) {
    auto r = smem.work.reader();
    for (;;) {
      const Work& work = smem.work.wait(r);
      const int tiles = known<M>(work.tiles);
      const bool ends = K::ends_block(work);
      smem.work.release(r);
      if (tiles < 0) break;
      smem.kv_ring.wait(kv);
      for (int i = 0; i < tiles * p.heads; ++i) visit(tmem);
      if (ends) finish(tmem);
    }
    smem.q_ring.drain(q);  // nobody else waits for the last commits
    smem.dout_ring.drain(dout);
  }

  JFA_DEVICE void visit(const Tmem& tmem) {
    smem.q_ring.wait(q);
    mma(tmem.template at<"scores">(), smem.kv[kv.slot].k, smem.q[q.slot], false);
    smem.scores.open();
    q.advance();
    if (visits > 0) use_slopes(tmem, visits > 1);
    add_values(tmem, visits > 0);
    ++visits;
  }

  /// The end of a block of keys.
  JFA_DEVICE void finish(const Tmem& tmem) {
    if (visits > 0) {
      use_slopes(tmem, visits > 1);
      smem.sums.open();
    }
    visits = 0;
    smem.kv_ring.release(kv);  // those who write the sums wait for the MMAs
  }

  /// dP, and dV += P^T dO.
  JFA_DEVICE void add_values(const Tmem& tmem, bool accumulate) {
    auto& rows = smem.dout[dout.slot];
    smem.dout_ring.wait(dout);
    if (draining) smem.drained.pass(drained);
    M::tensor_fence_after();  // dQ loaded by threads, before dP overwrites it
    mma(tmem.template at<"gradients">(), smem.kv[kv.slot].v, rows, false);
    smem.gradients.open();
    smem.weights.pass(weights);
    M::tensor_fence_after();  // P stored by threads, before it is read
    add_halves(tmem.template at<"dv">(), tmem.template at<"scores">(), rows, accumulate);
    smem.dout_ring.release(dout);
  }

  /// dK += dS^T Q, and dQ, of the tile before.
  JFA_DEVICE void use_slopes(const Tmem& tmem, bool accumulate) {
    smem.slopes.pass(slopes);
    M::tensor_fence_after();  // dS stored by threads, before it is read
    const auto gradients = tmem.template at<"gradients">();
    add_halves(tmem.template at<"dk">(), gradients, smem.q[done.slot], accumulate);
    smem.q_ring.release(done);
    mma(gradients.template cols<K::C.head_dim>(0), transposed(smem.ds),
        transposed(smem.kv[kv.slot].k), false);
    smem.dq_made.open();
    draining = true;
  }

  /// to += left `rows`, where each half of the queries has its place in `left`.
  JFA_DEVICE void add_halves(const auto& to, const auto& left, auto& rows, bool accumulate) {
    JFA_UNROLL
    for (int first = 0; first < K::kQueries; first += K::kGroupQueries) {
      const auto half = left.template cols<K::kGroupQueries>(first).template as<T>();
      mma(to, half, transposed(rows.view().template rows<K::kGroupQueries>(first)),
          accumulate || first > 0);
    }
  }
};

}  // namespace jfa::inline JFA_BACKEND
