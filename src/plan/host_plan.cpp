#include "plan/host_plan.hpp"

#include <string>

namespace jfa {

HostPlan make_host_plan(const Problem& problem) {
  HostPlan plan;
  plan.sequences.reserve(static_cast<std::size_t>(problem.batch));
  for (std::int64_t b = 0; b < problem.batch; ++b) plan.sequences.push_back(sequence(problem, b));
  return plan;
}

}  // namespace jfa
