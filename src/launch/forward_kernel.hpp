// A compiled forward kernel behind plain function pointers, and the choice of one for a problem.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/schedule.hpp"
#include "problem/problem.hpp"

namespace jfa {

/// What a forward kernel is compiled for.
struct ForwardTraits {
  DType dtype;
  int head_dim;    ///< of its tiles: takes tensors with up to so much
  int tile_rows;   ///< queries a tile
  int short_keys;  ///< meant for sequences of up to so many keys; 0: for longer ones
  bool masked;     ///< takes windows and causal masks
  bool listed;     ///< visits the blocks of a block-sparse mask; else takes none
  bool capped;     ///< applies a softcap; else takes none
};

/// Device memory that a call needs besides its tensors.
struct ForwardScratch {
  const PlannedSequence* plan = nullptr;
  int* ticket = nullptr;  ///< holds 0 when the kernel starts and when it is done
};

/// `Queue` is what work on a machine is enqueued to.
template <class Queue>
struct ForwardKernel {
  ForwardTraits traits;
  ItemShape (*item_shape)(int heads_q, int heads_kv, int list_heads);
  void (*launch)(const Problem& problem, const ForwardOutputs& outputs,
                 const ForwardScratch& scratch, Queue& queue);
};

/// How `kernel` wants a problem cut.
template <class Queue>
ItemShape item_shape_of(const ForwardKernel<Queue>& kernel, const Problem& problem) {
  return kernel.item_shape(static_cast<int>(problem.heads_q), static_cast<int>(problem.heads_kv),
                           problem.block_sparse ? static_cast<int>(problem.blocks.heads) : 0);
}

/// "bf16 head_dim 128, masked": for people.
std::string describe(const ForwardTraits& traits);

/// Whether a kernel can compute a problem, and whether it is the better one of two that can: small
/// tiles, nothing that the problem does not need, and what suits lengths as far as shapes tell.
bool can_compute(const ForwardTraits& traits, const Problem& problem) noexcept;
bool better(const ForwardTraits& a, const ForwardTraits& b, const Problem& problem) noexcept;

/// Why no kernel of this build can compute a problem.
Status no_kernel(const Problem& problem, std::span<const ForwardTraits> kernels);

/// The best of `kernels` for a problem, which outlive the choice.
template <class Queue>
Status choose(std::span<const ForwardKernel<Queue>> kernels, const Problem& problem,
              const ForwardKernel<Queue>*& chosen) {
  chosen = nullptr;
  for (const ForwardKernel<Queue>& kernel : kernels) {
    if (!can_compute(kernel.traits, problem)) continue;
    if (chosen == nullptr || better(kernel.traits, chosen->traits, problem)) chosen = &kernel;
  }
  if (chosen != nullptr) return {};
  std::vector<ForwardTraits> all;
  for (const ForwardKernel<Queue>& kernel : kernels) all.push_back(kernel.traits);
  return no_kernel(problem, all);
}

}  // namespace jfa
