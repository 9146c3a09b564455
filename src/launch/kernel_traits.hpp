// What compiled kernels take, and the choice of one for a problem.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "problem/problem.hpp"

namespace jfa {

/// What a kernel is compiled for.
struct KernelTraits {
  DType dtype;
  int head_dim;  ///< of its tiles: takes tensors with up to so much
  bool masked;   ///< takes windows and causal masks
  bool listed;   ///< visits the blocks of a block-sparse mask; else takes none
  bool capped;   ///< applies a softcap; else takes none
  /// 0: any queries. Else broadcast ones only, so many or up to 63 fewer, of as many heads as there
  /// are of keys, each of which all of them may see from its first on.
  int shared_queries = 0;
  bool apart =
      false;  ///< backward: dQ by a kernel of its own, no broadcast queries; same bits always
  bool same_bits = true;  ///< can keep them, also with other than broadcast queries
  /// 0; or, apart, also with a kernel for sequences of few queries, which is worth it from so many
  /// pairs of a sequence and a head on.
  int few_from = 0;
  /// 0; or, backward, for sequences of so many queries and so many keys, on average, of half as
  /// many under a mask.
  int long_from = 0;
};

/// "bf16 head_dim 128, masked": for people.
std::string describe(const KernelTraits& traits);

/// Whether gradients are faster where dQ is made apart, or have to be the same bits always.
bool wants_apart(const Problem& problem) noexcept;

/// Whether a kernel for sequences of so many `tokens` on average serves a problem better.
bool has_long_sequences(const Problem& problem, int tokens) noexcept;

/// Whether a kernel can compute a problem.
bool can_compute(const KernelTraits& traits, const Problem& problem) noexcept;

/// Below 0 where `a` is the better one of two kernels that can compute a problem, above 0 where `b`
/// is: small tiles, nothing that the problem does not need.
int compare(const KernelTraits& a, const KernelTraits& b) noexcept;
inline bool better(const KernelTraits& a, const KernelTraits& b, const Problem& problem) noexcept {
  if (a.few_from != b.few_from) return a.few_from > b.few_from;
  if (a.apart != b.apart) return a.apart == wants_apart(problem);
  if (const int order = compare(a, b); order != 0) return order < 0;
  if ((a.long_from > 0) == (b.long_from > 0)) return false;
  return has_long_sequences(problem, std::max(a.long_from, b.long_from)) == (a.long_from > 0);
}

/// Why none of the kernels of this build, as described, can compute a problem in a direction.
Status no_kernel(const char* direction, const Problem& problem,
                 const std::vector<std::string>& kernels);

/// The best of `kernels` for a problem, which outlive the choice.
template <class Kernel>
Status choose(std::span<const Kernel> kernels, const Problem& problem, const Kernel*& chosen) {
  chosen = nullptr;
  for (const Kernel& kernel : kernels) {
    if (!can_compute(kernel.traits, problem)) continue;
    if (chosen == nullptr || better(kernel.traits, chosen->traits, problem)) chosen = &kernel;
  }
  if (chosen != nullptr) return {};
  std::vector<std::string> all;
  for (const Kernel& kernel : kernels) all.push_back(describe(kernel.traits));
  return no_kernel(Kernel::kDirection, problem, all);
}

}  // namespace jfa
