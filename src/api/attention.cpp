// The public C++ API: checks and hands over to an engine.
#include "jfa/attention.hpp"

#include <memory>
#include <new>
#include <string>

#include "jfa/version.hpp"
#include "plan/index_fault.hpp"
#include "problem/engine.hpp"

namespace jfa {

struct Plan::Impl {
  Device device;
  std::unique_ptr<EnginePlan> plan;
};

namespace {

/// A call's engine and its checked arguments.
struct Call {
  Call(const Inputs& inputs, const Options& options, const Execution& execution) {
    throw_if_failed(find_engine(execution.device, engine));
    throw_if_failed(engine->available());
    throw_if_failed(check_inputs(inputs, options, execution, problem));
  }

  const Engine* engine = nullptr;
  Problem problem;
};

/// Reports a lack of memory as the library's own error.
template <typename Function>
auto guarded(Function&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, "out of host memory");
  }
}

const EnginePlan* plan_for(const Plan* plan, const Execution& execution) {
  if (plan == nullptr) return nullptr;
  if (plan->impl().device != execution.device) {
    throw Error(ErrorCode::kInvalidArgument,
                "plan was made for another device than execution.device, must be made for it");
  }
  return plan->impl().plan.get();
}

}  // namespace

Plan::Plan(const Inputs& inputs, const Options& options, const Execution& execution) {
  guarded([&] {
    const Call call(inputs, options, execution);
    impl_ = std::make_unique<Impl>(Impl{execution.device, nullptr});
    throw_if_failed(call.engine->make_plan(call.problem, execution, impl_->plan));
  });
}

Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;

WorkspaceSizes workspace_sizes(const Inputs& inputs, const Options& options,
                               const Execution& execution) {
  return guarded([&] {
    const Call call(inputs, options, execution);
    WorkspaceSizes sizes;
    throw_if_failed(call.engine->workspace_sizes(call.problem, execution, sizes));
    return sizes;
  });
}

void forward(const Inputs& inputs, const Options& options, const ForwardOutputs& outputs,
             const Execution& execution, const Plan* plan) {
  guarded([&] {
    const Call call(inputs, options, execution);
    throw_if_failed(check_forward_outputs(call.problem, outputs, execution));
    throw_if_failed(
        call.engine->forward(call.problem, outputs, execution, plan_for(plan, execution)));
  });
}

void backward(const Inputs& inputs, const Options& options, const BackwardInputs& given,
              const BackwardOutputs& outputs, const Execution& execution, const Plan* plan) {
  guarded([&] {
    const Call call(inputs, options, execution);
    throw_if_failed(check_backward(call.problem, given, outputs, execution));
    throw_if_failed(
        call.engine->backward(call.problem, given, outputs, execution, plan_for(plan, execution)));
  });
}

void throw_if_check_failed(std::uint64_t check) { throw_if_failed(status_of(check)); }

const char* version() noexcept { return JFA_VERSION; }

}  // namespace jfa
