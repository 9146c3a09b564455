// What the backward kernels by keys of all chips share: their arguments, how the keys of a batch
// are cut into blocks and its queries into tiles that these visit, and the role `schedule`: it
// takes blocks of keys from a plan and says in Smem::work, one by one, what is to be done.
#pragma once

#include "kernels/backward/arguments.hpp"
#include "kernels/backward/listed_visits.hpp"
#include "kernels/items.hpp"

namespace jfa::inline JFA_BACKEND {

struct BackwardConfig {
  int head_dim = 128;  // of the tiles; tensors may have less
  int queries = 64;    // a tile
  int kv_slots = 2;
  int q_slots = 2;
  int ds_slots = 1;
  int dq_slots = 1;
  bool half = false;   // fp16 instead of bf16
  bool split = false;  // the warpgroups of keys share keys and split columns
};

/// What becomes of a tile's dQ.
enum class DqWay : int {
  Write,  // it is whole: written to dq
  Sum,    // added to dq_sum, as other blocks of the grid do
  Pair,   // whole, or handed over to the block's partner, or gone on with and written
  Task,   // kept in dq_kept, for the sum over tasks
};

/// How a kernel cuts keys and queries, and the part of dK and dV that one copy writes.
struct KeyBlocksShape {
  int keys;  // a block
  int out_rows;
  int out_cols;
  int dq_rows = 64;   // a copy of dQ
  bool pairs = true;  // partners work on sequences of two blocks of keys: partners.hpp
  bool makes_dq = true;
  bool turns = false;  // blocks of keys that visit a tile can add to its dQ one after another
};

/// For tensors of up to `head_dim` columns, 64, 128 or 256; `more`: scores bend or lists are gone
/// through, which takes registers.
constexpr BackwardConfig backward_config(int head_dim, bool half, bool more) {
  const bool wide = head_dim > 128;
  const bool tall = head_dim == 64 && !more;
  return {.head_dim = head_dim,
          .queries = tall ? 128 : 64,
          .kv_slots = wide ? 1 : 2,
          .ds_slots = tall ? 2 : 1,
          .dq_slots = head_dim > 64 ? 1 : 2,
          .half = half,
          .split = wide || (more && head_dim > 64)};
}

/// For long sequences, head_dim 65 to 128: whose blocks of keys see so many tiles that memory is
/// better spent on what goes by tiles than on the next block's K and V.
constexpr BackwardConfig long_backward_config(bool half) {
  return {.kv_slots = 1, .q_slots = 3, .ds_slots = 2, .dq_slots = 2, .half = half};
}

template <BackwardConfig C, bool MakesDq>
inline constexpr KeyBlocksShape kHopperKeyBlocks = {
    .keys = C.split ? 64 : 128,
    .out_rows = 64,
    .out_cols = C.split ? C.head_dim / 2 : C.head_dim,
    .pairs = MakesDq && !C.split,
    .makes_dq = MakesDq};

template <class Machine, BackwardConfig Config, template <class> class MaskPolicy,
          template <class> class ScorePolicy, KeyBlocksShape Shape>
struct KeyBlocks {
  using M = Machine;
  static constexpr BackwardConfig C = Config;
  using Mask = MaskPolicy<M>;
  using Scores = ScorePolicy<M>;
  using T = std::conditional_t<C.half, fp16, bf16>;

  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kKeys = Shape.keys;
  static constexpr int kQueries = C.queries;
  static_assert(kQueries % kStatisticsRows == 0, "tiles of statistics fill a tile of queries");

  using QTile = Tile<M, T, kQueries, C.head_dim>;
  using KvTile = Tile<M, T, kKeys, C.head_dim>;
  using DqPart = Tile<M, T, Shape.dq_rows, 64>;
  using RowStatistics = Tile<M, float, 1, kQueries, Swizzle::None>;  // lse or delta of a tile
  using OutView = TileView<M, T, Shape.out_rows, Shape.out_cols, Swizzle::B128, kKeys>;

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
  static constexpr int kWorkSlots = C.kv_slots + 1;
  /// Where blocks of keys take long, or some much longer than others.
  static constexpr bool kDrawsLate = C.kv_slots == 1 || !Mask::kSharesKeys;

