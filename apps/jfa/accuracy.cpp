#include "accuracy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "problem/problem.hpp"
#include "reference/reference.hpp"

namespace jfa::tool {
namespace {

using Values = std::vector<double>;

constexpr double kRelative = 1e-5;   // of the exact result
constexpr double kCancelled = 1e-6;  // of the size without cancellation
constexpr double kSmallest = 1e-3;   // errors are relative to at least this much of that size
constexpr double kRoundings = 2;     // times what rounding costs

Values values_of(const HostTensor& tensor) {
  Values values(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = tensor.at(static_cast<std::int64_t>(i));
  return values;
}

/// ||a - b||, equal infinities counting as equal.
double distance(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) sum += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return std::sqrt(sum);
}

/// ||a|| over what is not infinite.
double norm(const Values& a) {
  double sum = 0;
  for (const double value : a) sum += std::isinf(value) ? 0 : value * value;
  return std::sqrt(sum);
}

/// Norm of a row of one head, as root mean square.
double row_norm(const HostTensor& tensor) {
  const auto rows = static_cast<double>(tensor.shape().at(0) * tensor.shape().at(1));
  return rows == 0 ? 0 : norm(values_of(tensor)) / std::sqrt(rows);
}

double rounding_distance(DType dtype, const Values& exact) {
  if (dtype == DType::kF32) return 0;  // within kRelative
  HostTensor rounded(dtype, {static_cast<std::int64_t>(exact.size())});
  for (std::int64_t i = 0; i < rounded.size(); ++i) {
    rounded.set(i, exact[static_cast<std::size_t>(i)]);
  }
  return distance(values_of(rounded), exact);
}

/// `uncancelled`: the size of the result where its sums do not cancel. `given`: how far the exact
/// result moves because its inputs come rounded.
Comparison compare(const std::string& output, const HostTensor& result, const Values& exact,
                   double uncancelled, double given) {
  const double exact_norm = norm(exact);
  const double rounding = rounding_distance(result.dtype(), exact) + given;
  const double allowed = kRelative * exact_norm + kCancelled * uncancelled + kRoundings * rounding;
  const double difference = distance(values_of(result), exact);
  const double size = std::max(exact_norm, kSmallest * uncancelled);
  if (difference == 0 && size == 0) return {output, "fp64", 0, kRelative};
  return {output, "fp64", difference / size, allowed / size};
}

/// dlse so changed that the reference's gradients are those of a backward pass that reads `out` as
/// it was stored: dout * out is taken from dout * v by the same path that adds dlse.
HostTensor dlse_for_stored_out(const Gradients& gradients, const HostTensor& stored,
                               const Values& exact) {
  const std::int64_t rows = stored.shape()[0];
  const std::int64_t heads = stored.shape()[1];
  const std::int64_t head_dim = stored.shape()[2];
  HostTensor dlse(DType::kF32, {heads, rows});
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t head = 0; head < heads; ++head) {
      const std::int64_t first = (row * heads + head) * head_dim;
      double sum = gradients.dlse ? gradients.dlse->at(head * rows + row) : 0;
      for (std::int64_t i = first; i < first + head_dim; ++i) {
        sum += gradients.dout.at(i) * (exact[static_cast<std::size_t>(i)] - stored.at(i));
      }
      dlse.set(head * rows + row, sum);
    }
  }
  return dlse;
}

/// Holds the gradients of one batch against the reference.
class GradientCheck {
 public:
  GradientCheck(const Batch& batch, const Problem& problem, const Gradients& gradients,
                const Computation& computation, const Values& exact_out)
      : problem_(problem),
        gradients_(gradients),
        computation_(computation),
        exact_out_(exact_out),
        exact_(gradients_of(gradients.dlse ? &*gradients.dlse : nullptr)) {
    const double scores = std::abs(problem.softmax_scale) * row_norm(gradients.dout) *
                          row_norm(batch.v) / std::sqrt(static_cast<double>(problem.head_dim));
    const double rows = std::sqrt(static_cast<double>(problem.out_rows * problem.heads_q));
    dq_size_ = scores * rows * row_norm(batch.k);
    dk_size_ = scores * rows * row_norm(batch.q);
  }

  std::vector<Comparison> compare_all() const {
    std::vector<Comparison> comparisons = compare_given(exact_);
    const bool all_ok = std::all_of(comparisons.begin(), comparisons.end(),
                                    [](const Comparison& c) { return c.ok(); });
    if (all_ok || computation_.out.dtype() == DType::kF32) return comparisons;
    // Only now, since it costs as much again.
    const HostTensor dlse = dlse_for_stored_out(gradients_, computation_.out, exact_out_);
    return compare_given(gradients_of(&dlse));
  }

 private:
  reference::BackwardResult gradients_of(const HostTensor* dlse) const {
    ConstLseView view;
    if (dlse != nullptr) view = dlse->lse_view();
    return reference::backward(problem_, gradients_.dout.view(), dlse != nullptr ? &view : nullptr);
  }

  /// `given`: the exact gradients of the pass's inputs as they were stored.
  std::vector<Comparison> compare_given(const reference::BackwardResult& given) const {
    return {compare("dq", computation_.dq, exact_.dq, dq_size_, distance(given.dq, exact_.dq)),
            compare("dk", computation_.dk, exact_.dk, dk_size_, distance(given.dk, exact_.dk)),
            compare("dv", computation_.dv, exact_.dv, 0, 0)};
  }

  const Problem& problem_;
  const Gradients& gradients_;
  const Computation& computation_;
  const Values& exact_out_;
  reference::BackwardResult exact_;
  double dq_size_ = 0;  ///< where nothing cancels
  double dk_size_ = 0;
};

}  // namespace

std::vector<Comparison> compare_with_reference(const Batch& batch, const Options& options,
                                               const Gradients* gradients,
                                               const Computation& computation) {
  Problem problem;
  throw_if_failed(check_inputs(batch.inputs(), options, {}, problem));
  throw_if_failed(check_host_indices(problem));
  const reference::ForwardResult exact = reference::forward(problem);
  const double lse_size = std::sqrt(static_cast<double>(exact.lse.size()));
  std::vector<Comparison> comparisons{compare("out", computation.out, exact.out, 0, 0),
                                      compare("lse", computation.lse, exact.lse, lse_size, 0)};
  if (gradients == nullptr) return comparisons;
  const GradientCheck check(batch, problem, *gradients, computation, exact.out);
  for (Comparison& comparison : check.compare_all()) comparisons.push_back(std::move(comparison));
  return comparisons;
}

Comparison compare_with(const std::string& output, const HostTensor& result,
                        const std::string& name, const HostTensor& expected, double allowed) {
  return {output, name, relative_error(result, values_of(expected)), allowed};
}

double reference_seconds(double pair_elements, bool backward) {
  // Measured on two cores of about 3 GHz.
  constexpr double kForward = 1e-9;
  constexpr double kBackward = 3e-9;
  return pair_elements * (backward ? kForward + kBackward : kForward);
}

}  // namespace jfa::tool
