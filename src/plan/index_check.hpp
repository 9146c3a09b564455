// Checks offsets, lengths, block lists and a plan in device memory by value, and leaves one word:
// what is wrong first, in the order of CheckedArray and of indices. One block; each thread looks at
// its share of an array, thread 0 picks the first fault.
#pragma once

#include "kernels/forward/mask.hpp"
#include "plan/index_fault.hpp"
#include "plan/planner.hpp"

namespace jfa::inline JFA_BACKEND {

template <class Machine>
struct IndexCheck {
  using M = Machine;
  using Planning = Planner<M>;
  static constexpr int kThreads = 256;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;

  struct Params {
    typename Planning::Params planner;  // its plan is null where there is none to check
    BlockLists lists;                   // its first_rows are not used
    std::uint64_t* word;
  };
  struct Smem {
    Tile<M, int, 2, kThreads, Swizzle::None> found;  // fault, index
  };

  struct Found {
    IndexFault fault = IndexFault::kNone;
    int index = 0;
  };

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

  static JFA_DEVICE Found offset_fault(const DeviceRows& rows, int i) {
    const std::int64_t value = rows.offsets.at<M>(i);
    if (i == 0) return {value == 0 ? IndexFault::kNone : IndexFault::kFirst, 0};
    if (value < rows.offsets.at<M>(i - 1)) return {IndexFault::kFalls, i};
    if (value > rows.rows) return {IndexFault::kPastRows, i};
    return {};
  }

  static JFA_DEVICE Found length_fault(const DeviceRows& rows, int b) {
    const std::int64_t length = rows.lengths.at<M>(b);
    const std::int64_t most = rows.offsets.at<M>(b + 1) - rows.offsets.at<M>(b);
    if (length < 0 || length > most) return {IndexFault::kLength, b};
    return {};
  }

  static JFA_DEVICE std::int64_t blocks_of(int rows, int block) {
    return rows / block + (rows % block != 0 ? 1 : 0);
  }

  /// Entries begin .. end - 1 of the columns, which one row lists.
  static JFA_DEVICE Found column_fault(const BlockLists& lists, std::int64_t begin,
                                       std::int64_t end, std::int64_t key_blocks) {
    std::int64_t previous = -1;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = lists.columns.at<M>(i);
      if (column <= previous || column >= key_blocks) {
        return {IndexFault::kColumn, static_cast<int>(i)};
      }
      previous = column;
    }
    return {};
  }

  /// What is wrong with the lists of sequence b, whose blocks of queries begin at row `first`.
  static JFA_DEVICE Found list_fault(const Params& p, int b, std::int64_t first) {
    const BlockLists& lists = p.lists;
    const PlannedSequence s = Planning::sequence(p.planner, b);
    const std::int64_t rows = blocks_of(s.q_length, lists.block_q);
    if (first + rows >= lists.rows_per_head) return {IndexFault::kFewRows, b};
    for (int head = 0; head < lists.heads; ++head) {
      const std::int64_t entry = head * lists.rows_per_head + first;
      for (std::int64_t i = entry; i < entry + rows; ++i) {
        const std::int64_t begin = lists.row_offsets.at<M>(i);
        const std::int64_t end = lists.row_offsets.at<M>(i + 1);
        if (begin < 0) return {IndexFault::kFalls, static_cast<int>(i)};
        if (end < begin) return {IndexFault::kFalls, static_cast<int>(i + 1)};
        if (end > lists.column_count) return {IndexFault::kPastColumns, static_cast<int>(i + 1)};
        const Found found = column_fault(lists, begin, end, blocks_of(s.kv_length, lists.block_kv));
        if (found.fault != IndexFault::kNone) return found;
      }
    }
    return {};
  }

  /// The first row of the caller's share of sequences: how many blocks of queries come before.
  static JFA_DEVICE std::int64_t first_row(const Params& p, Smem& smem) {
    const auto mine = share(p.planner.batch);
    std::int64_t blocks = 0;
    for (int b = mine.begin; b < mine.end; ++b) {
      blocks += blocks_of(Planning::sequence(p.planner, b).q_length, p.lists.block_q);
    }
    const auto view = smem.found.view();
    view.store(0, M::thread_index(), {{static_cast<int>(blocks)}});
    M::sync_block();
    std::int64_t before = 0;
    for (int t = 0; t < M::thread_index(); ++t) before += view.load(0, t).values[0];
    M::sync_block();  // read before it is written again
    return before;
  }

