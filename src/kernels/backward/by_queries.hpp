// Attention backward for queries that stay on chip while keys stream past, for Hopper: one dense Q
// shared by all sequences of a jagged batch, or each sequence's own, if they are few.
//
//   P = exp(S - lse), S = scores(q k^T), masked
//   dv = P^T dout;  dS = P (dout v^T - delta), by the score policy's slope
//   dk = dS^T q;  dq = dS k
//
// Q and dQ stay on chip over a task. A block of 64 keys meets all queries at once: its dK and dV
// are whole when it is done. No two writers meet, so that the result is always the same.
//   Shared: a task is a fixed share of one head's blocks of keys, in the order of the plan. dQ is a
//   sum over the whole batch: FinishBackward adds the tasks' in their order.
//   A sequence's own: a task is all its keys, for one head. Sequences of few queries lead the plan;
//   those of more are BackwardOfQueries' and BackwardOfKeys'.
//
// | role      | warps   | registers | does                                                      |
// | --------- | ------- | --------- | --------------------------------------------------------- |
// | schedule  | 0       | 32        | cuts tasks into stretches of one sequence's blocks        |
// | load keys | 1       | 32        | one thread copies K and V                                 |
// | load rows | 2       | 32        | one thread copies Q of a task, dO and statistics          |
// | queries   | 4 to 7  | 160       | dQ += dS K                                                |
// | keys      | 8 to 15 | 160       | two warpgroups, every other block each: stationary_keys.hpp |
//
// Barrier graph:
//   schedule --work full--> load keys, load rows, queries, keys --work empty--> schedule
//   load rows --q full--> keys --q empty--> load rows
//   load rows --rows full--> keys --rows empty--> load rows
//   load keys --k, v full--> keys --ds--> queries --k, v empty--> load keys
//
// SMEM at head_dim 128 and 128 queries, 226 KiB: 3 blocks of K and V, 32 KiB each (dS takes V's
// place); Q 32 KiB; 2 of dO, 32 KiB each; a 16 KiB stage for dV and dK of each warpgroup.
#pragma once

#include "kernels/backward/arguments.hpp"
#include "kernels/backward/stationary_keys.hpp"
#include "kernels/backward/stationary_queries.hpp"
#include "kernels/items.hpp"

namespace jfa::inline JFA_BACKEND {

struct BackwardByQueriesConfig {
  int head_dim = 128;  // of the tiles; tensors may have less
  int queries = 128;   // at most, and more than 64 less
  int kv_slots = 3;
  int rows_slots = 2;
  bool half = false;   // fp16 instead of bf16
  bool shared = true;  // one Q for all sequences; else each has its own
};

/// For tensors of up to `head_dim` columns, 64 or 128, and up to 64 or 128 `queries`.
constexpr BackwardByQueriesConfig by_queries_config(int head_dim, int queries, bool half,
                                                    bool shared = true) {
  const bool large = head_dim == 128 && queries == 128;
  return {.head_dim = head_dim,
          .queries = queries,
          .kv_slots = large ? 3 : 4,
          .half = half,
          .shared = shared};
}

template <class Machine, BackwardByQueriesConfig Config, template <class> class MaskPolicy = NoMask,
          template <class> class ScorePolicy = ScaledScores>
struct BackwardByQueries {
  using M = Machine;
  static constexpr BackwardByQueriesConfig C = Config;
  using Mask = MaskPolicy<M>;
  using Scores = ScorePolicy<M>;
  using T = std::conditional_t<C.half, fp16, bf16>;

  static constexpr int kKeys = 64;
  static constexpr int kQueries = 64;  // of a tile of statistics and of a kept tile of dQ
  static constexpr int kTiles = C.queries / kQueries;
  static_assert(kQueries == kStatisticsRows && C.queries % kQueries == 0, "whole tiles of queries");
  static constexpr int kThreads = 512;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;

