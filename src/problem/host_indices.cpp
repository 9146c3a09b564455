// Checks of offsets, lengths and block lists by value.
#include <cstdint>
#include <string>

#include "problem/problem.hpp"

namespace jfa {
namespace {

std::string at(const std::string& name, std::int64_t i) {
  return name + "[" + std::to_string(i) + "]";
}

Status check_offsets(const std::string& name, const IndexView& offsets, std::int64_t rows) {
  if (const std::int64_t first = index_at(offsets, 0); first != 0) {
    return invalid_argument(at(name, 0) + " is " + std::to_string(first) + ", must be 0");
  }
  std::int64_t previous = 0;
  for (std::int64_t i = 1; i < offsets.size; ++i) {
    const std::int64_t value = index_at(offsets, i);
    if (value < previous) {
      return invalid_argument(at(name, i) + " is " + std::to_string(value) +
                              ", must be at least the offset before it, " +
                              std::to_string(previous));
    }
    if (value > rows) {
      return invalid_argument(at(name, i) + " is " + std::to_string(value) +
                              ", must be at most the tensor's rows, " + std::to_string(rows));
    }
    previous = value;
  }
  return {};
}

Status check_lengths(const std::string& name, const IndexView& lengths, const IndexView& offsets) {
  for (std::int64_t b = 0; b < lengths.size; ++b) {
    const std::int64_t rows = index_at(offsets, b + 1) - index_at(offsets, b);
    const std::int64_t value = index_at(lengths, b);
    if (value < 0 || value > rows) {
      return invalid_argument(at(name, b) + " is " + std::to_string(value) +
                              ", must be 0 to the rows of sequence " + std::to_string(b) + ", " +
                              std::to_string(rows));
    }
  }
  return {};
}

/// The key blocks listed for one row of query blocks: in range and strictly increasing.
Status check_block_row(const BlockSparse& blocks, std::int64_t begin, std::int64_t end,
                       std::int64_t key_blocks, std::int64_t b) {
  std::int64_t previous = -1;
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t column = index_at(blocks.columns, i);
    if (column <= previous || column >= key_blocks) {
      return invalid_argument(at("mask.block_sparse.columns", i) + " is " + std::to_string(column) +
                              ", must be greater than " + std::to_string(previous) +
                              " (strictly increasing) and less than " + std::to_string(key_blocks) +
                              ", the key blocks of sequence " + std::to_string(b));
    }
    previous = column;
  }
  return {};
}

Status check_block_head(const Problem& problem, std::int64_t head, std::int64_t stride) {
  const BlockSparse& blocks = problem.blocks;
  const std::string name = "mask.block_sparse.row_offsets";
  std::int64_t entry = head * stride;
  const std::int64_t end_entry = entry + stride;
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const Sequence s = sequence(problem, b);
    const std::int64_t rows = (s.q_length + blocks.block_q - 1) / blocks.block_q;
    const std::int64_t key_blocks = (s.kv_length + blocks.block_kv - 1) / blocks.block_kv;
    if (end_entry - entry - 1 < rows) {
      return invalid_argument(name + " has " + std::to_string(stride) +
                              " entries a head, must have n + 1 for the n query blocks of all "
                              "sequences; they run out in sequence " +
                              std::to_string(b));
    }
    for (std::int64_t i = 0; i < rows; ++i, ++entry) {
      const std::int64_t begin = index_at(blocks.row_offsets, entry);
      const std::int64_t end = index_at(blocks.row_offsets, entry + 1);
      if (begin < 0) {
        return invalid_argument(at(name, entry) + " is " + std::to_string(begin) +
                                ", must be at least 0");
      }
      if (end < begin || end > blocks.columns.size) {
        return invalid_argument(
            at(name, entry + 1) + " is " + std::to_string(end) +
            ", must be at least the entry before it, " + std::to_string(begin) +
            ", and at most columns.size = " + std::to_string(blocks.columns.size));
      }
      JFA_RETURN_IF_ERROR(check_block_row(blocks, begin, end, key_blocks, b));
    }
  }
  return {};
}

}  // namespace

Status check_host_indices(const Problem& problem) {
  JFA_RETURN_IF_ERROR(check_offsets("kv_offsets", problem.kv_offsets, problem.k.rows));
  if (problem.kv_lengths.data != nullptr) {
    JFA_RETURN_IF_ERROR(check_lengths("kv_lengths", problem.kv_lengths, problem.kv_offsets));
  }
  if (!problem.broadcast_q) {
    JFA_RETURN_IF_ERROR(check_offsets("q_offsets", problem.q_offsets, problem.q.rows));
  }
  if (problem.q_lengths.data != nullptr) {
    JFA_RETURN_IF_ERROR(check_lengths("q_lengths", problem.q_lengths, problem.q_offsets));
  }
  if (!problem.block_sparse) return {};
  const std::int64_t stride = problem.blocks.row_offsets.size / problem.blocks.heads;
  for (std::int64_t head = 0; head < problem.blocks.heads; ++head) {
    JFA_RETURN_IF_ERROR(check_block_head(problem, head, stride));
  }
  return {};
}

}  // namespace jfa
