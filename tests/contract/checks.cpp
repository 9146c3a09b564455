#include "checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "problem/problem.hpp"
#include "reference/reference.hpp"

namespace jfa::contract {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Largest relative error of rounding to nearest, and largest absolute one below the normal range.
struct Rounding {
  double relative;
  double subnormal;
};

Rounding rounding_of(DType dtype) {
  if (dtype == DType::kBf16) return {0x1p-8, 0x1p-134};
  if (dtype == DType::kF16) return {0x1p-11, 0x1p-25};
  return {0x1p-24, 0x1p-150};
}

/// NOTE [error bounds]
/// A result may differ from the oracle by
///   - its own rounding to the tensors' type, a bound that each element must keep;
///   - the engine's noise of computing in fp32, relative to the norm of the sequence's result in
///     one head;
///   - where it rounds P and dS, operand_rounding, relative to that norm of out, and for gradients,
///     which may be much less than what they are sums of, to the norm of that: for dq and dk
///     once for P and once for dS, and with a softcap once for its slope;
///   - a floor, since sums cancel, dS = P (dP - delta) even to exactly 0 where a query sees a
///   single
///     key, and leave behind the noise of their terms: kFp32 times the norm that they would have if
///     each query saw one key, with q, k, v and dout standard normal.
/// Noise and floor are for the norm of the error. One element may be off by kElementNoise
/// times its share of that, since rows differ in size: with a causal mask the first sees one key
/// only.
///
/// One element of a gradient may besides be off by kElementOperands times what rounding P and dS
/// makes of its own terms.
constexpr double kElementNoise = 32;
constexpr double kElementOperands = 4;
constexpr double kFp32 = 0x1p-24;
constexpr double kSumFloor = 4;        ///< out and dv
constexpr double kGradientFloor = 16;  ///< dq and dk, behind two sums of head_dim products

struct Bounds {
  Rounding rounding;
  double noise = 0;     ///< relative to the norm
  double operands = 0;  ///< relative to the norm of what a gradient is a sum of
  double floor = 0;     ///< of the error's norm
};

/// The rows of one sequence in one head.
struct Block {
  std::int64_t begin, length, head;
};

struct Norms {
  double error = 0, expected = 0, rounding = 0, worst = 0, elements = 0;
};

double sum_over(const Block& block, const ConstTensorView& like, const std::vector<double>& of) {
  double sum = 0;
  for (std::int64_t row = block.begin; row < block.begin + block.length; ++row) {
    const auto first = (row * like.heads + block.head) * like.head_dim;
    for (std::int64_t d = 0; d < like.head_dim; ++d) sum += of[static_cast<std::size_t>(first + d)];
  }
  return sum;
}

/// Sums of squares over a block, how many elements make them up (under a window there may be rows
/// of zeros), and the largest excess of an element's error over its rounding.
Norms norms_of(const Block& block, const ConstTensorView& actual,
               const std::vector<double>& expected, const Bounds& bounds,
               const std::vector<double>* squares) {
  const Rounding& rounding = bounds.rounding;
  Norms sums;
  for (std::int64_t row = block.begin; row < block.begin + block.length; ++row) {
    for (std::int64_t d = 0; d < actual.head_dim; ++d) {
      const double x = reference::load(actual, row, block.head, d);
      const auto i = (row * actual.heads + block.head) * actual.head_dim + d;
      const double y = expected[static_cast<std::size_t>(i)];
      const double rounded = rounding.relative * std::abs(y) + rounding.subnormal;
      sums.error += (x - y) * (x - y);
      sums.expected += y * y;
      sums.elements += y != 0 ? 1 : 0;
      sums.rounding += rounded * rounded;
      const double terms =
          squares != nullptr ? std::sqrt((*squares)[static_cast<std::size_t>(i)]) : 0;
      const double excess = std::abs(x - y) - rounded - kElementOperands * bounds.operands * terms;
      if (!(excess <= sums.worst)) sums.worst = excess;  // keeps NaN
    }
  }
  return sums;
}

void expect_block(const char* name, const Block& block, const ConstTensorView& actual,
                  const std::vector<double>& expected, const Bounds& bounds,
                  const std::vector<double>* squares = nullptr) {
  if (block.length == 0) return;
  const Norms sums = norms_of(block, actual, expected, bounds, squares);
  const double terms = squares != nullptr ? sum_over(block, actual, *squares) : sums.expected;
  const double noise =
      bounds.noise * std::sqrt(sums.expected) + bounds.operands * std::sqrt(terms) + bounds.floor;
  EXPECT_LE(std::sqrt(sums.error), std::sqrt(sums.rounding) + noise)
      << name << " of rows " << block.begin << " + " << block.length << ", head " << block.head
      << ", norm " << std::sqrt(sums.expected);
  EXPECT_LE(sums.worst, kElementNoise * noise / std::sqrt(std::max(1.0, sums.elements)))
      << name << ", an element of rows " << block.begin << " + " << block.length << ", head "
      << block.head << ", norm " << std::sqrt(sums.expected);
}

void expect_zero_unless(const std::vector<bool>& used, const char* name,
                        const ConstTensorView& view) {
  for (std::int64_t row = 0; row < view.rows; ++row) {
    if (used[static_cast<std::size_t>(row)]) continue;
    for (std::int64_t head = 0; head < view.heads; ++head) {
      for (std::int64_t d = 0; d < view.head_dim; ++d) {
        ASSERT_EQ(reference::load(view, row, head, d), 0)
            << name << " of unused row " << row << ", head " << head << ", element " << d;
      }
    }
  }
}

/// lse is held to fp32 noise of the scores, whose size it shares; -inf must be exact.
void expect_lse(const Data& data, const LseView& actual, const std::vector<double>& expected,
                double noise) {
  for (std::int64_t head = 0; head < actual.heads; ++head) {
    for (std::int64_t row = 0; row < actual.rows; ++row) {
      const double x = actual.data[head * actual.head_stride + row];
      const double y = expected[static_cast<std::size_t>(head * actual.rows + row)];
      if (y == -kInf) {
        ASSERT_EQ(x, y) << "lse of head " << head << ", row " << row
                        << ", in use: " << data.used_out()[static_cast<std::size_t>(row)];
      } else {
        ASSERT_NEAR(x, y, noise * (1 + std::abs(y))) << "lse of head " << head << ", row " << row;
      }
    }
  }
}

class Comparison {
 public:
  Comparison(const Engine& engine, const Data& data) : data_(data) {
    const Scenario& s = data.scenario();
    throw_if_failed(check_inputs(data.inputs(), data.options(), {}, problem_));
    throw_if_failed(check_host_indices(problem_));
    bounds_.rounding = rounding_of(s.dtype);
    lse_noise_ = engine.noise();
    bounds_.noise = engine.noise();
    bounds_.operands = engine.operand_rounding(s.dtype);
    expected_ = reference::forward(problem_);
  }

