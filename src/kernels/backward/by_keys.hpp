// Attention backward on a jagged batch, block of keys by block of keys, for Hopper.
//
//   P = exp(S - lse), S = scores(q k^T), masked
//   dv = P^T dout;  dS = P (dout v^T - delta), by the score policy's slope
//   dk = dS^T q;  dq = dS k
//
// An item is a block of 128 keys of one key/value head, or of 64 where the warpgroups of keys split
// the columns of dK and dV instead: then their registers hold wider heads, or more for each score,
// but S^T and dP^T are made twice. It visits the tiles of 64 queries of every query head that
// shares it; dK and dV stay in registers. dQ of a sequence that is one block of keys is written as
// it is. Two blocks of keys are worked on at once by two blocks of the grid, of
// which one hands dQ over to the other: partners.hpp. dQ of a longer sequence adds up in fp32 in
// dq_sum and is converted by FinishBackward. With broadcast_q items are shared out beforehand, dQ
// is kept over a block's whole share, and FinishBackward adds the shares up. PrepareBackward,
// before, makes row statistics and zeroes what needs it.
//
// | role       | warps   | registers | does                                                     |
// | ---------- | ------- | --------- | -------------------------------------------------------- |
// | schedule   | 0       | 32        | takes items, says what is to be done                     |
// | load keys  | 1       | 32        | one thread copies K and V: loaders.hpp                   |
// | load tiles | 2       | 32        | one thread copies tiles of Q, dO and their statistics    |
// | queries    | 4 to 7  | 64        | dQ = dS K, added up, handed over or written: query_group |
// | keys       | 8 to 15 | 208       | a warpgroup for each half of the keys: key_group.hpp     |
//
// Barrier graph:
//   schedule --work full--> load keys, load tiles, queries, keys --work empty--> schedule
//   load keys --k, v full--> keys, queries --k, v empty--> load keys
//   load tiles --tile full--> keys --tile empty--> load tiles
//   keys --ds full--> queries --ds empty--> keys
//
// SMEM at head_dim 128, 218 KiB: 2 blocks of K and V, 64 KiB each (dK and dV are staged there);
// 2 tiles of Q and of dO, 16 KiB each; dS 16 KiB; half a tile of dQ 8 KiB; statistics, work.
#pragma once

#include "kernels/backward/apart.hpp"
#include "kernels/backward/arguments.hpp"
#include "kernels/backward/key_group.hpp"
#include "kernels/backward/listed_visits.hpp"
#include "kernels/backward/loaders.hpp"
#include "kernels/backward/query_group.hpp"
#include "kernels/items.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

struct BackwardConfig {
  int head_dim = 128;  // of the tiles; tensors may have less
  int kv_slots = 2;
  int q_slots = 2;
  int ds_slots = 1;
  int dq_slots = 1;
  bool half = false;   // fp16 instead of bf16
  bool split = false;  // the warpgroups of keys share keys and split columns
};

