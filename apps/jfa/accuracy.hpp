// Results held against the fp64 reference.
//
// Errors are relative Frobenius errors, ||result - exact|| / ||exact||. Allowed are 1e-5, and in
// bf16 and fp16 twice what rounding costs beside: the rounding of the exact result, and for dq and
// dk that of `out`, which the backward pass reads rounded.
//
// Sums may cancel: a sequence of one key has dq = dk = 0. Beside the above, 1e-6 of the size that
// dq and dk have where nothing cancels is allowed, and 1e-6 a value of lse; errors are relative to
// at least 1e-3 of that size.
#pragma once

#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "computation.hpp"

namespace jfa::tool {

struct Comparison {
  std::string output;
  std::string against;  ///< "fp64", or the tensor it is held against
  double error = 0;
  double allowed = 0;
  bool ok() const noexcept { return error <= allowed; }  ///< false for NaN
};

/// Compares out and lse, and with gradients dq, dk and dv.
std::vector<Comparison> compare_with_reference(const Batch& batch, const Options& options,
                                               const Gradients* gradients,
                                               const Computation& computation);

/// Compares `result` with a tensor of the same shape that somebody else computed.
Comparison compare_with(const std::string& output, const HostTensor& result,
                        const std::string& name, const HostTensor& expected, double allowed);

/// Seconds the reference takes, roughly: to warn, to say how far one is. `pair_elements`: unmasked
/// query-key pairs times heads_q times head_dim.
double reference_seconds(double pair_elements, bool backward);

}  // namespace jfa::tool
