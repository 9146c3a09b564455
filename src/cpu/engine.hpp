// The CPU engine: blocked FlashAttention on all cores. Deterministic whatever the thread count.
#pragma once

#include <cstddef>

#include "plan/host_plan.hpp"
#include "problem/problem.hpp"

namespace jfa::cpu {

/// Bytes of scratch, proportional to threads and not to tokens. 64-byte aligned.
std::size_t forward_workspace(const Problem& problem, int threads);
std::size_t backward_workspace(const Problem& problem, int threads);

/// All arguments are checked; the plan is that of the problem. Fails only for lack of memory or of
/// workspace, before anything is written.
Status forward(const Problem& problem, const HostPlan& plan, const ForwardOutputs& outputs,
               const Execution& execution);
Status backward(const Problem& problem, const HostPlan& plan, const BackwardInputs& given,
                const BackwardOutputs& outputs, const Execution& execution);

}  // namespace jfa::cpu
