// The oracle: attention in fp64 by its definition, one query row at a time, sharing no code with
// any engine. Slow: quadratic time, one row of scores in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "problem/problem.hpp"

namespace jfa::reference {

struct ForwardResult {
  std::vector<double> out;  ///< `[out_rows, heads_q, head_dim]`
  std::vector<double> lse;  ///< `[heads_q, out_rows]`
};

struct BackwardResult {
  std::vector<double> dq;  ///< `[q.rows, heads_q, head_dim]`
  std::vector<double> dk;  ///< `[k.rows, heads_kv, head_dim]`
  std::vector<double> dv;  ///< as dk
};

/// The problem's tensors and offsets are in host memory and checked.
ForwardResult forward(const Problem& problem);

/// Gradients of sum(out * dout) + sum(lse * dlse), from the inputs alone. Where `squares` is given,
/// it gets the sums of squares of what the gradients are sums of.
BackwardResult backward(const Problem& problem, const ConstTensorView& dout,
                        const ConstLseView* dlse, BackwardResult* squares = nullptr);

/// Element (row, head, d) of a bf16, fp16 or fp32 tensor.
double load(const ConstTensorView& view, std::int64_t row, std::int64_t head, std::int64_t d);

}  // namespace jfa::reference
