#include "plan/host_plan.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace jfa {
namespace {

constexpr std::int64_t kGapRows = 1024;

std::int64_t blocks_in(std::int64_t length, std::int64_t block) {
  return length / block + (length % block != 0);
}

BlockLists copy_block_lists(const Problem& problem, const std::vector<Sequence>& sequences) {
  const BlockSparse& given = problem.blocks;
  BlockLists lists{given.block_q, given.block_kv, given.heads, {0}, {}, {}};
  lists.first_row.reserve(sequences.size() + 1);
  for (const Sequence& s : sequences) {
    lists.first_row.push_back(lists.first_row.back() + blocks_in(s.q_length, given.block_q));
  }
  const std::int64_t rows = lists.first_row.back();
  const std::int64_t stride = given.row_offsets.size / given.heads;
  std::int64_t columns = 0;
  lists.row_offsets.reserve(static_cast<std::size_t>(given.heads * (rows + 1)));
  for (std::int64_t head = 0; head < given.heads; ++head) {
    for (std::int64_t row = 0; row <= rows; ++row) {
      lists.row_offsets.push_back(index_at(given.row_offsets, head * stride + row));
    }
    columns = std::max(columns, lists.row_offsets.back());
  }
  // A batch without query blocks has its one entry a head unchecked and no columns.
  if (rows == 0) columns = 0;
  lists.columns.reserve(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < columns; ++i) lists.columns.push_back(index_at(given.columns, i));
  return lists;
}

/// Score entries that tiles of 64 query rows reach by window alone. Of sequences longer than 65,536
/// rows evenly spaced tiles stand for all: what is made from lengths takes no time by the row.
double dense_work(const Sequence& s, Window window) {
  constexpr std::int64_t kTile = 64, kTiles = 1024;
  if (window.left < 0 && window.right < 0) {
    return static_cast<double>(s.q_length) * static_cast<double>(s.kv_length);
  }
  const std::int64_t step = std::max(kTile, blocks_in(s.q_length, kTiles));
  double work = 0;
  for (std::int64_t q = 0; q < s.q_length; q += step) {
    const Range queries{q, std::min(q + kTile, s.q_length)};
    const Range keys = visible_keys(queries, {s.q_length, s.kv_length}, window);
    const std::int64_t rows = std::min(step, s.q_length - q);
    work += static_cast<double>(rows) * static_cast<double>(keys.size());
  }
  return work;
}

/// Score entries listed for sequence b, averaged over heads.
double listed_work(const BlockLists& lists, std::int64_t b) {
  const auto i = static_cast<std::size_t>(b);
  double listed = 0;
  for (std::int64_t head = 0; head < lists.heads; ++head) {
    for (std::int64_t row = lists.first_row[i]; row < lists.first_row[i + 1]; ++row) {
      listed += static_cast<double>(lists.columns_of(head, row).size());
    }
  }
  return listed * static_cast<double>(lists.block_q) * static_cast<double>(lists.block_kv) /
         static_cast<double>(lists.heads);
}

/// Work of each sequence, summed. Loading and storing a row counts as much as 32 score entries.
std::vector<double> sum_work(const HostPlan& plan) {
  constexpr double kRow = 32;
  std::vector<double> before{0};
  before.reserve(plan.sequences.size() + 1);
  for (std::size_t b = 0; b < plan.sequences.size(); ++b) {
    const Sequence& s = plan.sequences[b];
    double work = dense_work(s, plan.window);
    if (plan.block_sparse) {
      work = std::min(work, listed_work(plan.blocks, static_cast<std::int64_t>(b)));
    }
    work += kRow * (static_cast<double>(s.q_length) + static_cast<double>(s.kv_length));
    before.push_back(before.back() + work);
  }
  return before;
}

/// Rows of `[0, rows)` that no sequence uses; (begin, length) of each come in ascending order.
Gaps find_gaps(const std::vector<Sequence>& sequences, std::int64_t rows,
               std::int64_t Sequence::*begin, std::int64_t Sequence::*length) {
  Gaps gaps;
  std::int64_t covered = 0;
  for (const Sequence& s : sequences) {
    gaps.add({covered, s.*begin});
    covered = s.*begin + s.*length;
  }
  gaps.add({covered, rows});
  return gaps;
}

bool same(const Sequence& a, const Sequence& b) {
  return a.q_begin == b.q_begin && a.q_length == b.q_length && a.kv_begin == b.kv_begin &&
         a.kv_length == b.kv_length && a.out_begin == b.out_begin;
}

Status made_for_other(std::string_view what, std::int64_t planned, std::int64_t given) {
  return invalid_argument("plan was made for " + std::string(what) + " = " +
                          std::to_string(planned) + ", must be made for those of the call, " +
                          std::to_string(given));
}

Status check_shapes(const HostPlan& plan, const Problem& problem) {
  const struct {
    const char* name;
    std::int64_t planned, given;
  } shapes[] = {
      {"q.rows", plan.q_rows, problem.q.rows},
      {"k.rows", plan.kv_rows, problem.k.rows},
      {"q.heads", plan.heads_q, problem.heads_q},
      {"k.heads", plan.heads_kv, problem.heads_kv},
      {"head_dim", plan.head_dim, problem.head_dim},
      {"B", static_cast<std::int64_t>(plan.sequences.size()), problem.batch},
      {"mask.window.left", plan.window.left, problem.window.left},
      {"mask.window.right", plan.window.right, problem.window.right},
      {"block-sparse masks (0 or 1)", plan.block_sparse, problem.block_sparse},
  };
  for (const auto& [name, planned, given] : shapes) {
    if (planned != given) return made_for_other(name, planned, given);
  }
  return {};
}

Status check_sequences(const HostPlan& plan, const Problem& problem) {
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    if (same(plan.sequence(b), sequence(problem, b))) continue;
    return invalid_argument("plan was made for other offsets or lengths of sequence " +
                            std::to_string(b) + ", must be made for those of the call");
  }
  return {};
}

