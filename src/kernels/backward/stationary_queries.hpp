// What the warpgroup of BackwardByQueries' role `queries` does: dQ of a task, in registers.
#pragma once

#include "kernels/backward/gradient.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, BackwardByQueries<...>.
template <class K>
struct StationaryQueries {
  using M = typename K::M;
  using Smem = typename K::Smem;
  using Work = typename K::Work;

  const typename K::Params& p;
  Smem& smem;
  Fragment<M, K::C.head_dim> dq[K::kTiles];
  typename decltype(Smem::kv_ring)::Cursor kv = {};

  JFA_DEVICE StationaryQueries(const typename K::Params& params, Smem& memory)
      : p(params), smem(memory) {}

  JFA_DEVICE void run() {
    auto r = smem.work.reader();
    for (;;) {
      const Work& work = smem.work.wait(r);
      const int blocks = known<M>(work.blocks);
      if (blocks < 0) break;
      if (known<M>(work.first_of_task) != 0) {
        JFA_UNROLL
        for (auto& tile : dq) tile.fill(0);
      }
      for (int block = 0; block < blocks; ++block) add();
      if (known<M>(work.last_of_task) != 0) keep(known<M>(work.task));
      smem.work.release(r);
    }
  }

  /// dQ += dS K of a block of keys, which nobody needs afterwards.
  JFA_DEVICE void add() {
    // Opened once for each use of the slot, by who has waited for K.
    typename K::DsGate::Key ready{kv.phase};
    smem.ds[kv.slot].pass(ready);
    M::wgmma_fence();  // dQ, zeroed by threads, before it is added to
    JFA_UNROLL
    for (int tile = 0; tile < K::kTiles; ++tile) {
      wgmma(dq[tile],
            transposed(K::slopes(smem, kv.slot).template cols<K::kQueries>(tile * K::kQueries)),
            transposed(smem.kv[kv.slot].k));
    }
    M::wgmma_commit();
    JFA_UNROLL
    for (auto& tile : dq) wgmma_wait<0>(tile);
    smem.kv_ring.release(kv);
  }

  JFA_DEVICE void keep(int task) {
    constexpr int kTile = K::kQueries * K::C.head_dim;
    float* to = p.dq_kept + std::int64_t{task} * p.kept_tiles * kTile;
    JFA_UNROLL
    for (int tile = 0; tile < K::kTiles; ++tile) store_kept<false>(to + tile * kTile, dq[tile]);
  }
};

}  // namespace jfa::inline JFA_BACKEND
