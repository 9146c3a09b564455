// Attention backward for one dense Q shared by all sequences of a jagged batch, for Hopper.
//
//   P = exp(S - lse), S = scores(q k^T), masked
//   dv = P^T dout;  dS = P (dout v^T - delta), by the score policy's slope;  dk = dS^T q;  dq = dS
//   k
//
// dQ is a sum over the whole batch. A task is a fixed share of one head's blocks of 64 keys, in the
// order of the plan; Q and dQ stay on chip over all of it. A block of keys meets all queries at
// once: its dK and dV are whole when it is done. FinishBackward adds the tasks' dQ in their order,
// so that no two writers meet and the result is always the same.
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
  bool half = false;  // fp16 instead of bf16
};

/// For tensors of up to `head_dim` columns, 64 or 128, and up to 64 or 128 `queries`.
constexpr BackwardByQueriesConfig by_queries_config(int head_dim, int queries, bool half) {
  const bool large = head_dim == 128 && queries == 128;
  return {.head_dim = head_dim, .queries = queries, .kv_slots = large ? 3 : 4, .half = half};
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
    int unused[2];
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
    float slope;  // softmax_scale
  };

  /// Whether this kernel takes a call: broadcast queries that fill its tiles of statistics, and as
  /// many heads of K and V as of Q.
  static bool takes(const BackwardArguments<T>& a) {
    return a.broadcast() && (a.q_rows.rows + kQueries - 1) / kQueries == kTiles &&
           a.heads_q == a.heads_kv && a.head_dim <= C.head_dim;
  }

  static constexpr bool kAddsToKept = false;
  using DqLayout = DqOfFragments;

  /// How the plan must cut sequences: an item is a block of keys.
  static KeyShape item_shape(const BackwardArguments<T>&) { return {kKeys, C.queries, 1, false}; }

  /// Tiles of dq_kept that a task has.
  static std::int64_t kept_tiles(const BackwardArguments<T>&) { return kTiles; }
  /// Elements of dq_kept.
  static std::int64_t kept_size(const BackwardArguments<T>& a) {
    return std::int64_t{a.shares()} * a.heads_kv * kTiles * kQueries * C.head_dim;
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
            static_cast<float>(a.softmax_scale)};
  }

  /// All queries meet every block of keys.
  static JFA_DEVICE Range tiles(const typename Mask::Params&, int, int, Extent extent) {
    return {0, (extent.q_length + kQueries - 1) / kQueries};
  }

  // ---- schedule

  static JFA_DEVICE void schedule(const Params& p, Smem& smem) {
    auto w = smem.work.writer();
    const auto found = [&](const Work& work) { publish<M>(smem.work, w, work); };
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

  static JFA_DEVICE void load_rows(const Params& p, Smem& smem) {
    auto q = smem.q_ring.writer();
    auto to = smem.rows_ring.writer();
    for_each_work<M>(smem.work, &Work::blocks, [&](const Work& work) {
      const int head = M::load_shared(&work.head);
      int at[5] = {0, head, kRaggedRows - p.q_rows, p.q_rows, kRaggedRows};
      if (M::load_shared(&work.first_of_task) != 0) {
        smem.q_ring.fill(q, [&](auto&, Mbarrier& full) { tma_load(full, smem.q, p.q, at); });
      }
      if (M::load_shared(&work.blocks) == 0) return;
      at[3] += M::load_shared(&work.out_begin);
      const float* rows =
          p.statistics + 2 * kQueries * (head * p.head_tiles + M::load_shared(&work.statistics));
      smem.rows_ring.fill(to, [&](auto&, Mbarrier& full) {
        tma_load(full, smem.dout[to.slot], p.dout, at);
        for (int tile = 0; tile < kTiles; ++tile, rows += 2 * kQueries) {
          constexpr std::uint32_t kBytes = kQueries * sizeof(float);
          M::bulk_load(smem.lse[to.slot].elements + tile * kQueries, rows, kBytes, &full);
          M::bulk_load(smem.delta[to.slot].elements + tile * kQueries, rows + kQueries, kBytes,
                       &full);
        }
      });
    });
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