/// Whether the entries the plan copied are still those of the mask.
bool same_lists(const BlockLists& planned, const BlockSparse& given) {
  const std::int64_t rows = planned.first_row.back();
  const std::int64_t stride = given.row_offsets.size / given.heads;
  if (stride <= rows || given.columns.size < std::ssize(planned.columns)) return false;
  auto entry = planned.row_offsets.begin();
  for (std::int64_t head = 0; head < given.heads; ++head) {
    for (std::int64_t row = 0; row <= rows; ++row) {
      if (*entry++ != index_at(given.row_offsets, head * stride + row)) return false;
    }
  }
  for (std::int64_t i = 0; i < std::ssize(planned.columns); ++i) {
    if (planned.columns[static_cast<std::size_t>(i)] != index_at(given.columns, i)) return false;
  }
  return true;
}

Status check_block_lists(const BlockLists& planned, const BlockSparse& given) {
  if (planned.block_q != given.block_q) {
    return made_for_other("mask.block_sparse.block_q", planned.block_q, given.block_q);
  }
  if (planned.block_kv != given.block_kv) {
    return made_for_other("mask.block_sparse.block_kv", planned.block_kv, given.block_kv);
  }
  if (planned.heads != given.heads) {
    return made_for_other("mask.block_sparse.heads", planned.heads, given.heads);
  }
  if (!same_lists(planned, given)) {
    return invalid_argument(
        "plan was made for other block lists, must be made for those of the call");
  }
  return {};
}

}  // namespace

void Gaps::add(Range rows) {
  if (rows.size() <= 0) return;
  gaps_.push_back({rows, pieces_});
  pieces_ += blocks_in(rows.size(), kGapRows);
}

Range Gaps::operator[](std::int64_t piece) const noexcept {
  const auto behind =
      std::upper_bound(gaps_.begin(), gaps_.end(), piece,
                       [](std::int64_t value, const Gap& gap) { return value < gap.first_piece; });
  const Gap& gap = *std::prev(behind);
  const std::int64_t begin = gap.rows.begin + (piece - gap.first_piece) * kGapRows;
  return {begin, std::min(begin + kGapRows, gap.rows.end)};
}

HostPlan make_host_plan(const Problem& problem) {
  HostPlan plan;
  plan.sequences.reserve(static_cast<std::size_t>(problem.batch));
  for (std::int64_t b = 0; b < problem.batch; ++b) plan.sequences.push_back(sequence(problem, b));
  plan.window = problem.window;
  plan.block_sparse = problem.block_sparse;
  if (plan.block_sparse) plan.blocks = copy_block_lists(problem, plan.sequences);
  plan.work_before = sum_work(plan);
  plan.q_gaps =
      find_gaps(plan.sequences, problem.out_rows, &Sequence::out_begin, &Sequence::q_length);
  plan.kv_gaps =
      find_gaps(plan.sequences, problem.k.rows, &Sequence::kv_begin, &Sequence::kv_length);
  plan.q_rows = problem.q.rows;
  plan.kv_rows = problem.k.rows;
  plan.heads_q = problem.heads_q;
  plan.heads_kv = problem.heads_kv;
  plan.head_dim = problem.head_dim;
  return plan;
}

Status check_plan(const HostPlan& plan, const Problem& problem) {
  JFA_RETURN_IF_ERROR(check_shapes(plan, problem));
  JFA_RETURN_IF_ERROR(check_sequences(plan, problem));
  if (!problem.block_sparse) return {};
  return check_block_lists(plan.blocks, problem.blocks);
}

}  // namespace jfa
