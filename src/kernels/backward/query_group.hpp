// What the warpgroup of the role `queries` does: dQ of the tiles that the blocks of keys visit.
#pragma once

#include "kernels/backward/key_blocks.hpp"
#include "kernels/backward/partners.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, BackwardByKeys<...>.
template <class K>
struct QueryGroup {
  using M = typename K::M;
  using Mask = typename K::Mask;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  /// dQ of a tile is made in parts of 64 rows and columns, columns of the same rows first.
  static constexpr int kPart = 64;
  static constexpr int kColumnParts = K::C.head_dim / kPart;
  static constexpr int kParts = K::kQueries / kPart * kColumnParts;
  static JFA_DEVICE int row_of(int part) {
    return kParts > kColumnParts ? part / kColumnParts * kPart : 0;
  }
  static JFA_DEVICE int column_of(int part) {
    return (part - row_of(part) / kPart * kColumnParts) * kPart;
  }

  static constexpr int kWarpRows = 16;
  /// The warp's rows of the work in hand, from its part of a tile on.
  struct Rows {
    int first;  // of q
    int left;   // of the sequence
    int head;
  };

  const typename K::Params& p;
  Smem& smem;
  const bool copies;  // one thread a warp
  const bool lead;    // the first of these
  typename decltype(Smem::ds_ring)::Cursor ds = {};
  typename decltype(Smem::kv_ring)::Cursor kv = {};
  int slot = 0;              // of smem.dq
  bool both = false;         // halves of the block's keys
  DqWay way = DqWay::Write;  // of the work in hand
  Partners<K> partners;
  Fragment<M, kPart> dq;

  JFA_DEVICE QueryGroup(const typename K::Params& params, Smem& memory)
      : p(params),
        smem(memory),
        copies(M::elect()),
        lead(M::warp_index() % 4 == 0 && copies),
        partners{params} {}

  JFA_DEVICE void run() {
    auto r = smem.work.reader();
    for (;;) {
      const Work& work = smem.work.wait(r);
      if (known<M>(work.tiles) < 0) break;
      go(K::way(work));
      smem.kv_ring.wait(kv);
      both = Mask::kListed || K::has_second_half(work);
      if (way == DqWay::Sum) {
        const int first = M::warp_index() % 4 * kWarpRows;
        const Rows rows{M::load_shared(&work.q_begin) + first,
                        M::load_shared(&work.q_length) - first, M::load_shared(&work.q_head)};
        for_each_visit(work, [&](int head, int tile) { add(rows, head, tile); });
      } else if (way == DqWay::Task) {
        const int tiles = (known<M>(work.q_length) + K::kQueries - 1) / K::kQueries;
        const int first = known<M>(work.kept);
        for_each_visit(work, [&](int head, int tile) { keep(first + head * tiles + tile); });
      } else {
        for_each_visit(work, [&](int head, int tile) { write(work, head, tile); });
      }
      if (K::ends_block(work)) smem.kv_ring.release(kv);
      smem.work.release(r);
    }
    if (copies) wait_read<M>();
  }

  /// dQ of the work in hand goes that way. Where that before went another, copies by other warps
  /// may still read what is staged.
  JFA_DEVICE void go(DqWay next) {
    if (next == way) return;
    way = next;
    if (copies) wait_read<M>();
    meet();  // no copy reads what was staged
  }

  JFA_DEVICE void for_each_visit(const Work& work, auto fn) {
    const int visits = known<M>(work.tiles) * p.heads;
    typename K::Place place{known<M>(work.first_tile), 0};
    for (int i = 0; i < visits; ++i, place.next(p)) {
      if constexpr (Mask::kListed) place.tile = K::listed_visit(smem, work, i) / K::kNames;
      fn(place.head, place.tile);
    }
  }

  /// dQ added to that tile of the task's own.
  JFA_DEVICE void keep(int tile) {
    float* to = p.dq_kept + std::int64_t{tile} * (K::kQueries * K::C.head_dim);
    for (int part = 0; part < kParts; ++part) {
      multiply(part, false);
      store_kept<true>(to + part * (kPart * kPart), dq);
    }
  }

  /// dQ written, or handed over to the block's partner.
  JFA_DEVICE void write(const Work& work, int head, int tile) {
    const bool shared = K::kPairs && way == DqWay::Pair &&
                        (Mask::kSharesKeys || K::blocks(p, work, tile).size() == 2);
    if (shared) partners.wait();
    const bool first = shared && partners.first();
    const bool second = shared && !first;
    for (int part = 0; part < kParts; ++part) {
      float* handed = shared ? partners.tile() + part * (kPart * kPart) : nullptr;
      if (second) load_kept(dq, handed);
      multiply(part, second);
      if (first) {
        store_kept<false>(handed, dq);
      } else {
        send(work, head, tile, part);
      }
    }
    if (!shared) return;
    if (first) meet();  // all have stored
    partners.done(lead);
  }

