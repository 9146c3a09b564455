#include "cpu/host_engine.hpp"

#include <utility>

#include "cpu/engine.hpp"
#include "plan/host_plan.hpp"

namespace jfa::cpu {
namespace {

struct HostEnginePlan : EnginePlan {
  explicit HostEnginePlan(HostPlan made) : host(std::move(made)) {}
  HostPlan host;
};

class HostEngine : public Engine {
 public:
  Status available() const override { return {}; }

  Status workspace_sizes(const Problem& problem, const Execution& execution,
                         WorkspaceSizes& sizes) const override {
    sizes = {forward_workspace(problem, execution.threads),
             backward_workspace(problem, execution.threads), 0};
    return {};
  }

  Status make_plan(const Problem& problem, const Execution&,
                   std::unique_ptr<EnginePlan>& plan) const override {
    JFA_RETURN_IF_ERROR(check_host_indices(problem));
    plan = std::make_unique<HostEnginePlan>(make_host_plan(problem));
    return {};
  }

  Status forward(const Problem& problem, const ForwardOutputs& outputs, const Execution& execution,
                 const EnginePlan* plan) const override {
    return run_planned(problem, plan, [&](const HostPlan& host) {
      return cpu::forward(problem, host, outputs, execution);
    });
  }

  Status backward(const Problem& problem, const BackwardInputs& given,
                  const BackwardOutputs& outputs, const Execution& execution,
                  const EnginePlan* plan) const override {
    return run_planned(problem, plan, [&](const HostPlan& host) {
      return cpu::backward(problem, host, given, outputs, execution);
    });
  }

 private:
  /// Runs `compute(plan)` with the caller's plan, or one made for this call.
  template <typename Compute>
  static Status run_planned(const Problem& problem, const EnginePlan* plan, Compute&& compute) {
    JFA_RETURN_IF_ERROR(check_host_indices(problem));
    if (plan == nullptr) return compute(make_host_plan(problem));
    const HostPlan& host = static_cast<const HostEnginePlan*>(plan)->host;
    JFA_RETURN_IF_ERROR(check_plan(host, problem));
    return compute(host);
  }
};

}  // namespace

const Engine& engine() {
  static const HostEngine the_engine;
  return the_engine;
}

}  // namespace jfa::cpu
