// What the warpgroup of BackwardByQueries' role `queries` does: dQ of a task, in registers. In the
// end it is kept for the sum over tasks or, of a sequence's own queries, written.
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
      if (known<M>(work.last_of_task) != 0) {
        if constexpr (K::C.shared) {
          keep(known<M>(work.task));
        } else {
          write(work);
        }
      }
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

  /// Straight from registers: too seldom to be worth a place in shared memory.
  JFA_DEVICE void write(const Work& work, Site site = Site::here()) {
    using T = typename K::T;
    T* to = p.dq.at(known<M>(work.q_begin), known<M>(work.head));
    const int rows = K::q_length(p, work);
    JFA_UNROLL
    for (int tile = 0; tile < K::kTiles; ++tile) {
      dq[tile].state.reading(site);
      JFA_UNROLL
      for (int i = 0; i < K::C.head_dim / 2; i += 2) {
        const int row = tile * K::kQueries + dq[tile].first_row() + i / 2 % 2 * 8;
        const int col = dq[tile].first_col() + i / 4 * 8;
        if (row >= rows || col >= p.head_dim) continue;
        const float* v = dq[tile].values + i;
        M::store_global(reinterpret_cast<std::uint32_t*>(to + row * p.dq.row_stride + col),
                        M::template pack<T>(v[0], v[1]), site);
      }
    }
  }
};

}  // namespace jfa::inline JFA_BACKEND
