#include <stdexcept>

#include "cuda/card.hpp"
#include "cuda/cuda_engine.hpp"
#include "cuda/kernel_list.hpp"
#include "cuda/queue.hpp"
#include "launch/device_engine.hpp"

namespace jfa::cuda {
namespace {

struct CudaPlan : EnginePlan {
  DevicePlan device;
  int ordinal = 0;  // the card whose memory it lies in
};

/// Runs `enqueue`, in which launches throw what CUDA refuses.
template <class Enqueue>
Status guarded(Enqueue&& enqueue) {
  try {
    return enqueue();
  } catch (const std::runtime_error& error) {
    return {ErrorCode::kInternal, error.what()};
  }
}

/// Where calls of the calling thread run.
struct Place {
  const Card* card = nullptr;
  Queue queue{};
  Kernels kernels{};

  Status find(const Execution& execution) {
    JFA_RETURN_IF_ERROR(current_card(card));
    queue = {static_cast<cudaStream_t>(execution.stream), card->processors};
    kernels = kernels_of(card->major);
    return {};
  }

  /// The part of a plan that launches need; null without one.
  Status take(const EnginePlan* plan, const DevicePlan*& taken) const {
    taken = nullptr;
    if (plan == nullptr) return {};
    const auto& made = static_cast<const CudaPlan&>(*plan);
    if (made.ordinal != card->ordinal) {
      return invalid_argument(
          "plan was made on device cuda:" + std::to_string(made.ordinal) +
          ", must be made on that of the call, cuda:" + std::to_string(card->ordinal));
    }
    taken = &made.device;
    return {};
  }
};

/// Planner, checks and passes over lists are built for every GPU from Hopper's words, which
/// Blackwell has too.
class CudaEngine : public Engine {
 public:
  Status available() const override {
    const Card* card = nullptr;
    return current_card(card);
  }

  Status workspace_sizes(const Problem& problem, const Execution& execution,
                         WorkspaceSizes& sizes) const override {
    Place place;
    JFA_RETURN_IF_ERROR(place.find(execution));
    sizes = device_workspace_sizes(problem, place.kernels.backward, place.queue.blocks());
    return {};
  }

  Status make_plan(const Problem& problem, const Execution& execution,
                   std::unique_ptr<EnginePlan>& plan) const override {
    Place place;
    const ForwardKernel<Queue>* forward = nullptr;
    JFA_RETURN_IF_ERROR(place.find(execution));
    JFA_RETURN_IF_ERROR(choose(place.kernels.forward, problem, forward));
    const PlannedBackward<Queue> backward(place.kernels.backward, problem);
    JFA_RETURN_IF_ERROR(check_workspace(execution, plan_bytes(problem)));
    return guarded([&]() -> Status {
      auto made = std::make_unique<CudaPlan>();
      made->device =
          enqueue_plan<Hopper>(problem, *forward, backward, execution.workspace, place.queue);
      made->ordinal = place.card->ordinal;
      plan = std::move(made);
      return {};
    });
  }

  Status forward(const Problem& problem, const ForwardOutputs& outputs, const Execution& execution,
                 const EnginePlan* given_plan) const override {
    Place place;
    const ForwardKernel<Queue>* kernel = nullptr;
    const DevicePlan* plan = nullptr;
    JFA_RETURN_IF_ERROR(place.find(execution));
    JFA_RETURN_IF_ERROR(choose(place.kernels.forward, problem, kernel));
    JFA_RETURN_IF_ERROR(check_workspace(execution, forward_bytes(problem)));
    JFA_RETURN_IF_ERROR(place.take(given_plan, plan));
    return guarded([&] {
      return enqueue_forward<Hopper>(*kernel, problem, outputs, execution, plan, place.queue);
    });
  }

  Status backward(const Problem& problem, const BackwardInputs& given,
                  const BackwardOutputs& outputs, const Execution& execution,
                  const EnginePlan* given_plan) const override {
    Place place;
    const BackwardKernel<Queue>* kernel = nullptr;
    const DevicePlan* plan = nullptr;
    JFA_RETURN_IF_ERROR(place.find(execution));
    JFA_RETURN_IF_ERROR(choose_backward(place.kernels.backward, problem, kernel));
    const BackwardSizes sizes = kernel->sizes(problem, place.queue.blocks());
    JFA_RETURN_IF_ERROR(check_workspace(execution, BackwardParts(problem, sizes).end));
    JFA_RETURN_IF_ERROR(place.take(given_plan, plan));
    return guarded([&] {
      return enqueue_backward<Hopper>(*kernel, problem, given, outputs, execution, plan,
                                      place.queue);
    });
  }
};

/// Those for the current GPU, Hopper's where there is none.
Kernels current_kernels() {
  const Card* card = nullptr;
  return kernels_of(current_card(card).ok() ? card->major : 0);
}

template <class Kernel>
auto traits_of(std::span<const Kernel> kernels) {
  std::vector<decltype(Kernel::traits)> traits;
  for (const Kernel& kernel : kernels) traits.push_back(kernel.traits);
  return traits;
}

}  // namespace

const Engine& engine() {
  static const CudaEngine the_engine;
  return the_engine;
}

std::vector<ForwardTraits> forward_traits() { return traits_of(current_kernels().forward); }
std::vector<KernelTraits> backward_traits() { return traits_of(current_kernels().backward); }

}  // namespace jfa::cuda