  /// Neighbouring blocks of keys of one sequence: what every role needs to know of them.
  struct alignas(16) Work {
    int blocks;  // 0 in a task without keys; -1: there is no more work
    int first_key;
    int head;
    int kv_begin;
    int kv_length;
    int out_begin;
    int statistics;  // the sequence's first tile
    int task;
    int first_of_task;
    int last_of_task;
    int q_begin;  // of the sequence's own queries
    int q_length;
  };

  static constexpr int kWide = C.head_dim > C.queries ? C.head_dim : C.queries;
  using KTile = Tile<M, T, kKeys, C.head_dim>;
  using VTile = Tile<M, T, kKeys, kWide>;  // V, then dS^T
  using RowsTile = Tile<M, T, C.queries, C.head_dim>;
  using Statistics = Tile<M, float, 1, C.queries, Swizzle::None>;
  struct Kv {
    KTile k;
    VTile v;
  };

  using DsGate = Gate<M, "ds", By<OncePerWarp<4>>>;

  static constexpr int kKeyWarps = 8;
  static constexpr int kReaders = 2 + 4 + kKeyWarps;  // warps that read work
  static constexpr int kRowsBytes = sizeof(RowsTile) + 2 * sizeof(Statistics);
  struct Smem {
    Kv kv[C.kv_slots];
    RowsTile q;
    RowsTile dout[C.rows_slots];
    KTile stage[2];
    Statistics lse[C.rows_slots];
    Statistics delta[C.rows_slots];
    Ring<M, "work", Work, 3, By<OncePerWarp<1>>, FreedBy<OncePerWarp<kReaders>>> work;
    Ring<M, "k, v", Apart<2 * sizeof(KTile)>, C.kv_slots, By<Tma>,
         FreedBy<OncePerWarp<4 + kKeyWarps>>>
        kv_ring;
    Ring<M, "q", Apart<sizeof(RowsTile)>, 1, By<Tma>, FreedBy<OncePerWarp<kKeyWarps>>> q_ring;
    Ring<M, "rows", Apart<kRowsBytes>, C.rows_slots, By<Tma>, FreedBy<OncePerWarp<kKeyWarps>>>
        rows_ring;
    DsGate ds[C.kv_slots];
  };
  using Ids = BarrierIds<"first keys", "second keys">;

  struct Params {
    typename M::TensorMap q, dout, k, v, dk, dv;
    const PlannedSequence* plan;
    int batch;
    int q_rows;
    int heads;
    int shares;  // of a head's items
    float* dq_kept;
    int kept_tiles;  // of a task
    const float* statistics;
    std::int64_t head_tiles;
    typename Mask::Params mask;
    typename Scores::Params scores;
    float slope;   // softmax_scale
    Matrix<T> dq;  // written where queries are not shared
    int head_dim;
    int* ticket;
  };

  static constexpr bool kAddsToKept = false;
  static constexpr bool kFew = !C.shared;  // takes sequences of few queries only
  using DqLayout = DqOfFragments;

  /// How the plan must cut sequences: an item is a block of keys, or a sequence of few queries.
  static KeyShape item_shape(const BackwardArguments<T>&) {
    return {kKeys, C.queries, 1, false, kFew ? C.queries : 0};
  }

  /// Tiles of dq_kept that a task has.
  static std::int64_t kept_tiles(const BackwardArguments<T>&) { return kFew ? 0 : kTiles; }
  /// Elements of dq_kept.
  static std::int64_t kept_size(const BackwardArguments<T>& a) {
    return a.shares() * a.heads_kv * kept_tiles(a) * kQueries * C.head_dim;
  }

