// The public C++ API: checks, plans, hands over to an engine.
#include "jfa/attention.hpp"

#include <memory>
#include <new>
#include <string>

#include "cpu/engine.hpp"
#include "jfa/version.hpp"
#include "plan/host_plan.hpp"
#include "problem/problem.hpp"

namespace jfa {

struct Plan::Impl {
  HostPlan host;
};

namespace {

Problem checked_problem(const Inputs& inputs, const Options& options, const Execution& execution) {
  Problem problem;
  throw_if_failed(check_inputs(inputs, options, execution, problem));
  return problem;
}

/// Reports a lack of memory as the library's own error.
template <typename Function>
auto guarded(Function&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, "out of host memory");
  }
}

/// Runs `engine(plan)` with the caller's plan, or one made for this call.
template <typename Engine>
void run_planned(const Problem& problem, const Plan* plan, Engine&& engine) {
  throw_if_failed(check_host_indices(problem));
  if (plan == nullptr) {
    throw_if_failed(engine(make_host_plan(problem)));
    return;
  }
  throw_if_failed(check_plan(plan->impl().host, problem));
  throw_if_failed(engine(plan->impl().host));
}

}  // namespace

Plan::Plan(const Inputs& inputs, const Options& options, const Execution& execution) {
  guarded([&] {
    const Problem problem = checked_problem(inputs, options, execution);
    throw_if_failed(check_host_indices(problem));
    impl_ = std::make_unique<Impl>(Impl{make_host_plan(problem)});
  });
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

WorkspaceSizes workspace_sizes(const Inputs& inputs, const Options& options,
                               const Execution& execution) {
  return guarded([&] {
    const Problem problem = checked_problem(inputs, options, execution);
    return WorkspaceSizes{cpu::forward_workspace(problem, execution.threads),
                          cpu::backward_workspace(problem, execution.threads)};
  });
}

void forward(const Inputs& inputs, const Options& options, const ForwardOutputs& outputs,
             const Execution& execution, const Plan* plan) {
  guarded([&] {
    const Problem problem = checked_problem(inputs, options, execution);
    throw_if_failed(check_forward_outputs(problem, outputs, execution));
    run_planned(problem, plan, [&](const HostPlan& host) {
      return cpu::forward(problem, host, outputs, execution);
    });
  });
}

void backward(const Inputs& inputs, const Options& options, const BackwardInputs& given,
              const BackwardOutputs& outputs, const Execution& execution, const Plan* plan) {
  guarded([&] {
    const Problem problem = checked_problem(inputs, options, execution);
    throw_if_failed(check_backward(problem, given, outputs, execution));
    run_planned(problem, plan, [&](const HostPlan& host) {
      return cpu::backward(problem, host, given, outputs, execution);
    });
  });
}

const char* version() noexcept { return JFA_VERSION; }

}  // namespace jfa
