#include "launch/forward_kernel.hpp"

#include <string>

namespace jfa {
namespace {

std::string name_of(DType dtype) { return dtype == DType::kBf16 ? "bf16" : "fp16"; }

bool is_masked(const Problem& problem) noexcept {
  return problem.window.left >= 0 || problem.window.right >= 0;
}

}  // namespace

std::string describe(const ForwardTraits& traits) {
  return name_of(traits.dtype) + " head_dim " + std::to_string(traits.head_dim) +
         (traits.masked ? ", masked" : "") + (traits.capped ? ", softcap" : "");
}

bool can_compute(const ForwardTraits& traits, const Problem& problem) noexcept {
  return traits.dtype == problem.q.dtype && traits.head_dim >= problem.head_dim &&
         (traits.masked || !is_masked(problem)) && traits.capped == (problem.softcap > 0) &&
         !problem.block_sparse;
}

bool better(const ForwardTraits& a, const ForwardTraits& b) noexcept {
  return a.head_dim != b.head_dim ? a.head_dim < b.head_dim : b.masked && !a.masked;
}

Status no_kernel(const Problem& problem, std::span<const ForwardTraits> kernels) {
  if (problem.block_sparse) {
    return {ErrorCode::kUnsupported,
            "mask.block_sparse is given, must be absent: no kernel of this build takes it"};
  }
  std::string built;
  for (const ForwardTraits& traits : kernels) {
    built += (built.empty() ? "" : "; ") + describe(traits);
  }
  return {ErrorCode::kUnsupported, "no kernel of this build takes " + name_of(problem.q.dtype) +
                                       " with head_dim = " + std::to_string(problem.head_dim) +
                                       (is_masked(problem) ? ", a window" : "") +
                                       (problem.softcap > 0 ? ", a softcap" : "") +
                                       ", must be one that takes at least that: " + built};
}

}  // namespace jfa
