// What the warpgroup of the role `queries` does: dQ of the tiles that the blocks of keys visit.
#pragma once

#include "kernels/backward/dq_places.hpp"
#include "kernels/backward/partners.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// `K` is the kernel, BackwardByKeys<...>.
template <class K>
struct QueryGroup : DqPlaces<K> {
  using M = typename K::M;
  using Mask = typename K::Mask;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using Places = DqPlaces<K>;
  using Places::field;
  using Places::p;
  using Places::smem;
  static constexpr int kColumns = 64;  // at a time

  const bool lead;
  typename decltype(Smem::ds_ring)::Cursor ds = {};
  typename decltype(Smem::kv_ring)::Cursor kv = {};
  int slot = 0;  // of smem.dq
  Partners<K> partners;
  Fragment<M, kColumns> dq;

  JFA_DEVICE QueryGroup(const typename K::Params& params, Smem& memory)
      : Places{params, memory}, lead(M::warp_index() % 4 == 0 && M::elect()), partners{params} {}

  JFA_DEVICE void run() {
    auto r = smem.work.reader();
    for (;;) {
      const Work& work = smem.work.wait(r);
      const int tiles = field(work, &Work::tiles);
      if (tiles < 0) break;
      smem.kv_ring.wait(kv);
      typename K::Place place{field(work, &Work::first_tile), 0};
      for (int i = 0; i < tiles * p.heads; ++i, place.next(p)) {
        if constexpr (Mask::kListed) place.tile = K::listed_visit(smem, work, i) / K::kNames;
        visit(work, place.head, place.tile, i);
      }
      if (K::ends_block(work)) smem.kv_ring.release(kv);
      smem.work.release(r);
    }
    if (lead) wait_read<M>();
  }

  JFA_DEVICE void visit(const Work& work, int head, int tile, int number) {
    const DqWay way = Places::way(work);
    bool later = way == DqWay::Sum || way == DqWay::Task;  // there is dQ of blocks before
    bool keep = later;
    const bool shared = way == DqWay::Pair && Places::seen_blocks(work, tile).size() == 2;
    if (shared) {
      keep = partners.first();
      later = !keep;
      partners.wait();
    }
    const bool load = later && !keep;
    const bool in_turn = way == DqWay::Sum && p.turns != nullptr;
    for (int column = 0; column < K::C.head_dim; column += kColumns) {
      float* kept = nullptr;
      if (shared) {
        kept = partners.tile() + column * K::kQueries;
      } else if (way == DqWay::Task) {
        kept = Places::kept_at(work, head, tile, column);
      }
      if (load) load_kept(dq, kept);
      if (column == 0) smem.ds_ring.wait(ds);
      M::wgmma_fence();  // dQ, read by threads, before it is written
      wgmma(dq, transposed(smem.ds[ds.slot].view().template rows<K::kKeys>(0)),
            transposed(smem.kv[kv.slot].k.view().template cols<kColumns>(column)), load);
      M::wgmma_commit();
      wgmma_wait<0>(dq);
      const bool last = column + kColumns == K::C.head_dim;
      if (last) smem.ds_ring.release(ds);
      if (in_turn && column == 0) take_turn(work, head, tile, number);
      if (way == DqWay::Sum) {
        add_rows(work, head, tile, column);
      } else if (!keep) {
        send(work, head, tile, column);
      } else if (later) {
        store_kept<true>(kept, dq);
      } else {
        store_kept<false>(kept, dq);
      }
      if (in_turn && last) give_turn(work, head, tile);
    }
    if (!shared) return;
    if (keep) meet();  // all have stored
    partners.done(lead);
  }

  /// dQ added to dq_sum. NOTE [summed rows] says where a thread's values lie.
  JFA_DEVICE void add_rows(const Work& work, int head, int tile, int column) {
    const int row = tile * K::kQueries + dq.first_row();
    const int left = M::load_shared(&work.q_length) - row;
    const int dim = K::DqLayout::summed_dim(p.head_dim);
    const std::int64_t eight_rows = std::int64_t{8} * p.heads_q * dim;
    float* to = p.dq_sum + K::DqLayout::summed_place(M::load_shared(&work.q_begin) + row, p.heads_q,
                                                     M::load_shared(&work.q_head) + head,
                                                     p.head_dim, column + 2 * dq.first_col());
    JFA_UNROLL
    for (int i = 0; i < kColumns / 2; i += 8) {
      if (column + 2 * i >= dim) break;
      const float(&v)[kColumns / 2] = dq.values;
      auto* upper = reinterpret_cast<Pack<float, 4>*>(to + 4 * i);
      auto* lower = reinterpret_cast<Pack<float, 4>*>(to + 4 * i + eight_rows);
      if (left > 0) M::reduce_add(upper, {{v[i], v[i + 1], v[i + 4], v[i + 5]}});
      if (left > 8) M::reduce_add(lower, {{v[i + 2], v[i + 3], v[i + 6], v[i + 7]}});
    }
  }

  JFA_DEVICE void take_turn(const Work& work, int head, int tile, int number) {
    const int before = Places::blocks_before(work, tile, number);
    if (lead) M::await(Places::turn_at(work, head, tile), before);
    meet();  // what the turn orders is ordered for all
  }
  JFA_DEVICE void give_turn(const Work& work, int head, int tile) {
    meet();  // all have added
    if (lead) M::reduce_add_release(Places::turn_at(work, head, tile), 1);
  }

  /// dQ to dq.
  JFA_DEVICE void send(const Work& work, int head, int tile, int column) {
    auto& to = smem.dq[slot];
    if (++slot == K::C.dq_slots) slot = 0;
    if (lead) wait_read<M, K::C.dq_slots - 1>();
    meet();  // the copy of the tile's use before has read it
    store_fragment(to.view(), dq);
    M::template fence_proxy_async<Space::Shared>();  // dQ, written by threads, read by a copy
    meet();
    if (!lead) return;
    const RaggedRows rows{M::load_shared(&work.q_begin), M::load_shared(&work.q_length)};
    const int at[5] = {column, M::load_shared(&work.q_head) + head, rows.at(tile * K::kQueries),
                       rows.end(), kRaggedRows};
    tma_store(p.dq, at, to);
    M::bulk_commit();
  }

  JFA_DEVICE void meet(Site site = Site::here()) const {
    Meeting<M, "queries", typename K::Ids, 128>::sync(site);
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
