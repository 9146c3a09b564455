// Attention backward on a jagged batch, block of keys by block of keys, for Hopper.
//
//   P = exp(S - lse), S = scores(q k^T), masked
//   dv = P^T dout;  dS = P (dout v^T - delta), by the score policy's slope;  dk = dS^T q;  dq = dS
//   k
//
// An item is a block of 128 keys of one key/value head. It visits the tiles of 64 queries of every
// query head that shares it; dK and dV stay in registers. dQ of a sequence that is one block of
// keys is written as it is; other sequences' adds up in fp32 in global memory and is converted by
// FinishBackward. PrepareBackward, before, makes row statistics and zeroes what needs it.
//
// | role     | warps   | registers | does                                                       |
// | -------- | ------- | --------- | ---------------------------------------------------------- |
// | schedule | 0       | 24        | takes items, says what is to be done                       |
// | load     | 1       | 24        | one thread copies K and V, and tiles of Q and dO           |
// | queries  | 4 to 7  | 88        | dQ = dS K, added up or written                             |
// | keys     | 8 to 15 | 200       | a warpgroup for each half of the keys: key_group.hpp       |
//
// Barrier graph:
//   schedule --work full--> load, queries, keys --work empty--> schedule
//   load --k, v full--> keys, queries --k, v empty--> load
//   load --tile full--> keys --tile empty--> load
//   keys --ds full--> queries --ds empty--> keys
//
// SMEM at head_dim 128, 226 KiB: 2 blocks of K and V, 64 KiB each (dV and dK are staged in V);
// 2 tiles of Q and of dO, 16 KiB each; dS 16 KiB; half a tile of dQ 16 KiB; statistics, work.
#pragma once

#include "kernels/backward/arguments.hpp"
#include "kernels/backward/key_group.hpp"
#include "kernels/items.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

struct BackwardConfig {
  int head_dim = 128;  // of the tiles; tensors may have less
  int kv_slots = 2;
  int q_slots = 2;
  int ds_slots = 1;
  int dq_slots = 1;
  bool half = false;  // fp16 instead of bf16
};

/// A ring's slot whose bytes lie in tiles elsewhere in Smem: a ring with tiles in it is as large as
/// their alignment of 1 KiB makes it.
template <int Bytes>
struct Apart {
  static constexpr std::uint32_t kCopiedBytes = Bytes;
};

template <class Machine, BackwardConfig Config, template <class> class MaskPolicy = NoMask,
          template <class> class ScorePolicy = ScaledScores>
struct BackwardByKeys {
  using M = Machine;
  static constexpr BackwardConfig C = Config;
  using Mask = MaskPolicy<M>;
  using Scores = ScorePolicy<M>;
  using T = std::conditional_t<C.half, fp16, bf16>;

  static constexpr int kGroups = 2;
  static constexpr int kGroupKeys = 64;
  static constexpr int kKeys = kGroups * kGroupKeys;
  static constexpr int kQueries = 64;
  static_assert(kQueries == kStatisticsRows, "a tile of queries has one tile of statistics");
  static constexpr int kThreads = 128 * (2 + kGroups);
  static constexpr int kClusterSize = 1;

  /// One block of keys: what every role needs to know of it.
  struct alignas(16) Work {
    int tiles;  // of queries, for each head; -1: there is no more work
    int first_tile;
    int q_head;  // the first of the group
    int kv_head;
    int first_key;  // of the block, in its sequence
    int q_begin;
    int q_length;
    int kv_begin;
    int kv_length;
    int statistics;  // the sequence's first tile
    int out_begin;
    int task;
  };

  using QTile = Tile<M, T, kQueries, C.head_dim>;
  using KvTile = Tile<M, T, kKeys, C.head_dim>;
  using DsTile = Tile<M, T, kKeys, kQueries>;
  using DqPart = Tile<M, T, kQueries, 64>;
  using SumTile = Tile<M, float, kQueries, 64>;
  using RowTile = Tile<M, float, 1, kQueries, Swizzle::None>;
  using OutView = TileView<M, T, kGroupKeys, C.head_dim, Swizzle::B128, kKeys>;
  struct Kv {
    KvTile k;
    KvTile v;
  };
  union DqTile {
    DqPart whole;
    SumTile part;
  };