/// For tensors of up to `head_dim` columns, 64, 128 or 256; `more`: scores bend or lists are gone
/// through, which takes registers.
constexpr BackwardConfig backward_config(int head_dim, bool half, bool more) {
  const bool wide = head_dim > 128;
  return {.head_dim = head_dim,
          .kv_slots = wide ? 1 : 2,
          .half = half,
          .split = wide || (more && head_dim > 64)};
}

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
  static constexpr int kKeys = (C.split ? 1 : kGroups) * kGroupKeys;
  static constexpr int kOutCols = C.head_dim / (C.split ? kGroups : 1);  // of dK and dV, a group
  static constexpr int kQueries = 64;
  static_assert(kQueries == kStatisticsRows, "a tile of queries has one tile of statistics");
  static constexpr int kThreads = 128 * (2 + kGroups);
  /// Lists take registers of the role `schedule`, and of the role `keys` what a split leaves.
  static constexpr int kProduceRegs = Mask::kListed ? 96 : 32;
  static constexpr int kKeyRegs = Mask::kListed ? 176 : 208;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;

  /// One block of keys, or with lists some visits of it: what every role needs to know.
  struct alignas(16) Work {
    int tiles;       // of queries, for each head; -1: there is no more work
    int first_tile;  // that is visited, but for lists
    int q_head;      // the first of the group
    int kv_head;
    int first_key;  // of the block, in its sequence
    int q_begin;
    int q_length;
    int kv_begin;
    int kv_length;
    int statistics;  // the sequence's first tile
    int out_begin;
    DqWay dq;
    int kept;  // the first tile of dq_kept that is the task's
    int part;  // of a block of keys: 1 the first, 2 the last, 3 both
    int sequence;
    int slot;  // of the ring
  };
  static constexpr int kWorkSlots = 3;

  /// With lists: the tiles of a piece of work, one a lane of the role that finds them.
  struct Visits {
    int tile[32];    // times 4, plus which halves of the keys the lists name
    int before[32];  // blocks of keys that add to the tile before
  };
  struct NoVisits {};

  using QTile = Tile<M, T, kQueries, C.head_dim>;
  using KvTile = Tile<M, T, kKeys, C.head_dim>;
  using DsTile = Tile<M, T, kGroups * kGroupKeys, kQueries>;  // split: twice the same
  using DqPart = Tile<M, T, kQueries, 64>;
  using RowTile = Tile<M, float, 1, kQueries, Swizzle::None>;
  using OutView = TileView<M, T, kGroupKeys, kOutCols, Swizzle::B128, kKeys>;
  struct Kv {
    KvTile k;
    KvTile v;
  };

  static constexpr int kKeyWarps = 4 * kGroups;
  static constexpr int kReaders = 2 + 4 + kKeyWarps;  // warps that read work
  static constexpr int kTileBytes = 2 * (sizeof(QTile) + sizeof(RowTile));
  struct Smem {
    Kv kv[C.kv_slots];
    QTile q[C.q_slots];
    QTile dout[C.q_slots];
    DsTile ds[C.ds_slots];
    DqPart dq[C.dq_slots];
    RowTile lse[C.q_slots];
    RowTile delta[C.q_slots];
    std::conditional_t<Mask::kListed, Visits, NoVisits> visits[kWorkSlots];
    Ring<M, "work", Work, kWorkSlots, By<OncePerWarp<1>>, FreedBy<OncePerWarp<kReaders>>> work;
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
    typename M::TensorMap q, dout, k, v, dq, dk, dv;
    const PlannedSequence* plan;
    int batch;
    int* ticket;
    int heads_kv;
    int heads_q;
    int head_dim;
    int group;   // query heads that share a key/value head
    int heads;   // of them that one piece of work covers
    int step;    // from tile to tile
    int shares;  // of a key/value head's items, with broadcast_q; else 0
    KeyShape shape;
    ListsByKeys lists;
    float* dq_sum;
    int* turns;
    float* dq_kept;
    int kept_tiles;  // of a task, with broadcast_q
    int* handed;
    const float* statistics;
    std::int64_t head_tiles;
    typename Mask::Params mask;
    typename Scores::Params scores;
    float slope;  // softmax_scale
  };

  /// Where a visit leads. NOTE [order]: all heads of a tile come before the next tile, and the last
  /// tile first: with a causal mask it is the one that all blocks of keys of a sequence see, so
  /// that those which start together find Q, dO and dq_sum of the same tiles in L2. Blocks that add
  /// in turn begin with their first tile, where a causal mask has them wait for nobody.
  struct Place {
    int tile;
    int head;  // of those of the work

    JFA_DEVICE void next(const Params& p) {
      if (++head < p.heads) return;
      head = 0;
      tile += p.step;
    }
  };

  static constexpr bool kAddsToKept = true;  // which must hold zeros before

  /// How the plan must cut sequences.
  static KeyShape item_shape(const BackwardArguments<T>& a) {
    const bool pairs = a.blocks > 1 && !a.broadcast() && !Mask::kListed;
    return {kKeys, kQueries, a.heads_q / a.heads_kv, pairs};
  }

  /// Tiles of dq_kept that a task has, with broadcast_q.
  static std::int64_t kept_tiles(const BackwardArguments<T>& a) {
    if (!a.broadcast()) return 0;
    return std::int64_t{(a.q_rows.rows + kQueries - 1) / kQueries} * (a.heads_q / a.heads_kv);
  }
  /// Elements of dq_kept.
  static std::int64_t kept_size(const BackwardArguments<T>& a) {
    const std::int64_t tiles = a.broadcast()         ? a.shares() * a.heads_kv * kept_tiles(a)
                               : item_shape(a).pairs ? a.blocks / 2 * kHandedTiles
                                                     : 0;
    return tiles * kQueries * C.head_dim;
  }

  static Params make_params(const BackwardArguments<T>& a) {
    const int group = a.heads_q / a.heads_kv;
    return {a.template map<M, typename QTile::View>(a.q, a.heads_q),
            a.template map<M, typename QTile::View>(a.dout, a.heads_q),
            a.template map<M, typename KvTile::View>(a.k, a.heads_kv),
            a.template map<M, typename KvTile::View>(a.v, a.heads_kv),
            a.template map<M, typename DqPart::View>(a.dq, a.heads_q),
            a.template map<M, OutView>(a.dk, a.heads_kv),
            a.template map<M, OutView>(a.dv, a.heads_kv),
            a.plan,
            a.batch,
            a.ticket,
            a.heads_kv,
            a.heads_q,
            a.head_dim,
            group,
            Mask::kListed ? 1 : group,
            Mask::kListed || a.turns != nullptr ? 1 : -1,
            a.broadcast() ? a.shares() : 0,
            item_shape(a),
            a.lists_by_keys,
            a.dq_sum,
            a.turns,
            a.dq_kept,
            static_cast<int>(kept_tiles(a)),
            a.handed,
            a.statistics,
            a.head_tiles(),
            Mask::Params::of(a.window, a.lists),
            Scores::Params::of(a.softmax_scale, a.softcap),
            static_cast<float>(a.softmax_scale)};
  }

  /// The tiles of queries that see some of the keys `first` to `last` - 1.
  static JFA_DEVICE Range tiles(const typename Mask::Params& mask, int first, int last,
                                Extent extent) {
    const Range rows = Mask::queries(mask, {first, last}, extent);
    if (rows.empty()) return {0, 0};
    return {rows.begin / kQueries, (rows.end + kQueries - 1) / kQueries};
  }

  /// The blocks of keys that a tile sees, but for lists.
  static JFA_DEVICE Range blocks(const typename Mask::Params& mask, int tile, Extent extent) {
    const std::int64_t first = std::int64_t{tile} * kQueries;
    const std::int64_t last =
        first + kQueries < extent.q_length ? first + kQueries : extent.q_length;
    const Range keys = Mask::some_keys(mask, {first, last}, extent);
    const std::int64_t begin = keys.begin < 0 ? 0 : keys.begin;
    return {begin / kKeys, (keys.end + kKeys - 1) / kKeys};
  }

  // ---- schedule

  static JFA_DEVICE Work describe(const Params& p, const PlannedSequence& s, int head, int block,
                                  DqWay dq, int kept) {
    const int first = block * kKeys;
    const int last = first + kKeys < s.kv_length ? first + kKeys : s.kv_length;
    const Range seen = tiles(p.mask, first, last, {s.q_length, s.kv_length});
    return {.tiles = static_cast<int>(seen.size()),
            .first_tile = static_cast<int>(p.step > 0 ? seen.begin : seen.end - 1),
            .q_head = head * p.group,
            .kv_head = head,
            .first_key = first,
            .q_begin = s.q_begin,
            .q_length = s.q_length,
            .kv_begin = s.kv_begin,
            .kv_length = s.kv_length,
            .statistics = static_cast<int>(first_statistics_tile(s.out_begin, s.index)),
            .out_begin = s.out_begin,
            .dq = dq,
            .kept = kept,
            .part = 3,
            .sequence = s.index,
            .slot = 0};
  }

  /// The first `leading` items, two for a head of a sequence, are dealt out to pairs of blocks of
  /// the grid. The partners change sides, since of a causal mask the first block of keys sees more.
  template <class Publish>
  static JFA_DEVICE void take_pairs(const Params& p, int leading, int& at, Publish publish) {
    const int step = M::grid_size() / 2 * 2;  // a last block of the grid may have no partner
    int block = M::block_index() % 2;
    for (int item = M::block_index() - block; M::block_index() < step && item < leading;
         item += step) {
      at = find_item<M>(p.plan, p.batch, p.heads_kv, at, item);
      const PlannedSequence s = M::load_global(&p.plan[at]);
      publish(describe(p, s, (item - s.first_item * p.heads_kv) / 2, block, DqWay::Pair, 0));
      block ^= 1;
    }
  }

  /// Then the most expensive first, by whichever block is free; where blocks add in turn, dealt out
  /// evenly, since an item in the queue of a busy block would hold up the others. The first go to
  /// blocks that have fewer of the items before.
  template <class Publish>
  static JFA_DEVICE void take_items(const Params& p, Publish publish) {
    const int leading = M::load_global(&p.plan[p.batch].items) * p.heads_kv;
    const int items = M::load_global(&p.plan[p.batch].first_item) * p.heads_kv;
    const bool in_turn = p.turns != nullptr;
    int at = 0;
    take_pairs(p, leading, at, publish);
    const int turn = M::block_index() - leading % M::grid_size();
    for (int item = leading + (turn < 0 ? turn + M::grid_size() : turn); item < items;) {
      const int ticket = !in_turn && M::lane() == 0 ? M::atomic_add(p.ticket, 1) : 0;
      at = find_item<M>(p.plan, p.batch, p.heads_kv, at, item);
      const PlannedSequence s = M::load_global(&p.plan[at]);
      const int in_sequence = item - s.first_item * p.heads_kv;
      const bool summed = Mask::kListed || p.shape.summed(s.kv_length);
      publish(describe(p, s, in_sequence / s.items, in_sequence % s.items,
                       summed ? DqWay::Sum : DqWay::Write, 0));
      item = in_turn ? item + M::grid_size() : leading + M::grid_size() + M::shuffle(ticket, 0);
    }
  }

  /// Each task is a fixed share of one head's items, in the order of the plan: its dQ, which no
  /// other block touches, comes out the same whatever else happens.
  template <class Publish>
  static JFA_DEVICE void take_tasks(const Params& p, Publish publish) {
    const std::int64_t items = M::load_global(&p.plan[p.batch].first_item);
    for_each_task<M>(items, p.shares, p.heads_kv, [&](int task, int first, int last) {
      int at = first < last ? search_item<M>(p.plan, p.batch, first) : 0;
      for (int item = first; item < last; ++item) {
        at = find_item<M>(p.plan, p.batch, 1, at, item);
        const PlannedSequence s = M::load_global(&p.plan[at]);
        publish(
            describe(p, s, task / p.shares, item - s.first_item, DqWay::Task, task * p.kept_tiles));
      }
    });
  }

  static JFA_DEVICE void schedule(const Params& p, Smem& smem) {
    auto w = smem.work.writer();
    const auto publish = [&](const Work& work) {
      smem.work.fill(w, [&](Work& slot) {
        if (M::lane() == 0) M::store_shared(&slot, work);
      });
    };
    const auto take = [&](auto found) {
      if (p.shares == 0) {
        take_items(p, found);
      } else {
        take_tasks(p, found);
      }
    };
    if constexpr (Mask::kListed) {
      take([&](const Work& block) {
        ListedVisits<BackwardByKeys, decltype(w)>{p, smem, w}.publish(block);
      });
    } else {
      take(publish);
    }
    Work end{};
    end.tiles = -1;
    publish(end);
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] {
      smem.work.init();
      smem.kv_ring.init();
      smem.tile_ring.init();
      smem.ds_ring.init();
    });
    warp_roles<M>(role<"produce", Warps{0, 4}, Regs{kProduceRegs}>([&] {
                    warp_roles<M>(role<"schedule", Warps{0, 1}>([&] { schedule(p, smem); }),
                                  role<"load keys", Warps{1, 1}>([&] {
                                    KeyLoader<BackwardByKeys>{p, smem}.run();
                                  }),
                                  role<"load tiles", Warps{2, 1}>([&] {
                                    TileLoader<BackwardByKeys>{p, smem}.run();
                                  }));
                  }),
                  role<"queries", Warps{4, 4}, Regs{64}>([&] {
                    QueryGroup<BackwardByKeys>{p, smem}.run();
                  }),
                  role<"keys", Warps{8, 8}, Regs{kKeyRegs}>([&] {
                    KeyGroup<BackwardByKeys> keys{p, smem, M::warp_index() / 4 - 2};
                    keys.run();
                  }));
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
