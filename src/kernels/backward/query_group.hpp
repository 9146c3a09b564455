// What the warpgroup of the role `queries` does: dQ of the tiles that the blocks of keys visit.
#pragma once

#include "kernels/backward/gradient.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// What becomes of a tile's dQ.
enum class DqWay : int {
  Write,  // it is whole: written to dq
  Sum,    // added to dq_sum, as other blocks do
  Keep,   // kept in dq_kept until the sequence's last block of keys, then written
  Task,   // kept in dq_kept, for the sum over tasks
};

/// `K` is the kernel, BackwardByKeys<...>.
template <class K>
struct QueryGroup {
  using M = typename K::M;
  using Mask = typename K::Mask;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using DqTile = typename K::DqTile;
  static constexpr int kColumns = 64;  // at a time

  const typename K::Params& p;
  Smem& smem;
  const bool lead;
  typename decltype(Smem::ds_ring)::Cursor ds = {};
  typename decltype(Smem::kv_ring)::Cursor kv = {};
  int slot = 0;  // of smem.dq
  Fragment<M, kColumns> dq;

  JFA_DEVICE QueryGroup(const typename K::Params& params, Smem& memory)
      : p(params), smem(memory), lead(M::warp_index() % 4 == 0 && M::elect()) {}

  JFA_DEVICE void run() {
    auto r = smem.work.reader();
    for (;;) {
      const Work& work = smem.work.wait(r);
      const int tiles = field(work, &Work::tiles);
      if (tiles < 0) break;
      smem.kv_ring.wait(kv);
      for (int head = 0; head < p.group; ++head) {
        for (int tile = 0; tile < tiles; ++tile) {
          visit(work, head, field(work, &Work::first_tile) + tile);
        }
      }
      smem.kv_ring.release(kv);
      smem.work.release(r);
    }
    if (lead) wait_read<M>();
  }

  JFA_DEVICE int field(const Work& work, const int Work::*of) const {
    return M::uniform(M::load_shared(&(work.*of)));
  }

  JFA_DEVICE void visit(const Work& work, int head, int tile) {
    const auto way = static_cast<DqWay>(M::uniform(static_cast<int>(M::load_shared(&work.dq))));
    bool later = way == DqWay::Task;  // there is dQ of blocks before
    bool keep = later;
    if (way == DqWay::Keep) {
      const Range blocks = seen_blocks(work, tile);
      const int block = field(work, &Work::first_key) / K::kKeys;
      later = block > blocks.begin;
      keep = block + 1 < blocks.end;
    }
    const bool load = later && !keep;
    for (int column = 0; column < K::C.head_dim; column += kColumns) {
      float* kept = nullptr;
      if (later || keep) kept = kept_at(work, head, tile, column);
      if (load) load_kept(dq, kept);
      if (column == 0) smem.ds_ring.wait(ds);
      M::wgmma_fence();  // dQ, read by threads, before it is written
      wgmma(dq, transposed(smem.ds[ds.slot]),
            transposed(smem.kv[kv.slot].k.view().template cols<kColumns>(column)), load);
      M::wgmma_commit();
      wgmma_wait<0>(dq);
      if (column + kColumns == K::C.head_dim) smem.ds_ring.release(ds);
      if (!keep) {
        send(work, way, head, tile, column);
      } else if (later) {
        store_kept<true>(kept, dq);
      } else {
        store_kept<false>(kept, dq);
      }
    }
  }

  /// The blocks of keys that visit a tile.
  JFA_DEVICE Range seen_blocks(const Work& work, int tile) const {
    const int length = field(work, &Work::q_length);
    const int first = tile * K::kQueries;
    const int last = first + K::kQueries < length ? first + K::kQueries : length;
    const Range keys =
        Mask::some_keys(p.mask, {first, last}, {length, field(work, &Work::kv_length)});
    const std::int64_t begin = keys.begin < 0 ? 0 : keys.begin;
    return {begin / K::kKeys, (keys.end + K::kKeys - 1) / K::kKeys};
  }

  JFA_DEVICE float* kept_at(const Work& work, int head, int tile, int column) const {
    const int tiles = (field(work, &Work::q_length) + K::kQueries - 1) / K::kQueries;
    const std::int64_t at = field(work, &Work::kept) + head * tiles + tile;
    return p.dq_kept + at * (K::kQueries * K::C.head_dim) + column * K::kQueries;
  }

  /// dQ to dq, or added to dq_sum.
  JFA_DEVICE void send(const Work& work, DqWay way, int head, int tile, int column) {
    auto& to = smem.dq[slot];
    if (++slot == K::C.dq_slots) slot = 0;
    if (lead) wait_read<M, K::C.dq_slots - 1>();
    meet();  // the copy of the tile's use before has read it
    if (way == DqWay::Sum) {
      store_fragment(to.part.view(), dq);
    } else {
      store_fragment(to.whole.view(), dq);
    }
    M::template fence_proxy_async<Space::Shared>();  // dQ, written by threads, read by a copy
    meet();
    if (!lead) return;
    const RaggedRows rows{M::load_shared(&work.q_begin), M::load_shared(&work.q_length)};
    const int at[5] = {column, M::load_shared(&work.q_head) + head, rows.at(tile * K::kQueries),
                       rows.end(), kRaggedRows};
    if (way == DqWay::Sum) {
      tma_reduce_add(p.dq_sum, at, to.part);
    } else {
      tma_store(p.dq, at, to.whole);
    }
    M::bulk_commit();
  }

  JFA_DEVICE void meet(Site site = Site::here()) const {
    Meeting<M, "queries", typename K::Ids, 128>::sync(site);
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
