// A compiled forward kernel behind plain function pointers.
#pragma once

#include <cstdint>
#include <string>

#include "launch/kernel_traits.hpp"
#include "plan/schedule.hpp"

namespace jfa {

struct ForwardTraits : KernelTraits {
  int tile_rows;   ///< queries a tile
  int short_keys;  ///< meant for sequences of up to so many keys; 0: for longer ones
  bool tiny;       ///< meant for sequences of a tile's rows, and as many keys
};
std::string describe(const ForwardTraits& traits);

/// Besides what suits every kernel, what suits lengths as far as shapes tell.
bool better(const ForwardTraits& a, const ForwardTraits& b, const Problem& problem) noexcept;

/// Device memory that a call needs besides its tensors.
struct ForwardScratch {
  const PlannedSequence* plan = nullptr;
  int* ticket = nullptr;  ///< holds 0 when the kernel starts and when it is done
};

/// `Queue` is what work on a machine is enqueued to.
template <class Queue>
struct ForwardKernel {
  static constexpr const char* kDirection = "forward";

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

}  // namespace jfa
