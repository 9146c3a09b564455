#include <stdexcept>

#include "cuda/card.hpp"
#include "cuda/cuda_engine.hpp"
#include "cuda/forward_kernels.hpp"
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

class CudaEngine : public Engine {
 public:
  Status available() const override {
    const Card* card = nullptr;
    return current_card(card);
  }

  Status workspace_sizes(const Problem& problem, const Execution&,
                         WorkspaceSizes& sizes) const override {
    sizes = {forward_bytes(problem), 0, plan_bytes(problem)};
    return {};
  }

  Status make_plan(const Problem& problem, const Execution& execution,
                   std::unique_ptr<EnginePlan>& plan) const override {
    Call call;
    JFA_RETURN_IF_ERROR(call.begin(problem, execution));
    JFA_RETURN_IF_ERROR(check_workspace(execution, plan_bytes(problem)));
    return guarded([&]() -> Status {
      auto made = std::make_unique<CudaPlan>();
      const ItemShape shape = item_shape_of(*call.kernel, problem);
      made->device = enqueue_plan<Hopper>(problem, shape, execution.workspace, call.queue);
      made->ordinal = call.card->ordinal;
      plan = std::move(made);
      return {};
    });
  }

  Status forward(const Problem& problem, const ForwardOutputs& outputs, const Execution& execution,
                 const EnginePlan* plan) const override {
    Call call;
    JFA_RETURN_IF_ERROR(call.begin(problem, execution));
    JFA_RETURN_IF_ERROR(check_workspace(execution, forward_bytes(problem)));
    const auto* made = static_cast<const CudaPlan*>(plan);
    if (made != nullptr && made->ordinal != call.card->ordinal) {
      return invalid_argument(
          "plan was made on device cuda:" + std::to_string(made->ordinal) +
          ", must be made on that of the call, cuda:" + std::to_string(call.card->ordinal));
    }
    return guarded([&] {
      return enqueue_forward<Hopper>(*call.kernel, problem, outputs, execution,
                                     made != nullptr ? &made->device : nullptr, call.queue);
    });
  }

  Status backward(const Problem&, const BackwardInputs&, const BackwardOutputs&, const Execution&,
                  const EnginePlan*) const override {
    return no_backward("cuda");
  }

 private:
  struct Call {
    const Card* card = nullptr;
    const ForwardKernel<Queue>* kernel = nullptr;
    Queue queue{};

    Status begin(const Problem& problem, const Execution& execution) {
      JFA_RETURN_IF_ERROR(current_card(card));
      queue = {static_cast<cudaStream_t>(execution.stream), card->processors, card->ordinal};
      return choose(forward_kernels(), problem, kernel);
    }
  };
};

}  // namespace

const Engine& engine() {
  static const CudaEngine the_engine;
  return the_engine;
}

std::vector<ForwardTraits> forward_traits() {
  std::vector<ForwardTraits> traits;
  for (const ForwardKernel<Queue>& kernel : forward_kernels()) traits.push_back(kernel.traits);
  return traits;
}

}  // namespace jfa::cuda