  static Params make_params(const BackwardArguments<T>& a) {
    return {a.template map<M, typename RowsTile::View>(a.q, a.heads_q),
            a.template map<M, typename RowsTile::View>(a.dout, a.heads_q),
            a.template map<M, typename KTile::View>(a.k, a.heads_kv),
            a.template map<M, typename KTile::View>(a.v, a.heads_kv),
            a.template map<M, typename KTile::View>(a.dk, a.heads_kv),
            a.template map<M, typename KTile::View>(a.dv, a.heads_kv),
            a.plan,
            a.batch,
            a.q_rows.rows,
            a.heads_kv,
            a.shares(),
            a.dq_kept,
            kTiles,
            a.statistics,
            a.head_tiles(),
            Mask::Params::of(a.window),
            Scores::Params::of(a.softmax_scale, a.softcap),
            static_cast<float>(a.softmax_scale),
            a.dq,
            a.head_dim,
            a.ticket};
  }

  /// How many queries meet the work's keys.
  static JFA_DEVICE int q_length(const Params& p, const Work& work) {
    if constexpr (C.shared) return p.q_rows;
    return known<M>(work.q_length);
  }

  /// All queries meet every block of keys.
  static JFA_DEVICE Range tiles(const typename Mask::Params&, int, int, Extent extent) {
    return {0, (extent.q_length + kQueries - 1) / kQueries};
  }

  // ---- schedule

  /// Tasks of shared queries: a fixed share of a head's items each.
  static JFA_DEVICE void take_shares(const Params& p, auto found) {
    const std::int64_t items = M::load_global(&p.plan[p.batch].first_item);
    for_each_task<M>(items, p.shares, p.heads, 1, [&](int task, int first, int last, int) {
      Work work{};
      work.head = task / p.shares;
      work.task = task;
      work.first_of_task = 1;
      int at = first < last ? search_item<M>(p.plan, p.batch, first) : 0;
      for (int item = first; item < last; item += work.blocks) {
        at = find_item<M>(p.plan, p.batch, 1, at, item);
        const PlannedSequence s = M::load_global(&p.plan[at]);
        const int left = s.first_item + s.items - item;
        if (item > first) work.first_of_task = 0;
        work.blocks = left < last - item ? left : last - item;
        work.first_key = (item - s.first_item) * kKeys;
        work.kv_begin = s.kv_begin;
        work.kv_length = s.kv_length;
        work.out_begin = s.out_begin;
        work.statistics = static_cast<int>(first_statistics_tile(s.out_begin, s.index));
        work.last_of_task = item + work.blocks == last ? 1 : 0;
        found(work);
      }
      if (first == last) {
        work.last_of_task = 1;
        found(work);
      }
    });
  }

  /// Tasks of a sequence's own queries: the most expensive first, by whichever block is free.
  static JFA_DEVICE void take_sequences(const Params& p, auto found) {
    const int items = M::load_global(&p.plan[p.batch].items) * p.heads;
    int at = 0;
    for (int item = M::block_index(); item < items;) {
      const int ticket = draw<M>(p.ticket);
      at = find_item<M>(p.plan, p.batch, p.heads, at, item);
      const PlannedSequence s = M::load_global(&p.plan[at]);
      found(Work{.blocks = (s.kv_length + kKeys - 1) / kKeys,
                 .first_key = 0,
                 .head = item - s.first_item * p.heads,
                 .kv_begin = s.kv_begin,
                 .kv_length = s.kv_length,
                 .out_begin = s.out_begin,
                 .statistics = static_cast<int>(first_statistics_tile(s.out_begin, s.index)),
                 .task = 0,
                 .first_of_task = 1,
                 .last_of_task = 1,
                 .q_begin = s.q_begin,
                 .q_length = s.q_length});
      item = M::grid_size() + M::shuffle(ticket, 0);
    }
  }

  static JFA_DEVICE void schedule(const Params& p, Smem& smem) {
    auto w = smem.work.writer();
    const auto found = [&](const Work& work) { publish<M>(smem.work, w, work); };
    if constexpr (C.shared) {
      take_shares(p, found);
    } else {
      take_sequences(p, found);
    }
    Work end{};
    end.blocks = -1;
    found(end);
  }

  // ---- load