  static JFA_DEVICE std::uint64_t lists_word(const Params& p, Smem& smem) {
    std::int64_t row = first_row(p, smem);
    const Found found = first(smem, p.planner.batch, [&](int b) {
      const Found fault = list_fault(p, b, row);
      row += blocks_of(Planning::sequence(p.planner, b).q_length, p.lists.block_q);
      return fault;
    });
    return fault_word(
        found.fault,
        found.fault == IndexFault::kColumn ? CheckedArray::kColumns : CheckedArray::kRowOffsets,
        found.index);
  }

  static JFA_DEVICE std::uint32_t mix(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7FEB352D;
    x ^= x >> 15;
    x *= 0x846CA68B;
    return x ^ x >> 16;
  }

  static JFA_DEVICE std::uint32_t digest(const PlannedSequence& s) {
    std::uint32_t x = 1;
    const int parts[] = {s.q_begin, s.q_length, s.kv_begin, s.kv_length, s.out_begin};
    for (const int part : parts) x = mix(x * 31 + static_cast<std::uint32_t>(part));
    return x;
  }

  /// What the planned sequences of the caller's share add to the digest of a plan, less what those
  /// of the batch do; 0 summed over threads when the plan holds the batch's sequences in any order.
  static JFA_DEVICE int plan_difference(const Params& p) {
    const auto mine = share(p.planner.batch);
    std::uint32_t sum = 0;
    for (int b = mine.begin; b < mine.end; ++b) {
      sum += digest(M::load_global(&p.planner.plan[b]));
      sum -= digest(Planning::sequence(p.planner, b));
    }
    return static_cast<int>(sum);
  }

  /// Thread 0 gets the first fault that a thread's share of `count` things has.
  template <class Look>
  static JFA_DEVICE Found first(Smem& smem, int count, Look look) {
    const auto mine = share(count);
    Found found;
    for (int i = mine.begin; i < mine.end && found.fault == IndexFault::kNone; ++i) {
      found = look(i);
    }
    const auto view = smem.found.view();
    view.store(0, M::thread_index(), {{static_cast<int>(found.fault)}});
    view.store(1, M::thread_index(), {{found.index}});
    M::sync_block();
    Found result;
    if (M::thread_index() == 0) {
      for (int t = 0; t < kThreads && result.fault == IndexFault::kNone; ++t) {
        result = {static_cast<IndexFault>(view.load(0, t).values[0]), view.load(1, t).values[0]};
      }
    }
    M::sync_block();  // read before it is written again
    return result;
  }

  static JFA_DEVICE bool plan_is_stale(const Params& p, Smem& smem) {
    const auto view = smem.found.view();
    view.store(0, M::thread_index(), {{plan_difference(p)}});
    M::sync_block();
    std::uint32_t sum = 0;
    for (int t = 0; t < kThreads; ++t) {
      sum += static_cast<std::uint32_t>(view.load(0, t).values[0]);
    }
    return sum != 0;
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    std::uint64_t word = 0;
    const auto look = [&](CheckedArray array, const void* data, int count, auto fault_at) {
      if (data == nullptr) return;
      const Found found = first(smem, count, fault_at);
      if (word == 0) word = fault_word(found.fault, array, found.index);
    };
    const DeviceRows& q = p.planner.q;
    const DeviceRows& kv = p.planner.kv;
    const int batch = p.planner.batch;
    look(CheckedArray::kKvOffsets, kv.offsets.data, batch + 1,
         [&](int i) { return offset_fault(kv, i); });
    look(CheckedArray::kKvLengths, kv.lengths.data, batch,
         [&](int b) { return length_fault(kv, b); });
    look(CheckedArray::kQOffsets, q.offsets.data, batch + 1,
         [&](int i) { return offset_fault(q, i); });
    look(CheckedArray::kQLengths, q.lengths.data, batch, [&](int b) { return length_fault(q, b); });
    if (p.lists.row_offsets.data != nullptr) {
      const std::uint64_t lists = lists_word(p, smem);
      if (word == 0) word = lists;
    }
    if (p.planner.plan != nullptr && plan_is_stale(p, smem) && word == 0) {
      word = fault_word(IndexFault::kStale, CheckedArray::kPlan, 0);
    }
    if (M::thread_index() == 0) M::store_global(p.word, word);
  }
};

}  // namespace jfa::inline JFA_BACKEND