  /// With lists: the tiles of a piece of work, one a lane of the role that finds them.
  struct ListedTiles {
    int tile[32];    // times kNames, plus what lists name
    int before[32];  // blocks of keys that add to the tile before
  };
  /// A bit for each 64 queries of a tile and half of a block's keys.
  static constexpr int kNames = 1 << 2 * (kQueries / 64);
  struct NoTiles {};
  using Visits = std::conditional_t<Mask::kListed, ListedTiles, NoTiles>;

  struct Params {
    typename M::TensorMap q, dout, k, v, dq, dk, dv;
    const PlannedSequence* plan;
    int batch;
    int* ticket;
    int heads_kv;
    int heads_q;
    int head_dim;
    int q_rows;
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
  using BlockParams = Params;  // a kernel's may have more

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

  /// Whether a piece of work is its block's first, or last.
  static JFA_DEVICE bool begins_block(const Work& work) {
    return !Mask::kListed || known<M>(work.part) % 2 != 0;
  }
  static JFA_DEVICE bool ends_block(const Work& work) {
    return !Mask::kListed || known<M>(work.part) >= 2;
  }
  /// With lists, what ListedTiles say of a visit.
  static JFA_DEVICE int listed_visit(const auto& smem, const Work& work, int visit) {
    return known<M>(smem.visits[known<M>(work.slot)].tile[visit]);
  }

  /// Whether the block has more than its first 64 keys: other warpgroups' keys are passed by.
  static JFA_DEVICE bool has_second_half(const Work& work) {
    return kKeys > 64 && known<M>(work.first_key) + 64 < known<M>(work.kv_length);
  }

  /// Of the block's tiles those that see a half of its keys, in the order of visits.
  static JFA_DEVICE Range half_tiles(const Params& p, const Work& work, int half) {
    const int first_tile = known<M>(work.first_tile);
    const int first = known<M>(work.first_key) + 64 * half;
    const int q_length = known<M>(work.q_length);
    const int kv_length = known<M>(work.kv_length);
    if (first >= kv_length) return {0, 0};
    const int last = first + 64 < kv_length ? first + 64 : kv_length;
    const Range own = tiles(p.mask, first, last, {q_length, kv_length});
    if (own.empty()) return {0, 0};
    const std::int64_t begin = p.step > 0 ? own.begin - first_tile : first_tile + 1 - own.end;
    return {begin, begin + own.size()};
  }

  static constexpr bool kTurns = Shape.turns;
  static constexpr bool kMakesDq = Shape.makes_dq;
  static constexpr bool kPairs = Shape.pairs && !Mask::kListed;
  static constexpr bool kAddsToKept = true;  // which must hold zeros before
  static constexpr bool kFew = false;        // takes all sequences that it is given

  /// How the plan must cut sequences.
  static KeyShape item_shape(const BackwardArguments<T>& a) {
    const bool pairs = kPairs && a.blocks > 1 && !a.broadcast();
    return {kKeys, kQueries, a.heads_q / a.heads_kv, pairs, kPairs ? 0 : a.few_queries};
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
            a.q_rows.rows,
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

  /// The same of a work's tile.
  static JFA_DEVICE Range blocks(const Params& p, const Work& work, int tile) {
    return blocks(p.mask, tile, {known<M>(work.q_length), known<M>(work.kv_length)});
  }
  static JFA_DEVICE DqWay way(const Work& work) {
    return static_cast<DqWay>(M::uniform(static_cast<int>(M::load_shared(&work.dq))));
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
            .dq = Shape.makes_dq ? dq : DqWay::Write,
            .kept = Shape.makes_dq ? kept : 0,
            .part = 3,
            .sequence = s.index,
            .slot = 0};
  }
  struct BlockPlace {
    int head;
    int block;
  };