  static JFA_DEVICE void load_keys(const Params& p, Smem& smem) {
    auto kv = smem.kv_ring.writer();
    for_each_work<M>(smem.work, &Work::blocks, [&](const Work& work) {
      const RaggedRows keys{M::load_shared(&work.kv_begin), M::load_shared(&work.kv_length)};
      int at[5] = {0, M::load_shared(&work.head), keys.at(M::load_shared(&work.first_key)),
                   keys.end(), kRaggedRows};
      for (int left = M::load_shared(&work.blocks); left > 0; --left) {
        smem.kv_ring.fill(kv, [&](auto&, Mbarrier& full) {
          tma_load(full, smem.kv[kv.slot].k, p.k, at);
          tma_load(full, values(smem, kv.slot), p.v, at);
        });
        at[2] += kKeys;
      }
    });
  }

  /// dO and statistics first, which have a place while the task before goes on. What is read of the
  /// work is in no register between copies: the role has few.
  static JFA_DEVICE void load_rows(const Params& p, Smem& smem) {
    auto q = smem.q_ring.writer();
    auto to = smem.rows_ring.writer();
    for_each_work<M>(smem.work, &Work::blocks, [&](const Work& work) {
      const auto load = [&](Mbarrier& full, RowsTile& tile, const auto& map, int begin) {
        const RaggedRows rows{begin, C.shared ? p.q_rows : M::load_shared(&work.q_length)};
        tma_load(full, tile, map,
                 {0, M::load_shared(&work.head), rows.at(0), rows.end(), kRaggedRows});
      };
      if (M::load_shared(&work.blocks) > 0) {
        smem.rows_ring.fill(to, [&](auto&, Mbarrier& full) {
          load(full, smem.dout[to.slot], p.dout, M::load_shared(&work.out_begin));
          load_row_statistics(p, work, full, smem.lse[to.slot], smem.delta[to.slot]);
        });
      }
      if (M::load_shared(&work.first_of_task) == 0) return;
      smem.q_ring.fill(q, [&](auto&, Mbarrier& full) {
        load(full, smem.q, p.q, C.shared ? 0 : M::load_shared(&work.q_begin));
      });
    });
  }
  static JFA_DEVICE void load_row_statistics(const Params& p, const Work& work, Mbarrier& full,
                                             Statistics& lse, Statistics& delta) {
    const std::int64_t tile =
        M::load_shared(&work.head) * p.head_tiles + M::load_shared(&work.statistics);
    load_statistics<M, C.queries>(
        p.statistics + 2 * kQueries * tile, [&](int row) { return lse.elements + row; },
        [&](int row) { return delta.elements + row; }, full,
        [&](int row) { return C.shared || row < M::load_shared(&work.q_length); });
  }

  // ---- tiles

  static JFA_DEVICE auto values(Smem& smem, int slot) {
    return smem.kv[slot].v.view().template cols<C.head_dim>(0);
  }
  static JFA_DEVICE auto slopes(Smem& smem, int slot) {  // dS^T
    return smem.kv[slot].v.view().template cols<C.queries>(0);
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>(
        [&] { init_each(smem.work, smem.kv_ring, smem.q_ring, smem.rows_ring, smem.ds); });
    warp_roles<M>(role<"produce", Warps{0, 4}, Regs{32}>([&] {
                    warp_roles<M>(role<"schedule", Warps{0, 1}>([&] { schedule(p, smem); }),
                                  role<"load keys", Warps{1, 1}>([&] { load_keys(p, smem); }),
                                  role<"load rows", Warps{2, 1}>([&] { load_rows(p, smem); }));
                  }),
                  role<"queries", Warps{4, 4}, Regs{160}>([&] {
                    StationaryQueries<BackwardByQueries>{p, smem}.run();
                  }),
                  role<"keys", Warps{8, 8}, Regs{160}>([&] {
                    StationaryKeys<BackwardByQueries>{p, smem, M::warp_index() / 4 - 2}.run();
                  }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
