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

#include "machine/machine.hpp"
#include "plan/schedule.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// int32 or int64 offsets or lengths in device memory.
struct DeviceIndices {
  const void* data;
  bool wide;

  template <class M>
  JFA_DEVICE std::int64_t at(std::int64_t i) const {
    return wide ? M::load_global(static_cast<const std::int64_t*>(data) + i)
                : M::load_global(static_cast<const std::int32_t*>(data) + i);
  }
};

template <class M>
struct Planner {
  static constexpr int kThreads = 256;
  static constexpr int kClusterSize = 1;
  static constexpr int kBuckets = 32;
  static constexpr int kWarps = kThreads / 32;

  struct Params {
    DeviceIndices q_offsets;   // no data with broadcast_q
    DeviceIndices kv_offsets;  // [batch + 1]
    DeviceIndices q_lengths;   // no data when absent
    DeviceIndices kv_lengths;  // no data when absent
    int batch;
    int q_rows;  // rows of q
    int kv_rows;
    ItemShape shape;
    PlannedSequence* plan;  // [batch + 1]
  };
  struct Smem {
    Tile<M, int, kBuckets, kThreads, Swizzle::None> counts;
    Tile<M, int, 1, kWarps, Swizzle::None> totals;
  };

  struct Rows {
    int begin;
    int length;
  };

  static JFA_DEVICE std::int64_t clamp(std::int64_t x, std::int64_t low, std::int64_t high) {
    return x < low ? low : x > high ? high : x;
  }

  static JFA_DEVICE Rows rows_of(const DeviceIndices& offsets, const DeviceIndices& lengths, int b,
                                 int rows) {
    const auto begin = clamp(offsets.template at<M>(b), 0, rows);
    const auto end = clamp(offsets.template at<M>(b + 1), begin, rows);
    const auto used = lengths.data == nullptr
                          ? end - begin
                          : clamp(lengths.template at<M>(b), 0, end - begin);
    return {static_cast<int>(begin), static_cast<int>(used)};
  }

  static JFA_DEVICE PlannedSequence sequence(const Params& p, int b) {
    const Rows kv = rows_of(p.kv_offsets, p.kv_lengths, b, p.kv_rows);
    const bool broadcast = p.q_offsets.data == nullptr;
    const Rows q = broadcast ? Rows{0, p.q_rows} : rows_of(p.q_offsets, p.q_lengths, b, p.q_rows);
    const int out_begin = broadcast ? b * p.q_rows : q.begin;
    return {q.begin, q.length, kv.begin, kv.length, out_begin, 0,
            p.shape.items(q.length, kv.length), 0};
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
    M::sync_block();  // totals are read before they are written again
    return before;
  }

  /// The calling thread's share of `count` things.
  static JFA_DEVICE Rows share(int count) {
    const int each = (count + kThreads - 1) / kThreads;
    const int begin = M::thread_index() * each;
    return {begin, static_cast<int>(clamp(count - begin, 0, each))};
  }

  static JFA_DEVICE void sort(const Params& p, Smem& smem, Rows mine) {
    const auto counts = smem.counts.view();
    const int thread = M::thread_index();
    for (int i = 0; i < kBuckets; ++i) counts.store(i, thread, {{0}});
    for (int b = mine.begin; b < mine.begin + mine.length; ++b) {
      const int at = bucket(p, sequence(p, b));
      counts.store(at, thread, {{counts.load(at, thread).values[0] + 1}});
    }
    M::sync_block();
    // Row-major order of counts is the order of places; each thread sums a run of kBuckets of them.
    int sum = 0;
    const auto cell = [&](int i) { return thread * kBuckets + i; };
    for (int i = 0; i < kBuckets; ++i) {
      sum += counts.load(cell(i) / kThreads, cell(i) % kThreads).values[0];
    }
    int total;
    int place = sum_before(smem, sum, total);
    for (int i = 0; i < kBuckets; ++i) {
      const int count = counts.load(cell(i) / kThreads, cell(i) % kThreads).values[0];
      counts.store(cell(i) / kThreads, cell(i) % kThreads, {{place}});
      place += count;
    }
    M::sync_block();
    for (int b = mine.begin; b < mine.begin + mine.length; ++b) {
      const PlannedSequence s = sequence(p, b);
      const int at = bucket(p, s);
      const int to = counts.load(at, thread).values[0];
      counts.store(at, thread, {{to + 1}});
      M::store_global(p.plan + to, s);
    }
    M::sync_block();
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    const Rows mine = share(p.batch);
    sort(p, smem, mine);
    int sum = 0;
    for (int i = mine.begin; i < mine.begin + mine.length; ++i) {
      sum += M::load_global(&p.plan[i].items);
    }
    int total;
    int first = sum_before(smem, sum, total);
    for (int i = mine.begin; i < mine.begin + mine.length; ++i) {
      const int items = M::load_global(&p.plan[i].items);
      M::store_global(&p.plan[i].first_item, first);
      first += items;
    }
    if (M::thread_index() == 0) M::store_global(&p.plan[p.batch].first_item, total);
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
