// What the warpgroup of the role `queries` does: dQ of the tiles that the blocks of keys visit.
#pragma once

#include "kernels/backward/partners.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// What becomes of a tile's dQ.
enum class DqWay : int {
  Write,  // it is whole: written to dq
  Sum,    // added to dq_sum, as other blocks of the grid do
  Pair,   // whole, or handed over to the block's partner, or gone on with and written
  Task,   // kept in dq_kept, for the sum over tasks
};

/// `K` is the kernel, BackwardByKeys<...>.
template <class K>
struct QueryGroup {
  using M = typename K::M;
  using Mask = typename K::Mask;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  static constexpr int kColumns = 64;  // at a time

  const typename K::Params& p;
  Smem& smem;
  const bool lead;
  typename decltype(Smem::ds_ring)::Cursor ds = {};
  typename decltype(Smem::kv_ring)::Cursor kv = {};
  int slot = 0;  // of smem.dq
  Partners<K> partners;
  Fragment<M, kColumns> dq;

  JFA_DEVICE QueryGroup(const typename K::Params& params, Smem& memory)
      : p(params), smem(memory), lead(M::warp_index() % 4 == 0 && M::elect()), partners{params} {}

  JFA_DEVICE void run() {
    auto r = smem.work.reader();
    for (;;) {
      const Work& work = smem.work.wait(r);
      const int tiles = field(work, &Work::tiles);
      if (tiles < 0) break;
      smem.kv_ring.wait(kv);
      typename K::Place place{field(work, &Work::first_tile), 0};
      for (int i = 0; i < tiles * p.heads; ++i, place.next(p)) {
        if constexpr (Mask::kListed) place.tile = listed_tile(work, i);
        visit(work, place.head, place.tile, i);
      }
      if (!Mask::kListed || field(work, &Work::part) >= 2) smem.kv_ring.release(kv);
      smem.work.release(r);
    }
    if (lead) wait_read<M>();
  }

  JFA_DEVICE int field(const Work& work, const int Work::*of) const {
    return M::uniform(M::load_shared(&(work.*of)));
  }

  JFA_DEVICE int listed_tile(const Work& work, int visit) const {
    const auto& listed = smem.visits[field(work, &Work::slot)];
    return M::uniform(M::load_shared(&listed.tile[visit])) / 4;
  }

  JFA_DEVICE void visit(const Work& work, int head, int tile, int number) {
    const auto way = static_cast<DqWay>(M::uniform(static_cast<int>(M::load_shared(&work.dq))));
    bool later = way == DqWay::Sum || way == DqWay::Task;  // there is dQ of blocks before
    bool keep = later;
    const bool shared = way == DqWay::Pair && seen_blocks(work, tile).size() == 2;
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
        kept = kept_at(work, head, tile, column);
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
    const int dim = summed_dim(p.head_dim);
    const std::int64_t eight_rows = std::int64_t{8} * p.heads_q * dim;
    float* to = p.dq_sum + summed_place(M::load_shared(&work.q_begin) + row, p.heads_q,
                                        M::load_shared(&work.q_head) + head, p.head_dim,
                                        column + 2 * dq.first_col());
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

  /// NOTE [turns]: with `turns`, the blocks of keys that visit a tile add to it one after another,
  /// in their order. Each takes its items from a counter, earlier blocks of keys first: the one
  /// whose turn it is has been taken by a running block, which waits for no later one.
  JFA_DEVICE void take_turn(const Work& work, int head, int tile, int number) {
    const int before = blocks_before(work, tile, number);
    if (lead) M::await(turn_at(work, head, tile), before);
    meet();  // what the turn orders is ordered for all
  }
  JFA_DEVICE void give_turn(const Work& work, int head, int tile) {
    meet();  // all have added
    if (lead) M::reduce_add_release(turn_at(work, head, tile), 1);
  }
  JFA_DEVICE int* turn_at(const Work& work, int head, int tile) const {
    return p.turns + (M::load_shared(&work.q_head) + head) * p.head_tiles +
           M::load_shared(&work.statistics) + tile;
  }

  /// The blocks of keys that visit a tile, but for lists.
  JFA_DEVICE Range seen_blocks(const Work& work, int tile) const {
    return K::blocks(p.mask, tile, {field(work, &Work::q_length), field(work, &Work::kv_length)});
  }
  JFA_DEVICE int blocks_before(const Work& work, int tile, int visit) const {
    if constexpr (Mask::kListed) {
      const auto& visits = smem.visits[field(work, &Work::slot)];
      return M::uniform(M::load_shared(&visits.before[visit]));
    } else {
      return field(work, &Work::first_key) / K::kKeys -
             static_cast<int>(seen_blocks(work, tile).begin);
    }
  }

  JFA_DEVICE float* kept_at(const Work& work, int head, int tile, int column) const {
    const int tiles = (field(work, &Work::q_length) + K::kQueries - 1) / K::kQueries;
    const std::int64_t at = field(work, &Work::kept) + head * tiles + tile;
    return p.dq_kept + at * (K::kQueries * K::C.head_dim) + column * K::kQueries;
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
