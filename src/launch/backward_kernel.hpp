// A compiled backward kernel, with the passes around it, behind plain function pointers.
#pragma once

#include <cstddef>

#include "launch/kernel_traits.hpp"
#include "plan/schedule.hpp"

namespace jfa {

/// What a call needs of device memory besides its tensors and the plan.
struct BackwardScratch {
  const PlannedSequence* plan = nullptr;
  const PlannedSequence* plan_by_queries = nullptr;  ///< where dQ is made apart
  int* ticket = nullptr;
  float* statistics = nullptr;
  float* dq_sum = nullptr;
  float* dq_kept = nullptr;
  int* handed = nullptr;
  int* turns = nullptr;  ///< null: not deterministic
};

/// Bytes of each part, from shapes; a part that is not needed has none.
struct BackwardSizes {
  std::size_t statistics = 0;
  std::size_t dq_sum = 0;
  std::size_t dq_kept = 0;
  std::size_t handed = 0;
  std::size_t turns = 0;
};

/// `Queue` is what work on a machine is enqueued to; `blocks` are its blocks of a persistent
/// kernel.
template <class Queue>
struct BackwardKernel {
  static constexpr const char* kDirection = "backward";

  KernelTraits traits;
  KeyShape (*key_shape)(const Problem& problem, int blocks);
  ItemShape (*item_shape)(const Problem& problem);  ///< of the queries; null: not planned
  BackwardSizes (*sizes)(const Problem& problem, int blocks);
  void (*launch)(const Problem& problem, const BackwardInputs& given,
                 const BackwardOutputs& outputs, const BackwardScratch& scratch, Queue& queue);
};

}  // namespace jfa
