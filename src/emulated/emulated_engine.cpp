#include "emulated/emulated_engine.hpp"

#include <memory>
#include <stdexcept>

#include "emulated/exposure.hpp"
#include "emulated/forward_kernels.hpp"
#include "launch/device_engine.hpp"
#include "problem/workspace.hpp"

namespace jfa {
namespace {

using emulator::BufferUse;
using M = EmulatedHopper;

struct EmulatedPlan : EnginePlan {
  DevicePlan device;
  std::unique_ptr<PlannedSequence[]> memory;
};

/// Runs `launches`, in which a finding throws.
template <class Launches>
Status guarded(Launches&& launches) {
  try {
    return launches();
  } catch (const std::runtime_error& error) {
    return {ErrorCode::kInternal, error.what()};
  }
}

void expose_call(const Problem& problem, const ForwardOutputs& outputs, const Execution& execution,
                 const DevicePlan* plan, Exposure& exposure) {
  exposure.add_indices(problem);
  exposure.add("q", problem.q, BufferUse::Input);
  exposure.add("k", problem.k, BufferUse::Input);
  exposure.add("v", problem.v, BufferUse::Input);
  exposure.add("out", outputs.out, BufferUse::Output);
  if (outputs.lse.data != nullptr) exposure.add("lse", outputs.lse, BufferUse::Output);
  auto* workspace = static_cast<std::byte*>(execution.workspace);
  exposure.add("ticket", workspace, kTicketBytes, BufferUse::InOut);
  exposure.add("planned", workspace + kTicketBytes, plan_bytes(problem), BufferUse::Scratch);
  if (plan != nullptr) {
    exposure.add("plan", plan->sequences, plan_bytes(problem), BufferUse::InOut);
  }
  exposure.add("check", execution.check, sizeof(*execution.check), BufferUse::Output);
}

class EmulatorEngine : public Engine {
 public:
  Status available() const override { return {}; }

  Status workspace_sizes(const Problem& problem, const Execution&,
                         WorkspaceSizes& sizes) const override {
    sizes = {forward_bytes(problem), 0, 0};
    return {};
  }

  Status make_plan(const Problem& problem, const Execution&,
                   std::unique_ptr<EnginePlan>& plan) const override {
    const ForwardKernel<EmulatedQueue>* kernel = nullptr;
    JFA_RETURN_IF_ERROR(choose(emulated_forward_kernels(), problem, kernel));
    auto made = std::make_unique<EmulatedPlan>();
    made->memory =
        std::make_unique<PlannedSequence[]>(plan_bytes(problem) / sizeof(PlannedSequence) + 1);
    return guarded([&]() -> Status {
      EmulatedQueue queue;
      Exposure exposure;
      exposure.add_indices(problem);
      exposure.add("plan", made->memory.get(), plan_bytes(problem), BufferUse::Scratch);
      exposure.expose(queue.device);
      const ItemShape shape = item_shape_of(*kernel, problem);
      made->device = enqueue_plan<M>(problem, shape, made->memory.get(), queue);
      plan = std::move(made);
      return {};
    });
  }

  Status forward(const Problem& problem, const ForwardOutputs& outputs, const Execution& given,
                 const EnginePlan* plan) const override {
    const ForwardKernel<EmulatedQueue>* kernel = nullptr;
    JFA_RETURN_IF_ERROR(choose(emulated_forward_kernels(), problem, kernel));
    const DevicePlan* device_plan =
        plan != nullptr ? &static_cast<const EmulatedPlan*>(plan)->device : nullptr;
    Execution execution = given;
    Workspace workspace;
    JFA_RETURN_IF_ERROR(workspace.acquire(execution, forward_bytes(problem)));
    execution.workspace = workspace.data();
    return guarded([&] {
      EmulatedQueue queue;
      Exposure exposure;
      expose_call(problem, outputs, execution, device_plan, exposure);
      exposure.expose(queue.device);
      return enqueue_forward<M>(*kernel, problem, outputs, execution, device_plan, queue);
    });
  }

  Status backward(const Problem&, const BackwardInputs&, const BackwardOutputs&, const Execution&,
                  const EnginePlan*) const override {
    return no_backward("emulator");
  }
};

}  // namespace

const Engine& emulated_engine() {
  static const EmulatorEngine the_engine;
  return the_engine;
}

}  // namespace jfa