  void forward(const Forward& actual) const {
    EXPECT_TRUE(actual.padding_intact());
    expect_zero_unless(data_.used_out(), "out", actual.out);
    expect_lse(data_, actual.lse, expected_.lse, lse_noise_);
    for_each_block([&](std::int64_t b, std::int64_t head) {
      expect_block("out", out_block(b, head), actual.out, expected_.out, sum_bounds(1, b));
    });
  }

  void backward(const Forward& given, const Trio& actual) const {
    EXPECT_TRUE(actual.padding_intact());
    const HostTensor dlse = dlse_given(given.out);
    const ConstLseView dlse_view = dlse.lse_view();
    reference::BackwardResult squares;
    const auto expected = reference::backward(problem_, data_.dout(), &dlse_view, &squares);
    expect_zero_unless(data_.used_kv(), "dk", actual.k);
    expect_zero_unless(data_.used_kv(), "dv", actual.v);
    if (!problem_.broadcast_q) expect_zero_unless(data_.used_out(), "dq", actual.q);
    expect_dq(actual.q, expected.dq, squares.dq);
    for_each_block([&](std::int64_t b, std::int64_t head) {
      if (head % problem_.group_size != 0) return;
      const Block block = kv_block(b, head / problem_.group_size);
      expect_block("dk", block, actual.k, expected.dk, gradient_bounds(problem_.group_size, b),
                   &squares.dk);
      expect_block("dv", block, actual.v, expected.dv, sum_bounds(problem_.group_size, b),
                   &squares.dv);
    });
  }

 private:
  template <typename Check>
  void for_each_block(Check&& check) const {
    for (std::int64_t b = 0; b < problem_.batch; ++b) {
      for (std::int64_t head = 0; head < problem_.heads_q; ++head) check(b, head);
    }
  }

  const Lengths& lengths(std::int64_t b) const {
    return data_.scenario().sequences[static_cast<std::size_t>(b)];
  }

  Block out_block(std::int64_t b, std::int64_t head) const {
    return {data_.begin(static_cast<std::size_t>(b)).q, lengths(b).rows.q, head};
  }

  Block kv_block(std::int64_t b, std::int64_t head) const {
    return {data_.begin(static_cast<std::size_t>(b)).kv, lengths(b).rows.kv, head};
  }

  /// With the floor of a result to which the sequence's queries add `terms` times each.
  Bounds with_floor(double factor, double size, std::int64_t terms, std::int64_t b) const {
    Bounds bounds = bounds_;
    bounds.floor =
        factor * kFp32 * size * std::sqrt(static_cast<double>(terms * lengths(b).rows.q));
    return bounds;
  }

  Bounds sum_bounds(std::int64_t terms, std::int64_t b) const {
    return with_floor(kSumFloor, std::sqrt(static_cast<double>(problem_.head_dim)), terms, b);
  }

  Bounds gradient_bounds(std::int64_t terms, std::int64_t b) const {
    const double size = std::abs(problem_.softmax_scale) * static_cast<double>(problem_.head_dim);
    Bounds bounds = with_floor(kGradientFloor, size, terms, b);
    bounds.operands *= problem_.softcap > 0 ? 3 : 2;
    return bounds;
  }