  static constexpr int kKeyWarps = 4 * kGroups;
  static constexpr int kReaders = 2 + 4 + kKeyWarps;  // warps that read work
  static constexpr int kTileBytes = 2 * (sizeof(QTile) + sizeof(RowTile));
  struct Smem {
    Kv kv[C.kv_slots];
    QTile q[C.q_slots];
    QTile dout[C.q_slots];
    DsTile ds[C.ds_slots];
    DqTile dq[C.dq_slots];
    RowTile lse[C.q_slots];
    RowTile delta[C.q_slots];
    Ring<M, "work", Work, 3, By<OncePerWarp<1>>, FreedBy<OncePerWarp<kReaders>>> work;
    Ring<M, "k, v", Apart<sizeof(Kv)>, C.kv_slots, By<Tma>, FreedBy<OncePerWarp<4 + kKeyWarps>>>
        kv_ring;
    Ring<M, "tile", Apart<kTileBytes>, C.q_slots, By<Tma>, FreedBy<OncePerWarp<kKeyWarps>>>
        tile_ring;
    Ring<M, "ds", Apart<0>, C.ds_slots, By<OncePerWarp<kKeyWarps>>,
         FreedBy<OncePerWarp<4 + kKeyWarps>>>
        ds_ring;
  };
  using Ids = BarrierIds<"first half", "second half", "queries">;

  struct Params {
    typename M::TensorMap q, dout, k, v, dq, dk, dv, dq_sum;
    const PlannedSequence* plan;
    int batch;
    int* ticket;
    int heads_kv;
    int group;   // query heads that share a key/value head
    int shares;  // of a key/value head's items, with broadcast_q; else 0
    int lq;      // rows of q with broadcast_q
    const float* statistics;
    std::int64_t head_tiles;
    typename Mask::Params mask;
    typename Scores::Params scores;
  };

  /// How the plan must cut sequences.
  static constexpr KeyShape item_shape() { return {kKeys, kQueries}; }

  static Params make_params(const BackwardArguments<T>& a) {
    const std::int64_t head_dim = a.head_dim;
    const int group = a.heads_q / a.heads_kv;
    const int sum_heads = a.broadcast() ? group : a.heads_q;
    return {a.template map<M, typename QTile::View>(a.q, a.heads_q),
            a.template map<M, typename QTile::View>(a.dout, a.heads_q),
            a.template map<M, typename KvTile::View>(a.k, a.heads_kv),
            a.template map<M, typename KvTile::View>(a.v, a.heads_kv),
            a.template map<M, typename DqPart::View>(a.dq, a.heads_q),
            a.template map<M, OutView>(a.dk, a.heads_kv),
            a.template map<M, OutView>(a.dv, a.heads_kv),
            M::make_tensor_map(ragged_map<typename SumTile::View>(a.dq_sum, head_dim, sum_heads,
                                                                  sum_heads * head_dim, head_dim)),
            a.plan,
            a.batch,
            a.ticket,
            a.heads_kv,
            group,
            a.broadcast() ? a.shares() : 0,
            a.q_rows.rows,
            a.statistics,
            a.head_tiles(),
            Mask::Params::of(a.window),
            Scores::Params::of(a.softmax_scale, a.softcap)};
  }

  /// Whether a sequence's dQ is whole after one block of keys.
  static JFA_HOST_DEVICE bool one_block(int kv_length) { return kv_length <= kKeys; }

  /// The tiles of queries that see some of the keys `first` to `last` - 1.
  static JFA_DEVICE Range tiles(const typename Mask::Params& mask, int first, int last,
                                Extent extent) {
    const Range rows = Mask::queries(mask, {first, last}, extent);
    if (rows.empty()) return {0, 0};
    return {rows.begin / kQueries, (rows.end + kQueries - 1) / kQueries};
  }

  // ---- schedule

  static JFA_DEVICE Work describe(const Params& p, const PlannedSequence& s, int head, int block,
                                  int task) {
    const int first = block * kKeys;
    const int last = first + kKeys < s.kv_length ? first + kKeys : s.kv_length;
    const Range seen = tiles(p.mask, first, last, {s.q_length, s.kv_length});
    return {.tiles = static_cast<int>(seen.size()),
            .first_tile = static_cast<int>(seen.begin),
            .q_head = head * p.group,
            .kv_head = head,
            .first_key = first,
            .q_begin = s.q_begin,
            .q_length = s.q_length,
            .kv_begin = s.kv_begin,
            .kv_length = s.kv_length,
            .statistics = static_cast<int>(first_statistics_tile(s.out_begin, s.index)),
            .out_begin = s.out_begin,
            .task = task};
  }

