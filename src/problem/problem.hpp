// A checked problem: what every engine computes from. Only src/problem makes one.
#pragma once

#include <cstdint>

#include "jfa/attention.hpp"
#include "problem/status.hpp"

namespace jfa {

/// The arguments of a call after every check, defaults resolved.
struct Problem {
  ConstTensorView q, k, v;
  IndexView q_offsets;   ///< no data with broadcast_q
  IndexView kv_offsets;  ///< `[batch + 1]`
  IndexView q_lengths;   ///< no data when absent
  IndexView kv_lengths;  ///< no data when absent
  std::int64_t batch = 0;
  bool broadcast_q = false;
  std::int64_t out_rows = 0;  ///< rows of out and lse
  std::int64_t head_dim = 0;
  std::int64_t heads_q = 0;
  std::int64_t heads_kv = 0;
  std::int64_t group_size = 1;  ///< query heads that share a key/value head
  Window window;                ///< causal folded in; a side that bounds nothing is -1
  bool block_sparse = false;
  BlockSparse blocks;  ///< valid when block_sparse
  double softmax_scale = 0;
  double softcap = 0;  ///< 0: off
  bool deterministic = false;
};

/// Where one sequence lies: first row and rows in use on each side.
struct Sequence {
  std::int64_t q_begin = 0;  ///< row of q, dq
  std::int64_t q_length = 0;
  std::int64_t kv_begin = 0;  ///< row of k, v, dk, dv
  std::int64_t kv_length = 0;
  std::int64_t out_begin = 0;  ///< row of out, lse, dout
};

/// Element i of an index array in host memory.
inline std::int64_t index_at(const IndexView& view, std::int64_t i) noexcept {
  return view.dtype == DType::kI32 ? static_cast<const std::int32_t*>(view.data)[i]
                                   : static_cast<const std::int64_t*>(view.data)[i];
}

/// Sequence b of a problem whose offsets are in host memory and checked.
inline Sequence sequence(const Problem& problem, std::int64_t b) noexcept {
  Sequence s;
  s.kv_begin = index_at(problem.kv_offsets, b);
  s.kv_length = problem.kv_lengths.data ? index_at(problem.kv_lengths, b)
                                        : index_at(problem.kv_offsets, b + 1) - s.kv_begin;
  if (problem.broadcast_q) {
    s.q_length = problem.q.rows;
    s.out_begin = b * problem.q.rows;
    return s;
  }
  s.q_begin = s.out_begin = index_at(problem.q_offsets, b);
  s.q_length = problem.q_lengths.data ? index_at(problem.q_lengths, b)
                                      : index_at(problem.q_offsets, b + 1) - s.q_begin;
  return s;
}

/// Checks everything that shapes, types, strides and pointers tell; reads no tensor and no offset.
Status check_inputs(const Inputs& inputs, const Options& options, const Execution& execution,
                    Problem& problem);

/// Checks offsets, lengths and block lists by value; they must be in host memory.
Status check_host_indices(const Problem& problem);

/// Checks the outputs and workspace of a forward call against the problem, overlaps included.
Status check_forward_outputs(const Problem& problem, const ForwardOutputs& outputs,
                             const Execution& execution);

/// Checks what a backward call reads and writes besides the inputs.
Status check_backward(const Problem& problem, const BackwardInputs& given,
                      const BackwardOutputs& outputs, const Execution& execution);

}  // namespace jfa