  void expect_dq(const ConstTensorView& actual, const std::vector<double>& expected,
                 const std::vector<double>& squares) const {
    if (!problem_.broadcast_q) {
      for_each_block([&](std::int64_t b, std::int64_t head) {
        expect_block("dq", out_block(b, head), actual, expected, gradient_bounds(1, b), &squares);
      });
      return;
    }
    for (std::int64_t head = 0; head < problem_.heads_q; ++head) {
      const Block block{0, actual.rows, head};
      expect_block("dq", block, actual, expected,
                   problem_.batch > 0 ? gradient_bounds(problem_.batch, 0) : bounds_, &squares);
    }
  }

  /// Backward is given out as forward rounded it, so its delta is dout . out of that. The oracle
  /// computes its own out; the difference reaches it as part of dlse, since dS = P (dP - delta +
  /// dlse). What remains is the backward pass's own error.
  HostTensor dlse_given(const ConstTensorView& out) const {
    HostTensor dlse(DType::kF32, {problem_.heads_q, problem_.out_rows});
    dlse.fill(0);
    const std::optional<ConstLseView> flowing = data_.dlse();
    for (std::int64_t row = 0; row < problem_.out_rows; ++row) {
      if (!data_.used_out()[static_cast<std::size_t>(row)]) continue;
      for (std::int64_t head = 0; head < problem_.heads_q; ++head) {
        double sum = flowing ? flowing->data[head * flowing->head_stride + row] : 0;
        for (std::int64_t d = 0; d < problem_.head_dim; ++d) {
          const auto i = (row * problem_.heads_q + head) * problem_.head_dim + d;
          sum += reference::load(data_.dout(), row, head, d) *
                 (expected_.out[static_cast<std::size_t>(i)] - reference::load(out, row, head, d));
        }
        dlse.set(head * problem_.out_rows + row, sum);
      }
    }
    return dlse;
  }

  const Data& data_;
  Problem problem_;
  Bounds bounds_;
  double lse_noise_ = 0;
  reference::ForwardResult expected_;
};

}  // namespace

Forward::Forward(const Data& data)
    : out_memory(data.scenario().layout,
                 {data.scenario().dtype,
                  data.out_rows(),
                  {data.scenario().heads_q()},
                  data.scenario().head_dim},
                 data.scenario().padding),
      lse_memory(DType::kF32, {data.scenario().heads_q() * (data.out_rows() + 1)}),
      out(out_memory.views()[0]),
      lse{reinterpret_cast<float*>(lse_memory.data()), data.scenario().heads_q(), data.out_rows(),
          data.out_rows() + 1} {
  std::memset(lse_memory.data(), 0xFF, lse_memory.bytes());
}

std::string Forward::bytes() const {
  return out_memory.bytes() +
         std::string(reinterpret_cast<const char*>(lse_memory.data()), lse_memory.bytes());
}

bool Forward::padding_intact() const {
  for (std::int64_t head = 0; head < lse.heads; ++head) {
    if (!std::isnan(lse.data[head * lse.head_stride + lse.rows])) return false;
  }
  return out_memory.padding_intact();
}

void Forward::forget_unused_rows(const Data& data) {
  for (std::int64_t row = 0; row < lse.rows; ++row) {
    if (data.used_out()[static_cast<std::size_t>(row)]) continue;
    fill_row(out, row, std::nan(""));
    for (std::int64_t head = 0; head < lse.heads; ++head) {
      lse.data[head * lse.head_stride + row] = std::nanf("");
    }
  }
}

Forward run_forward(const Engine& engine, const Data& data, const Way& way) {
  Forward forward(data);
  engine.forward(data.inputs(), data.options(), {forward.out, forward.lse}, way);
  return forward;
}

bool has_gradients(const Engine& engine, const Scenario& scenario) {
  const Limits limits = engine.limits();
  return scenario.head_dim <= limits.max_backward_head_dim &&
         (scenario.softcap == 0 || scenario.head_dim <= limits.max_backward_capped_head_dim) &&
         (!scenario.blocks || scenario.head_dim <= limits.max_backward_listed_head_dim);
}

Trio run_backward(const Engine& engine, const Data& data, const Forward& forward, const Way& way) {
  const Scenario& s = data.scenario();
  Trio gradients(s.layout, s.dtype, data.rows(), {s.heads_q(), s.heads_kv}, s.head_dim, s.padding);
  if (!has_gradients(engine, s)) return gradients;
  const BackwardInputs given{data.dout(), forward.out, forward.lse, data.dlse()};
  engine.backward(data.inputs(), data.options(), given, {gradients.q, gradients.k, gradients.v},
                  way);
  return gradients;
}

void expect_contract(const Engine& engine, const Data& data, const Way& way) {
  const std::string inputs_before = data.bytes();
  Forward forward = run_forward(engine, data, way);
  const Comparison comparison(engine, data);
  comparison.forward(forward);
  if (has_gradients(engine, data.scenario())) {
    forward.forget_unused_rows(data);
    const Trio gradients = run_backward(engine, data, forward, way);
    comparison.backward(forward, gradients);
  }
  EXPECT_TRUE(data.bytes() == inputs_before) << "inputs were written to";
}

}  // namespace jfa::contract