  /// Any block takes any item, the most expensive first.
  template <class Publish>
  static JFA_DEVICE void take_items(const Params& p, Publish publish) {
    const int items = M::load_global(&p.plan[p.batch].first_item) * p.heads_kv;
    int at = 0;
    for (int item = M::block_index(); item < items;) {
      const int ticket = M::lane() == 0 ? M::atomic_add(p.ticket, 1) : 0;
      at = find_item<M>(p.plan, p.batch, p.heads_kv, at, item);
      const PlannedSequence s = M::load_global(&p.plan[at]);
      const int in_sequence = item - s.first_item * p.heads_kv;
      publish(describe(p, s, in_sequence / s.items, in_sequence % s.items, 0));
      item = M::grid_size() + M::shuffle(ticket, 0);
    }
  }

  /// Each task is a fixed share of one head's items, in the order of the plan: its sum of dQ, which
  /// no other block touches, comes out the same whatever else happens.
  template <class Publish>
  static JFA_DEVICE void take_tasks(const Params& p, Publish publish) {
    const std::int64_t items = M::load_global(&p.plan[p.batch].first_item);
    for (int task = M::block_index(); task < p.shares * p.heads_kv; task += M::grid_size()) {
      const int share = task % p.shares;
      const auto first = static_cast<int>(items * share / p.shares);
      const auto last = static_cast<int>(items * (share + 1) / p.shares);
      int at = first < last ? search_item<M>(p.plan, p.batch, first) : 0;
      for (int item = first; item < last; ++item) {
        at = find_item<M>(p.plan, p.batch, 1, at, item);
        const PlannedSequence s = M::load_global(&p.plan[at]);
        publish(describe(p, s, task / p.shares, item - s.first_item, task));
      }
    }
  }

  static JFA_DEVICE void schedule(const Params& p, Smem& smem) {
    auto w = smem.work.writer();
    const auto publish = [&](const Work& work) {
      smem.work.fill(w, [&](Work& slot) {
        if (M::lane() == 0) M::store_shared(&slot, work);
      });
    };
    if (p.shares == 0) {
      take_items(p, publish);
    } else {
      take_tasks(p, publish);
    }
    Work end{};
    end.tiles = -1;
    publish(end);
  }

  // ---- load

  /// Calls fn(work) on one thread for each piece of work, until there is no more.
  template <class Fn>
  static JFA_DEVICE void for_each_work(Smem& smem, Fn fn) {
    auto r = smem.work.reader();
    const bool lead = M::elect();
    for (;;) {
      const Work& work = smem.work.wait(r);
      if (M::load_shared(&work.tiles) < 0) break;
      if (lead) fn(work);
      smem.work.release(r);
    }
  }

  static JFA_DEVICE void load_keys(const Params& p, Smem& smem) {
    auto kv = smem.kv_ring.writer();
    for_each_work(smem, [&](const Work& work) {
      const RaggedRows keys{M::load_shared(&work.kv_begin), M::load_shared(&work.kv_length)};
      const int at[5] = {0, M::load_shared(&work.kv_head), keys.at(M::load_shared(&work.first_key)),
                         keys.end(), kRaggedRows};
      smem.kv_ring.fill(kv, [&](auto&, Mbarrier& full) {
        tma_load(full, smem.kv[kv.slot].k, p.k, at);
        tma_load(full, smem.kv[kv.slot].v, p.v, at);
      });
    });
  }

  static JFA_DEVICE void load_tiles(const Params& p, Smem& smem) {
    auto to = smem.tile_ring.writer();
    for_each_work(smem, [&](const Work& work) {
      for (int i = 0; i < p.group; ++i) {
        const int head = M::load_shared(&work.q_head) + i;
        const int length = M::load_shared(&work.q_length);
        const int tile = M::load_shared(&work.first_tile);
        const float* rows =
            p.statistics +
            2 * kQueries * (head * p.head_tiles + M::load_shared(&work.statistics) + tile);
        int at[5] = {0, head, kRaggedRows - length + tile * kQueries, 0, kRaggedRows};
        for (int left = M::load_shared(&work.tiles); left > 0; --left) {
          smem.tile_ring.fill(to, [&](auto&, Mbarrier& full) {
            at[3] = M::load_shared(&work.q_begin) + length;
            tma_load(full, smem.q[to.slot], p.q, at);
            at[3] = M::load_shared(&work.out_begin) + length;
            tma_load(full, smem.dout[to.slot], p.dout, at);
            M::bulk_load(smem.lse[to.slot].elements, rows, sizeof(RowTile), &full);
            M::bulk_load(smem.delta[to.slot].elements, rows + kQueries, sizeof(RowTile), &full);
          });
          at[2] += kQueries;
          rows += 2 * kQueries;
        }
      }
    });
  }

  // ---- queries

