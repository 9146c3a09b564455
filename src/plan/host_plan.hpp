// The schedule of a batch whose offsets are in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/mask_bounds.hpp"
#include "problem/problem.hpp"

namespace jfa {

/// A block-sparse mask's lists, widened to 64 bits.
struct BlockLists {
  std::int64_t block_q = 0;
  std::int64_t block_kv = 0;
  std::int64_t heads = 1;
  std::vector<std::int64_t> first_row;    ///< `[batch + 1]`: each sequence's first query block
  std::vector<std::int64_t> row_offsets;  ///< `[heads, first_row.back() + 1]`
  std::vector<std::int64_t> columns;

  /// The key blocks that query block `row` (counted over all sequences) of query head `head` sees.
  std::span<const std::int64_t> columns_of(std::int64_t head, std::int64_t row) const noexcept {
    const std::int64_t stride = first_row.back() + 1;
    const auto at = static_cast<std::size_t>((heads == 1 ? 0 : head) * stride + row);
    const auto begin = static_cast<std::size_t>(row_offsets[at]);
    return std::span(columns).subspan(begin, static_cast<std::size_t>(row_offsets[at + 1]) - begin);
  }
};

/// Made once from offsets, lengths and mask; holds copies, so it outlives the arrays it came from.
struct HostPlan {
  std::vector<Sequence> sequences;  ///< `[batch]`
  /// `[batch + 1]`: work of the sequences before each one, in score entries that 64-row tiles reach
  /// (averaged over heads), rows counted in.
  std::vector<double> work_before;
  std::vector<Range> q_gaps;   ///< rows of q and out in use by no sequence, at most 1,024 each
  std::vector<Range> kv_gaps;  ///< the same of k and v
  Window window;
  bool block_sparse = false;
  BlockLists blocks;  ///< valid when block_sparse

  // What the plan was made for, besides the above.
  std::int64_t q_rows = 0;
  std::int64_t kv_rows = 0;
  std::int64_t heads_q = 0;
  std::int64_t heads_kv = 0;
  std::int64_t head_dim = 0;

  const Sequence& sequence(std::int64_t b) const noexcept {
    return sequences[static_cast<std::size_t>(b)];
  }
  double work(std::int64_t b) const noexcept {
    const auto i = static_cast<std::size_t>(b);
    return work_before[i + 1] - work_before[i];
  }
};

/// The problem's indices are checked.
HostPlan make_host_plan(const Problem& problem);

/// Whether `plan` was made for this problem's shapes, offsets, lengths and mask.
Status check_plan(const HostPlan& plan, const Problem& problem);

}  // namespace jfa
