// Transposes the lists of a block-sparse mask: for each block of keys, the blocks of queries that
// see it, rising. Made with a plan for the backward pass.
//
// | step  | blocks | all warps                                                           |
// | ----- | ------ | ------------------------------------------------------------------- |
// | Count | many   | each counts the rows that name its block of keys, 32 rows at a time |
// | SumUp | one    | running sum of the counts                                           |
// | Fill  | many   | each writes the rows it counted, in their order                     |
//
// A row names a column where halving finds it: whatever columns that do not rise hold, every step
// and whoever else asks `names` sees the same.
#pragma once

#include "kernels/forward/mask.hpp"
#include "plan/planner.hpp"

namespace jfa::inline JFA_BACKEND {

/// NOTE [lists by keys]: block of keys j of sequence b has the place kv_begin / block_kv + b + j
/// in a head, so that no count of blocks is needed to find it.
struct ListsByKeys {
  int* starts;   // [heads, places] and one more: where the list of each begins in rows
  int* rows;     // [capacity]: blocks of queries of the sequence
  int places;    // of a head: room for every way to cut keys into sequences
  int capacity;  // as many columns as there are

  static JFA_DEVICE int first_place(int kv_begin, int sequence, int block_kv) {
    return kv_begin / block_kv + sequence;
  }
  static std::int64_t places_of(std::int64_t kv_rows, std::int64_t batch, std::int64_t block_kv) {
    return kv_rows / block_kv + batch + 1;
  }
};

/// Whether row `row` of a head's lists names column `column`.
template <class M>
JFA_DEVICE bool names(const BlockLists& lists, int head, std::int64_t row, int column) {
  if (row + 1 >= lists.rows_per_head) return false;
  const std::int64_t place = (lists.heads == 1 ? 0 : head) * lists.rows_per_head + row;
  std::int64_t first = DeviceRows::clamp(lists.row_offsets.at<M>(place), 0, lists.column_count);
  std::int64_t last = DeviceRows::clamp(lists.row_offsets.at<M>(place + 1), 0, lists.column_count);
  while (first < last) {
    const std::int64_t middle = first + (last - first) / 2;
    const std::int64_t found = lists.columns.at<M>(middle);
    if (found == column) return true;
    if (found < column) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return false;
}

template <class Machine, int Threads = 256>
struct ListTranspose {
  using M = Machine;
  static constexpr int kThreads = Threads;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kWarps = kThreads / 32;
  static constexpr int kMost = (1 << 30) - 1;  // sums stop here

  enum class Step : int { Count, SumUp, Fill };
  struct Params {
    DeviceRows q;  // its offsets have no data with broadcast_q
    DeviceRows kv;
    int batch;
    BlockLists lists;
    ListsByKeys to;
    Step step;
  };
  struct Smem {
    Tile<M, int, 1, kWarps, Swizzle::None> totals;
  };

  static JFA_DEVICE int sum(int a, int b) { return a + b < kMost ? a + b : kMost; }

  /// The last sequence whose first place is `place` or before.
  static JFA_DEVICE int sequence_at(const Params& p, int place) {
    int first = 0;
    int last = p.batch - 1;
    while (first < last) {
      const int middle = first + (last - first + 1) / 2;
      const int begin = p.kv.template of<M>(middle).begin;
      if (ListsByKeys::first_place(begin, middle, p.lists.block_kv) <= place) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    return first;
  }

  /// A block of keys and the rows of lists that may name it.
  struct Column {
    int column = 0;
    int rows = 0;
    std::int64_t first_row = 0;
  };

  static JFA_DEVICE Column column_at(const Params& p, int place) {
    if (p.batch == 0) return {};
    const int b = sequence_at(p, place);
    const DeviceRows::Place kv = p.kv.template of<M>(b);
    const int column = place - ListsByKeys::first_place(kv.begin, b, p.lists.block_kv);
    if (column < 0 || std::int64_t{column} * p.lists.block_kv >= kv.length) return {};
    const int queries = p.q.offsets.data == nullptr ? p.q.rows : p.q.template of<M>(b).length;
    return {column, queries / p.lists.block_q + (queries % p.lists.block_q != 0 ? 1 : 0),
            M::load_global(p.lists.first_rows + b)};
  }

  static JFA_DEVICE void list(const Params& p, int index) {
    const int head = index / p.to.places;
    const Column c = column_at(p, index % p.to.places);
    const bool fill = p.step == Step::Fill;
    int at = fill ? M::load_global(p.to.starts + index) : 0;
    const int end = fill ? M::load_global(p.to.starts + index + 1) : kMost;
    for (int row = M::lane(); row - M::lane() < c.rows; row += 32) {
      const bool named = row < c.rows && names<M>(p.lists, head, c.first_row + row, c.column);
      const std::uint32_t all = M::ballot(named);
      const int place = at + count_bits(all & ((1U << M::lane()) - 1));
      if (fill && named && place < end) M::store_global(p.to.rows + place, row);
      at = sum(at, count_bits(all));
    }
    if (!fill && M::lane() == 0) M::store_global(p.to.starts + index + 1, at);
  }

  /// Counts become starts; more rows than columns, which only wrong lists have, none at all.
  static JFA_DEVICE void sum_up(const Params& p, Smem& smem) {
    const int lists = p.lists.heads * p.to.places;
    const int each = (lists + kThreads - 1) / kThreads;
    const int first = M::thread_index() * each;
    const int last = first + each < lists ? first + each : lists;
    int* counts = p.to.starts + 1;
    int mine = 0;
    for (int i = first; i < last; ++i) mine = sum(mine, M::load_global(counts + i));
    int up_to = mine;
    for (int step = 1; step < 32; step *= 2) {
      const int other = M::shuffle(up_to, M::lane() >= step ? M::lane() - step : M::lane());
      if (M::lane() >= step) up_to = sum(up_to, other);
    }
    const int lane_before = M::shuffle(up_to, M::lane() > 0 ? M::lane() - 1 : 0);
    int before = M::lane() > 0 ? lane_before : 0;
    const int own_warp = M::warp_index();
    if (M::lane() == 31) smem.totals.view().store(0, own_warp, {{up_to}});
    M::sync_block();
    int total = 0;
    int warps_before = 0;
    for (int warp = 0; warp < kWarps; ++warp) {
      if (warp == own_warp) warps_before = total;
      total = sum(total, smem.totals.view().load(0, warp).values[0]);
    }
    before = sum(before, warps_before);
    for (int i = first; i < last; ++i) {
      before = sum(before, M::load_global(counts + i));
      M::store_global(counts + i, total <= p.to.capacity ? before : 0);
    }
    if (M::thread_index() == 0) M::store_global(p.to.starts, 0);
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    if (p.step == Step::SumUp) return sum_up(p, smem);
    const int lists = p.lists.heads * p.to.places;
    const int warps = M::grid_size() * kWarps;
    for (int i = M::block_index() * kWarps + M::warp_index(); i < lists; i += warps) list(p, i);
  }

  /// launch(blocks, params) for each launch that it takes, in this order.
  template <class Launch>
  static void make(Params p, int blocks, Launch launch) {
    p.step = Step::Count;
    launch(blocks, p);
    p.step = Step::SumUp;
    launch(1, p);
    p.step = Step::Fill;
    launch(blocks, p);
  }
};

/// Goes through the blocks of queries that see a block of keys.
template <class M>
struct SeeingRows {
  static constexpr int kEnd = 0x7fffffff;

  const int* rows = nullptr;
  int at = 0;
  int end = 0;
  int row = kEnd;  // in hand

  static JFA_DEVICE SeeingRows of(const ListsByKeys& lists, int head, int place) {
    const auto bound = [&](int i) {
      return static_cast<int>(
          DeviceRows::clamp(M::load_global(lists.starts + i), 0, lists.capacity));
    };
    SeeingRows r;
    const int index = head * lists.places + place;
    r.rows = lists.rows;
    r.at = bound(index) - 1;
    r.end = bound(index + 1);
    r.advance();
    return r;
  }
  JFA_DEVICE void advance() { row = ++at < end ? M::load_global(rows + at) : kEnd; }
};

}  // namespace jfa::inline JFA_BACKEND