  /// dQ tiles of one block of keys after another, staged in shared memory for copies.
  struct Queries {
    const Params& p;
    Smem& smem;
    const bool lead = M::warp_index() % 4 == 0 && M::elect();
    typename decltype(Smem::ds_ring)::Cursor ds = {};
    int slot = 0;        // of dq
    Fragment<M, 64> dq;  // 64 columns at a time

    JFA_DEVICE Queries(const Params& params, Smem& memory) : p(params), smem(memory) {}

    JFA_DEVICE void meet(Site site = Site::here()) const {
      Meeting<M, "queries", Ids, 128>::sync(site);
    }

    /// `write` puts dq into a staging tile, `copy` sends it on.
    template <class Write, class Copy>
    JFA_DEVICE void stage(Write write, Copy copy) {
      auto& tile = smem.dq[slot];
      if (++slot == C.dq_slots) slot = 0;
      if (lead) wait_read<M, C.dq_slots - 1>();
      meet();  // the copy of the tile's use before has read it
      write(tile);
      M::template fence_proxy_async<Space::Shared>();  // dQ, written by threads, read by a copy
      meet();
      if (lead) {
        copy(tile);
        M::bulk_commit();
      }
    }

    /// 64 columns of a tile's dQ, from `column` on: the MMA, then out. The tile's last frees dS.
    JFA_DEVICE void columns(int column, const Work& work, int head, int tile, int kv_slot) {
      M::wgmma_fence();  // dQ, read by threads, before it is written
      wgmma(dq, transposed(smem.ds[ds.slot]),
            transposed(smem.kv[kv_slot].k.view().template cols<64>(column)), false);
      M::wgmma_commit();
      wgmma_wait<0>(dq);
      if (column + 64 == C.head_dim) smem.ds_ring.release(ds);
      if (p.shares == 0 && one_block(work.kv_length)) {
        const RaggedRows rows{work.q_begin, work.q_length};
        stage([&](DqTile& to) { store_fragment(to.whole.view(), dq); },
              [&](DqTile& from) {
                tma_store(
                    p.dq,
                    {column, work.q_head + head, rows.at(tile * kQueries), rows.end(), kRaggedRows},
                    from.whole);
              });
      } else {
        const bool own = p.shares != 0;
        const RaggedRows rows{own ? work.task * p.lq : work.q_begin, work.q_length};
        // NOTE [ordered adds]: two adds of one task to the same rows are a round of tiles apart.
        // All but the last one are complete, unless there is but one tile.
        if (own && lead) settle(work);
        stage([&](DqTile& to) { store_fragment(to.part.view(), dq); },
              [&](DqTile& from) {
                tma_reduce_add(p.dq_sum,
                               {column, own ? head : work.q_head + head, rows.at(tile * kQueries),
                                rows.end(), kRaggedRows},
                               from.part);
              });
      }
    }

    JFA_DEVICE void settle(const Work& work) const {
      if (p.group == 1 && work.q_length <= kQueries && C.head_dim <= 64) {
        wait_stored<M>();
      } else {
        wait_stored<M, 1>();
      }
    }

    JFA_DEVICE void run() {
      auto r = smem.work.reader();
      auto kv = smem.kv_ring.reader();
      for (;;) {
        const Work work = M::load_shared(&smem.work.wait(r));
        smem.work.release(r);
        const int tiles = M::uniform(work.tiles);
        if (tiles < 0) break;
        smem.kv_ring.wait(kv);
        for (int head = 0; head < p.group; ++head) {
          for (int tile = 0; tile < tiles; ++tile) {
            smem.ds_ring.wait(ds);
            for (int column = 0; column < C.head_dim; column += 64) {
              columns(column, work, head, work.first_tile + tile, kv.slot);
            }
          }
        }
        smem.kv_ring.release(kv);
      }
      if (lead) wait_read<M>();
    }
  };

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] {
      smem.work.init();
      smem.kv_ring.init();
      smem.tile_ring.init();
      smem.ds_ring.init();
    });
    warp_roles<M>(role<"produce", Warps{0, 4}, Regs{32}>([&] {
                    warp_roles<M>(role<"schedule", Warps{0, 1}>([&] { schedule(p, smem); }),
                                  role<"load keys", Warps{1, 1}>([&] { load_keys(p, smem); }),
                                  role<"load tiles", Warps{2, 1}>([&] { load_tiles(p, smem); }));
                  }),
                  role<"queries", Warps{4, 4}, Regs{64}>([&] {
                    Queries{p, smem}.run();
                  }),
                  role<"keys", Warps{8, 8}, Regs{208}>([&] {
                    KeyGroup<BackwardByKeys> keys{p, smem, M::warp_index() / 4 - 2};
                    keys.run();
                  }));
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
