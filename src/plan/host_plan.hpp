// The schedule of a batch whose offsets are in host memory.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/mask_bounds.hpp"
#include "problem/problem.hpp"

namespace jfa {

/// Made once from offsets, lengths and mask; holds copies, so it outlives the arrays it came from.
struct HostPlan {
  std::vector<Sequence> sequences;  ///< `[batch]`
};

/// The problem's indices are checked.
HostPlan make_host_plan(const Problem& problem);

/// Whether `plan` was made for this problem's offsets, lengths and mask.
Status check_plan(const HostPlan& plan, const Problem& problem);

}  // namespace jfa
