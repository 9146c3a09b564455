// Makes a plan from offsets and lengths in device memory: one block, no host involved.
//
//   plan[i]: sequences, stably sorted by the cost of their items (in buckets of half an octave,
//   most expensive first), with the running number of items before each.
//
// | step | all threads                                                          |
// | ---- | -------------------------------------------------------------------- |
// | 1    | each counts the sequences of its share in each bucket                |
// | 2    | running sum of counts, bucket by bucket and thread by thread         |
// | 3    | each writes its sequences to their places                            |
// | 4    | running sum of items over places                                     |
//
// Threads own contiguous shares, so equal costs stay in the order of the batch.
// SMEM: a count for each bucket and thread, a total for each warp.
#pragma once

#include "plan/device_indices.hpp"
#include "plan/schedule.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

template <class Shape>
struct PlannerParams {
  DeviceRows q;  // its offsets have no data with broadcast_q
  DeviceRows kv;
  int batch;
  Shape shape;
  PlannedSequence* plan;      // [batch + 1]
  int block_q = 0;            // queries a block of a block-sparse mask
  int* block_rows = nullptr;  // [batch]: blocks of queries before each sequence; null: not wanted
};

/// `Shape` says how sequences are cut into items and what one costs.
template <class M, class Shape = ItemShape, int Threads = 256>
struct Planner {
  static constexpr int kThreads = Threads;
  static constexpr int kClusterSize = 1;
  static constexpr int kBuckets = 32;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kCells = kBuckets * kThreads;

  using Params = PlannerParams<Shape>;
  struct Smem {
    Tile<M, int, 1, kCells + kCells / 32, Swizzle::None> counts;
    Tile<M, int, 1, kWarps, Swizzle::None> totals;
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

  static JFA_DEVICE int bucket(const Params& p, const PlannedSequence& s) {
    const float cost = static_cast<float>(1 + p.shape.cost(s.q_length, s.kv_length));
    const int octave_halves = static_cast<int>(2 * M::log2(cost));
    return octave_halves < kBuckets ? kBuckets - 1 - octave_halves : 0;
  }

  /// The sum of `mine` over the threads before the caller; of all of them in `total`.
  static JFA_DEVICE int sum_before(Smem& smem, int mine, int& total) {
    int sum = mine;
    for (int step = 1; step < 32; step *= 2) {
      const int other = M::shuffle(sum, M::lane() >= step ? M::lane() - step : M::lane());
      if (M::lane() >= step) sum += other;
    }
    const int own_warp = M::warp_index();
    if (M::lane() == 31) smem.totals.view().store(0, own_warp, {{sum}});
    M::sync_block();
    total = 0;
    int before = sum - mine;
    for (int warp = 0; warp < kWarps; ++warp) {
      const int part = smem.totals.view().load(0, warp).values[0];
      if (warp < own_warp) before += part;
      total += part;
    }
    return before;
  }

  /// Things begin .. end - 1.
  struct Share {
    int begin;
    int end;
  };

  /// The calling thread's share of `count` things.
  static JFA_DEVICE Share share(int count) {
    const int each = (count + kThreads - 1) / kThreads;
    const int begin = M::thread_index() * each;
    return {begin, begin + each < count ? begin + each : count};
  }

  /// Bucket by bucket and thread by thread, which is the order of places. A gap behind every 32
  /// cells lets a warp reach cells 32 apart at once.
  struct Counts {
    Smem& smem;

    static JFA_DEVICE int cell(int bucket) { return bucket * kThreads + M::thread_index(); }
    JFA_DEVICE int get(int cell) const {
      return smem.counts.view().load(0, cell + cell / 32).values[0];
    }
    JFA_DEVICE void set(int cell, int count) const {
      smem.counts.view().store(0, cell + cell / 32, {{count}});
    }
  };

  static JFA_DEVICE void sort(const Params& p, Smem& smem, Share mine) {
    const Counts counts{smem};
    for (int i = 0; i < kBuckets; ++i) counts.set(Counts::cell(i), 0);
    for (int b = mine.begin; b < mine.end; ++b) {
      const int own = Counts::cell(bucket(p, sequence(p, b)));
      counts.set(own, counts.get(own) + 1);
    }
    M::sync_block();
    const int first = M::thread_index() * kBuckets;  // each thread sums so many neighbours
    int sum = 0;
    for (int i = 0; i < kBuckets; ++i) sum += counts.get(first + i);
    int total;
    int place = sum_before(smem, sum, total);
    for (int i = 0; i < kBuckets; ++i) {
      const int count = counts.get(first + i);
      counts.set(first + i, place);
      place += count;
    }
    M::sync_block();
    for (int b = mine.begin; b < mine.end; ++b) {
      const PlannedSequence s = sequence(p, b);
      const int own = Counts::cell(bucket(p, s));
      const int to = counts.get(own);
      counts.set(own, to + 1);
      M::store_global(p.plan + to, s);
    }
    M::sync_block();
  }

  /// Running sum of blocks of queries, in the order of the batch.
  static JFA_DEVICE void count_block_rows(const Params& p, Smem& smem, Share mine) {
    const auto blocks = [&](int b) {
      const int rows = sequence(p, b).q_length;
      return rows / p.block_q + (rows % p.block_q != 0 ? 1 : 0);
    };
    int sum = 0;
    for (int b = mine.begin; b < mine.end; ++b) sum += blocks(b);
    int total;
    int before = sum_before(smem, sum, total);
    for (int b = mine.begin; b < mine.end; ++b) {
      M::store_global(p.block_rows + b, before);
      before += blocks(b);
    }
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    const Share mine = share(p.batch);
    if (p.block_rows != nullptr) count_block_rows(p, smem, mine);
    sort(p, smem, mine);
    int sum = 0;
    for (int i = mine.begin; i < mine.end; ++i) {
      sum += M::load_global(&p.plan[i].items);
    }
    int total;
    int first = sum_before(smem, sum, total);
    for (int i = mine.begin; i < mine.end; ++i) {
      const int items = M::load_global(&p.plan[i].items);
      M::store_global(&p.plan[i].first_item, first);
      first += items;
    }
    if (M::thread_index() == 0) M::store_global(&p.plan[p.batch].first_item, total);
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