  /// The head and block of keys of a sequence's item `i`. Under a causal mask the first blocks are
  /// the most expensive: the cheaper half of blocks comes after the dearer half of all heads, and
  /// so on, since few blocks of the grid work on what comes last.
  static JFA_DEVICE BlockPlace place_of(const Params& p, const PlannedSequence& s, int i) {
    int first = 0;
    int last = s.items;
    if constexpr (!Mask::kSharesKeys) {
      for (last = (s.items + 1) / 2; i >= (last - first) * p.heads_kv;) {
        i -= (last - first) * p.heads_kv;
        first = last;
        last += (s.items - first + 1) / 2;
      }
    }
    const int blocks = last - first;
    return {i / blocks, first + i % blocks};
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
  static JFA_DEVICE void take_items(const Params& p, auto& work, const auto& w, auto publish) {
    // Sequences that lead are pairs', or of few queries, which another kernel takes.
    const bool leads = kPairs ? p.shape.pairs : p.shape.few_queries > 0;
    const int leading = leads ? M::load_global(&p.plan[p.batch].items) * p.heads_kv : 0;
    const int items = M::load_global(&p.plan[p.batch].first_item) * p.heads_kv;
    const bool in_turn = kTurns && p.turns != nullptr;
    int at = 0;
    if constexpr (kPairs) {
      if (leads) take_pairs(p, leading, at, publish);
    } else if (leads && leading < items) {
      at = search_item<M>(p.plan, p.batch, leading / p.heads_kv);
    }
    const int turn = M::block_index() - leading % M::grid_size();
    for (int item = leading + (turn < 0 ? turn + M::grid_size() : turn); item < items;) {
      int ticket = kDrawsLate || in_turn ? 0 : draw<M>(p.ticket);
      at = find_item<M>(p.plan, p.batch, p.heads_kv, at, item);
      const PlannedSequence s = M::load_global(&p.plan[at]);
      const BlockPlace place = place_of(p, s, item - s.first_item * p.heads_kv);
      const bool summed = Mask::kListed || p.shape.summed(s.kv_length);
      publish(describe(p, s, place.head, place.block, summed ? DqWay::Sum : DqWay::Write, 0));
      if (kDrawsLate && !in_turn) ticket = draw_late<M>(work, w, p.ticket);
      item = in_turn ? item + M::grid_size() : leading + M::grid_size() + M::shuffle(ticket, 0);
    }
  }

  static constexpr int kTeam = 8;

  /// Each task is a fixed share of one head's items: its dQ, which no other block touches, comes
  /// out the same whatever else happens. In a team, blocks of keys of one sequence are worked on at
  /// once and find its dO in L2, which the tasks' dQ nearly fill.
  template <class Publish>
  static JFA_DEVICE void take_tasks(const Params& p, Publish publish) {
    const std::int64_t items = M::load_global(&p.plan[p.batch].first_item);
    const auto take = [&](int task, int first, int last, int step) {
      int at = first < last ? search_item<M>(p.plan, p.batch, first) : 0;
      for (int item = first; item < last; item += step) {
        at = find_item<M>(p.plan, p.batch, 1, at, item);
        const PlannedSequence s = M::load_global(&p.plan[at]);
        publish(
            describe(p, s, task / p.shares, item - s.first_item, DqWay::Task, task * p.kept_tiles));
      }
    };
    for_each_task<M>(items, p.shares, p.heads_kv, kTeam, take);
  }

  /// `K` is the kernel, derived from this.
  template <class K>
  static JFA_DEVICE void schedule(const Params& p, typename K::Smem& smem) {
    auto w = smem.work.writer();
    const auto found = [&](const Work& block) {
      if constexpr (Mask::kListed) ListedVisits<K, decltype(w)>{p, smem, w}.publish(block);
      if constexpr (!Mask::kListed) publish<M>(smem.work, w, block);
    };
    if (!Shape.makes_dq || p.shares == 0) {
      take_items(p, smem.work, w, found);
    } else {
      take_tasks(p, found);
    }
    Work end{};
    end.tiles = -1;
    publish<M>(smem.work, w, end);
  }
};

}  // namespace jfa::inline JFA_BACKEND
