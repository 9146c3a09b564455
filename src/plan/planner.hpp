// Makes a plan from offsets and lengths in device memory, no host involved.
//
//   plan[i]: sequences, stably sorted by the cost of their items (in buckets of half an octave,
//   most expensive first; those that lead have the first buckets), with the running number of items
//   before each; then the end, with that of all and of those that lead.
//
// Each block sorts a tile of kPlannedTile neighbours of the batch:
//
// | step | all threads                                                                 |
// | ---- | --------------------------------------------------------------------------- |
// | 1    | read sequences, count those of each bucket among every 32 neighbours        |
// | 2    | running sum of counts, bucket by bucket and 32 by 32: places in the tile     |
// | 3    | numbers of items to these places, and their running sum                     |
// | 4    | write sequences to their places, shifted by what other tiles hold before    |
//
// A batch of several tiles takes a launch before, `counting`, which ends with step 3 and leaves
// where each bucket starts in each tile.
// SMEM: a count or number of items for each sequence, a total for each warp, shifts.
#pragma once

#include "plan/device_indices.hpp"
#include "plan/schedule.hpp"

namespace jfa::inline JFA_BACKEND {

template <class Shape>
struct PlannerParams {
  DeviceRows q;  // its offsets have no data with broadcast_q
  DeviceRows kv;
  int batch;
  Shape shape;
  PlannedSequence* plan;      // [plan_records(batch)]
  int block_q = 0;            // queries a block of a block-sparse mask
  int* block_rows = nullptr;  // [batch]: blocks of queries before each sequence; null: not wanted
  bool counting = false;
};

/// How many bits are set. (The library's function is no device function.)
JFA_DEVICE int count_bits(std::uint32_t x) {
  x -= x >> 1 & 0x55555555;
  x = (x & 0x33333333) + (x >> 2 & 0x33333333);
  return static_cast<int>(((x + (x >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24);
}

/// `Shape` says how sequences are cut into items and what one costs.
template <class M, class Shape = ItemShape, int Threads = 256>
struct Planner {
  static constexpr int kThreads = Threads;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kBuckets = kPlannedBuckets;
  static constexpr int kTile = kPlannedTile;
  static constexpr int kEach = kTile / kThreads;  // sequences a thread
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kGroups = kTile / 32;  // of neighbours, each seen by one warp at once
  static_assert(kTile % kThreads == 0 && kBuckets == 32, "a lane counts a bucket of its warp");

  using Params = PlannerParams<Shape>;
  /// A value for each sequence of the tile, and their sum once they are summed up. A gap behind
  /// every 32 spreads values 32 apart over banks.
  struct Values {
    Tile<M, int, 1, kTile + kTile / 32 + 1, Swizzle::None> tile;

    JFA_DEVICE int get(int i) { return tile.view().load(0, i + i / 32).values[0]; }
    JFA_DEVICE void set(int i, int value) { tile.view().store(0, i + i / 32, {{value}}); }
  };
  struct Smem {
    Values counts;  // of bucket b in group g: b * kGroups + g
    Values items;
    Tile<M, int, 1, kWarps, Swizzle::None> totals;
    BucketStart shifts[kBuckets];
  };

  static JFA_DEVICE PlannedSequence sequence(const Params& p, int b) {
    const DeviceRows::Place kv = p.kv.template of<M>(b);
    const bool broadcast = p.q.offsets.data == nullptr;
    const DeviceRows::Place q =
        broadcast ? DeviceRows::Place{0, p.q.rows, p.q.rows} : p.q.template of<M>(b);
    const int out_begin = broadcast ? b * p.q.rows : q.begin;
    return {
        q.begin, q.length, kv.begin, kv.length, out_begin, 0, p.shape.items(q.length, kv.length),
        b};
  }

  /// Those past the batch are empty and last; the first of them ends the plan.
  static JFA_DEVICE int bucket(const Params& p, const PlannedSequence& s, int b) {
    if (b >= p.batch) return kBuckets - 1;
    const int halves = half_octaves(1 + p.shape.cost(s.q_length, s.kv_length));
    const bool leads = p.shape.leads(s.q_length, s.kv_length);
    const int dearest = leads ? 0 : Shape::kLeadingBuckets;
    const int cheapest = (leads ? Shape::kLeadingBuckets : kBuckets) - 1;
    return cheapest - halves > dearest ? cheapest - halves : dearest;
  }

  static JFA_DEVICE int sum_of_warp(int x) {
    for (int step = 1; step < 32; step *= 2) x += M::shuffle_xor(x, step);
    return x;
  }

  /// Turns values into the sums of those before each.
  static JFA_DEVICE void sum_up(Smem& smem, Values& values) {
    M::sync_block();
    const int first = M::thread_index() * kEach;
    int mine = 0;
    for (int i = 0; i < kEach; ++i) mine += values.get(first + i);
    int sum = mine;
    for (int step = 1; step < 32; step *= 2) {
      const int other = M::shuffle(sum, M::lane() >= step ? M::lane() - step : M::lane());
      if (M::lane() >= step) sum += other;
    }
    const int warp = M::warp_index();
    if (M::lane() == 31) smem.totals.view().store(0, warp, {{sum}});
    M::sync_block();
    const bool before = M::lane() < warp;
    sum += sum_of_warp(before ? smem.totals.view().load(0, M::lane()).values[0] : 0) - mine;
    for (int i = 0; i < kEach; ++i) {
      const int value = values.get(first + i);
      values.set(first + i, sum);
      sum += value;
    }
    if (first + kEach == kTile) values.set(kTile, sum);
    M::sync_block();
  }

  /// Where bucket b starts in each tile, is row b of a table; row kBuckets is the ends.
  static JFA_DEVICE BucketStart* starts(const Params& p, int bucket) {
    return reinterpret_cast<BucketStart*>(p.plan + p.batch + 1) + bucket * M::grid_size();
  }

  static JFA_DEVICE void leave_starts(const Params& p, Smem& smem, int block_rows) {
    for (int bucket = M::thread_index(); bucket <= kBuckets; bucket += kThreads) {
      const int place = smem.counts.get(bucket * kGroups);
      const int rows = bucket == kBuckets ? block_rows : 0;
      M::store_global(starts(p, bucket) + M::block_index(),
                      BucketStart{place, smem.items.get(place), rows});
    }
  }

  /// What lies before the tile's part of a bucket less what of it is the tile's own: all to the end
  /// of the bucket in tiles before, all to its start in tiles behind. Row blocks: of tiles before.
  static JFA_DEVICE void find_shifts(const Params& p, Smem& smem) {
    for (int bucket = M::warp_index(); bucket < kBuckets; bucket += kWarps) {
      BucketStart sum{};
      for (int tile = M::lane(); tile < M::grid_size(); tile += 32) {
        if (tile == M::block_index()) continue;
        const int row = tile < M::block_index() ? bucket + 1 : bucket;
        const BucketStart start = M::load_global(starts(p, row) + tile);
        sum.place += start.place;
        sum.item += start.item;
        sum.block_row += start.block_row;
      }
      sum = {sum_of_warp(sum.place), sum_of_warp(sum.item), sum_of_warp(sum.block_row)};
      if (M::lane() == 0) M::store_shared(&smem.shifts[bucket], sum);
    }
  }

  static JFA_DEVICE BucketStart shift_of(Smem& smem, int bucket) {
    return M::grid_size() > 1 ? M::load_shared(&smem.shifts[bucket]) : BucketStart{};
  }

  /// Items of the sequences that lead, of all tiles. Called in the last, which the end lies in.
  static JFA_DEVICE int leading_items(Smem& smem) {
    constexpr int kLast = Shape::kLeadingBuckets - 1;
    if constexpr (kLast < 0) return 0;
    return smem.items.get(smem.counts.get((kLast + 1) * kGroups)) + shift_of(smem, kLast).item;
  }

  /// What one thread holds: of each group g = i * kWarps + warp of neighbours, one sequence.
  struct Mine {
    PlannedSequence sequence[kEach];
    int bucket[kEach];
    int place[kEach];

    static JFA_DEVICE int in_tile(int i) { return i * kThreads + M::thread_index(); }
    static JFA_DEVICE int in_batch(int i) { return M::block_index() * kTile + in_tile(i); }
  };

  /// Running sum of blocks of queries, in the order of the batch. Gives that of the tile.
  static JFA_DEVICE int count_block_rows(const Params& p, Smem& smem, const Mine& mine) {
    JFA_UNROLL
    for (int i = 0; i < kEach; ++i) {
      const int rows = mine.sequence[i].q_length;
      smem.items.set(Mine::in_tile(i), rows / p.block_q + (rows % p.block_q != 0 ? 1 : 0));
    }
    sum_up(smem, smem.items);
    const int before = p.counting ? 0 : shift_of(smem, kBuckets - 1).block_row;
    for (int i = 0; !p.counting && i < kEach; ++i) {
      const int b = Mine::in_batch(i);
      if (b < p.batch) {
        M::store_global(p.block_rows + b, before + smem.items.get(Mine::in_tile(i)));
      }
    }
    return smem.items.get(kTile);
  }

  /// Finds places among those of the same bucket and group, and counts the groups' buckets.
  static JFA_DEVICE void count(Smem& smem, Mine& mine) {
    const int warp = M::warp_index();
    JFA_UNROLL
    for (int i = 0; i < kEach; ++i) {
      std::uint32_t of_own = ~0U;   // lanes with the caller's bucket
      std::uint32_t of_lane = ~0U;  // lanes with the bucket whose number is the caller's lane
      JFA_UNROLL
      for (int bit = 1; bit < kBuckets; bit *= 2) {
        const std::uint32_t set = M::ballot((mine.bucket[i] & bit) != 0);
        of_own &= (mine.bucket[i] & bit) != 0 ? set : ~set;
        of_lane &= (M::lane() & bit) != 0 ? set : ~set;
      }
      mine.place[i] = count_bits(of_own & ((1U << M::lane()) - 1));
      smem.counts.set(M::lane() * kGroups + i * kWarps + warp, count_bits(of_lane));
    }
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    if (!p.counting && M::grid_size() > 1) find_shifts(p, smem);
    Mine mine;
    JFA_UNROLL
    for (int i = 0; i < kEach; ++i) {
      const int b = Mine::in_batch(i);
      mine.sequence[i] = b < p.batch ? sequence(p, b) : PlannedSequence{};
      mine.bucket[i] = bucket(p, mine.sequence[i], b);
    }
    const int block_rows = p.block_rows != nullptr ? count_block_rows(p, smem, mine) : 0;
    count(smem, mine);
    sum_up(smem, smem.counts);
    const int warp = M::warp_index();
    JFA_UNROLL
    for (int i = 0; i < kEach; ++i) {
      mine.place[i] += smem.counts.get(mine.bucket[i] * kGroups + i * kWarps + warp);
      smem.items.set(mine.place[i], mine.sequence[i].items);
    }
    sum_up(smem, smem.items);
    if (p.counting) return leave_starts(p, smem, block_rows);
    JFA_UNROLL
    for (int i = 0; i < kEach; ++i) {
      if (Mine::in_batch(i) > p.batch) continue;
      const BucketStart shift = shift_of(smem, mine.bucket[i]);
      mine.sequence[i].first_item = smem.items.get(mine.place[i]) + shift.item;
      if (Mine::in_batch(i) == p.batch) mine.sequence[i].items = leading_items(smem);
      M::store_global(p.plan + mine.place[i] + shift.place, mine.sequence[i]);
    }
  }

  /// launch(blocks, params) for each launch that a plan takes, in this order.
  template <class Launch>
  static void make(Params p, Launch launch) {
    const int tiles = planned_tiles(p.batch);
    if (tiles > 1) {
      p.counting = true;
      launch(tiles, p);
      p.counting = false;
    }
    launch(tiles, p);
  }
};

}  // namespace jfa::inline JFA_BACKEND
