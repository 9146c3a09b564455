#include "emulated/emulated_engine.hpp"

#include <memory>
#include <stdexcept>

#include "emulated/emulated_kernels.hpp"
#include "emulated/exposure.hpp"
#include "launch/device_engine.hpp"
#include "problem/workspace.hpp"

namespace jfa {
namespace {

using emulator::BufferUse;
using M = EmulatedHopper;

struct EmulatedPlan : EnginePlan {
  DevicePlan device;
  Workspace memory;
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

/// The part of a plan that launches need; null without one.
const DevicePlan* device_plan(const EnginePlan* plan) {
  return plan != nullptr ? &static_cast<const EmulatedPlan*>(plan)->device : nullptr;
}

/// What calls in both directions read and write.
void expose_call(const Problem& problem, const Execution& execution, const PlannedSequence* plan,
                 std::size_t plan_bytes, Exposure& exposure) {
  exposure.add_indices(problem);
  exposure.add_inputs(problem);
  exposure.add("ticket", execution.workspace, kTicketBytes, BufferUse::InOut);
  exposure.add("plan", plan, plan_bytes, BufferUse::InOut);
  exposure.add("check", execution.check, sizeof(*execution.check), BufferUse::Output);
}

void expose_forward(const Problem& problem, const ForwardOutputs& outputs,
                    const Execution& execution, Exposure& exposure) {
  exposure.add("out", outputs.out, BufferUse::Output);
  if (outputs.lse.data != nullptr) exposure.add("lse", outputs.lse, BufferUse::Output);
  auto* workspace = static_cast<std::byte*>(execution.workspace);
  exposure.add("planned", workspace + kTicketBytes, sequences_bytes(problem), BufferUse::Scratch);
}

using ForwardKernels = std::span<const ForwardKernel<EmulatedQueue>>;
using BackwardKernels = std::span<const BackwardKernel<EmulatedQueue>>;

class EmulatorEngine : public Engine {
 public:
  EmulatorEngine(ForwardKernels forward_kernels, BackwardKernels backward_kernels)
      : forward_kernels_(forward_kernels), backward_kernels_(backward_kernels) {}

  Status available() const override { return {}; }

  /// Plans are kept in memory of their own.
  Status workspace_sizes(const Problem& problem, const Execution&,
                         WorkspaceSizes& sizes) const override {
    sizes = device_workspace_sizes(problem, backward_kernels_, EmulatedQueue::kBlocks);
    sizes.plan = 0;
    return {};
  }

  Status make_plan(const Problem& problem, const Execution&,
                   std::unique_ptr<EnginePlan>& plan) const override {
    const ForwardKernel<EmulatedQueue>* forward = nullptr;
    JFA_RETURN_IF_ERROR(choose(forward_kernels_, problem, forward));
    const PlannedBackward<EmulatedQueue> backward(backward_kernels_, problem);
    auto made = std::make_unique<EmulatedPlan>();
    JFA_RETURN_IF_ERROR(made->memory.acquire({}, plan_bytes(problem)));
    return guarded([&]() -> Status {
      EmulatedQueue queue;
      Exposure exposure;
      exposure.add_indices(problem);
      exposure.add("plan", made->memory.data(), plan_bytes(problem), BufferUse::Scratch);
      exposure.expose(queue.device);
      made->device = enqueue_plan<M>(problem, *forward, backward, made->memory.data(), queue);
      plan = std::move(made);
      return {};
    });
  }

  Status forward(const Problem& problem, const ForwardOutputs& outputs, const Execution& given,
                 const EnginePlan* given_plan) const override {
    const ForwardKernel<EmulatedQueue>* kernel = nullptr;
    JFA_RETURN_IF_ERROR(choose(forward_kernels_, problem, kernel));
    const DevicePlan* plan = device_plan(given_plan);
    Execution execution = given;
    Workspace workspace;
    JFA_RETURN_IF_ERROR(workspace.acquire(execution, forward_bytes(problem)));
    execution.workspace = workspace.data();
    return guarded([&] {
      EmulatedQueue queue;
      Exposure exposure;
      expose_call(problem, execution, plan != nullptr ? plan->by_queries : nullptr,
                  sequences_bytes(problem), exposure);
      expose_forward(problem, outputs, execution, exposure);
      exposure.expose(queue.device);
      return enqueue_forward<M>(*kernel, problem, outputs, execution, plan, queue);
    });
  }

  Status backward(const Problem& problem, const BackwardInputs& inputs,
                  const BackwardOutputs& outputs, const Execution& given,
                  const EnginePlan* given_plan) const override {
    const BackwardKernel<EmulatedQueue>* kernel = nullptr;
    JFA_RETURN_IF_ERROR(choose_backward(backward_kernels_, problem, kernel));
    const DevicePlan* plan = device_plan(given_plan);
    const BackwardParts parts(problem, kernel->sizes(problem, EmulatedQueue::kBlocks));
    Execution execution = given;
    Workspace workspace;
    JFA_RETURN_IF_ERROR(workspace.acquire(execution, parts.end));
    execution.workspace = workspace.data();
    return guarded([&] {
      EmulatedQueue queue;
      Exposure exposure;
      expose_call(problem, execution, plan != nullptr ? plan->by_keys : nullptr,
                  by_keys_bytes(problem), exposure);
      exposure.add_backward(inputs, outputs, workspace.data(), parts);
      exposure.expose(queue.device);
      return enqueue_backward<M>(*kernel, problem, inputs, outputs, execution, plan, queue);
    });
  }

 private:
  ForwardKernels forward_kernels_;
  BackwardKernels backward_kernels_;
};

}  // namespace

const Engine& emulated_engine() {
  static const EmulatorEngine the_engine(emulated_forward_kernels(), emulated_backward_kernels());
  return the_engine;
}

const Engine& emulated_blackwell_engine() {
  static const EmulatorEngine the_engine(emulated_blackwell_forward_kernels(),
                                         emulated_blackwell_backward_kernels());
  return the_engine;
}

}  // namespace jfa