  /// A part of dS K, from those halves of the keys that there are.
  JFA_DEVICE void multiply(int part, bool adds) {
    if (part == 0) smem.ds_ring.wait(ds);
    multiply_halves(part, adds);
    if (part + 1 == kParts) smem.ds_ring.release(ds);
  }
  JFA_DEVICE void multiply_halves(int part, bool adds) {
    if constexpr (K::kKeys > 64) {
      if (both) return multiply_keys<K::kKeys>(part, adds);
    }
    multiply_keys<64>(part, adds);
  }
  template <int Keys>
  JFA_DEVICE void multiply_keys(int part, bool adds) {
    const auto slopes = smem.ds[ds.slot].view().template rows<Keys>(0);
    const auto keys = smem.kv[kv.slot].k.view().template rows<Keys>(0);
    M::wgmma_fence();  // dQ, read by threads, before it is written
    wgmma(dq, transposed(slopes.template cols<kPart>(row_of(part))),
          transposed(keys.template cols<kPart>(column_of(part))), adds);
    M::wgmma_commit();
    wgmma_wait<0>(dq);
  }

  /// dQ added to dq_sum: each warp stages its rows and adds them by one copy. NOTE [summed rows]
  /// says where a thread's values lie.
  JFA_DEVICE void add(const Rows& rows, int head, int tile) {
    using Layout = typename K::DqLayout;
    JFA_UNROLL
    for (int part = 0; part < kParts; ++part) {
      multiply(part, false);
      const int column = column_of(part);
      const int left = rows.left - tile * K::kQueries - row_of(part);
      const int row = rows.first + tile * K::kQueries + row_of(part);
      const int width = Layout::summed_width(p.head_dim, column);
      if (left <= 0 || width <= 0) continue;
      auto& staged = smem.dq[slot].sums[M::warp_index() % 4];
      if (++slot == K::C.dq_slots) slot = 0;
      if (copies) wait_read<M, K::C.dq_slots - 1>();
      M::sync_warp();
      stage_rows(staged, row, width);
      M::template fence_proxy_async<Space::Shared>();  // staged by threads, read by a copy
      M::sync_warp();
      if (!copies) continue;
      const int rows_here = left < kWarpRows ? left : kWarpRows;
      const auto bytes = static_cast<std::uint32_t>(4 * rows_here * width);
      M::bulk_reduce_add(p.dq_sum + Layout::summed_place(p.q_rows, p.heads_q, row, rows.head + head,
                                                         p.head_dim, column),
                         staged, bytes);
      M::bulk_commit();
    }
  }
  JFA_DEVICE void stage_rows(float* to, int row, int width) {
    const int in_warp = dq.first_row() % kWarpRows;
    const int swap = (row + in_warp) % 2 * 16;
    to += in_warp * width + 2 * dq.first_col();
    JFA_UNROLL
    for (int i = 0; i < kPart; i += 16) {
      if (i >= width) break;
      const float* v = dq.values + i / 2;
      auto* upper = reinterpret_cast<Pack<float, 4>*>(to + (i % 32 == 0 ? i + swap : i - swap));
      M::store_shared(upper, Pack<float, 4>{{v[0], v[1], v[4], v[5]}});
      M::store_shared(upper + 2 * width, Pack<float, 4>{{v[2], v[3], v[6], v[7]}});
    }
  }

  /// dQ to dq.
  JFA_DEVICE void send(const Work& work, int head, int tile, int part) {
    auto& to = smem.dq[0].rounded;
    if (lead) wait_read<M>();
    meet();  // the copy before has read it
    store_fragment(to.view(), dq);
    M::template fence_proxy_async<Space::Shared>();  // dQ, written by threads, read by a copy
    meet();
    if (!lead) return;
    const RaggedRows rows{M::load_shared(&work.q_begin), M::load_shared(&work.q_length)};
    const int at[5] = {column_of(part), M::load_shared(&work.q_head) + head,
                       rows.at(tile * K::kQueries + row_of(part)), rows.end(), kRaggedRows};
    tma_store(p.dq, at, to);
    M::bulk_commit();
  }

  JFA_DEVICE void meet(Site site = Site::here()) const {
    Meeting<M, "queries", typename K::Ids, 128>::sync(site);
  }
};

}  // namespace jfa::inline JFA_BACKEND
