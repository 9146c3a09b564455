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

/// Rows in use by no sequence, in pieces of at most 1,024. Kept as few ranges: the rows of a tensor
/// of stride 0 cost no memory, and neither do these.
class Gaps {
 public:
  /// Behind those added before; may be empty.
  void add(Range rows);
  /// Of pieces.
  std::int64_t size() const noexcept { return pieces_; }
  Range operator[](std::int64_t piece) const noexcept;

 private:
  struct Gap {
    Range rows;
    std::int64_t first_piece;
  };
  std::vector<Gap> gaps_;
  std::int64_t pieces_ = 0;
};

/// Made once from offsets, lengths and mask; holds copies, so it outlives the arrays it came from.
struct HostPlan {
  std::vector<Sequence> sequences;  ///< `[batch]`
  /// `[batch + 1]`: work of the sequences before each one, in score entries that 64-row tiles reach
  /// (averaged over heads), rows counted in.
  std::vector<double> work_before;
  Gaps q_gaps;   ///< of q and out
  Gaps kv_gaps;  ///< of k and v
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
