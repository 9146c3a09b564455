// The forward kernels of emulated Blackwell as an engine, which no public call reaches yet;
// gradients by those of emulated Hopper.
#include "emulated/emulated_engine.hpp"
#include "gpu_limits.hpp"

namespace jfa::contract {
namespace {

class BlackwellEngine : public GpuKernelEngine {
 public:
  std::string name() const override { return "Blackwell"; }
  Limits limits() const override {
    Limits limits = GpuKernelEngine::limits();
    limits.slow = true;
    limits.block_sparse = false;
    limits.max_head_dim = 128;
    return limits;
  }

  std::vector<Way> ways() const override {
    return {{.name = "plan of the call"}, {.name = "plan made before", .plan = true}};
  }

  void forward(const Inputs& inputs, const Options& options, const ForwardOutputs& outputs,
               const Way& way) const override {
    const jfa::Engine& engine = emulated_blackwell_engine();
    const Execution execution{.device = Device::kEmulator};
    Problem problem;
    throw_if_failed(check_inputs(inputs, options, execution, problem));
    throw_if_failed(check_forward_outputs(problem, outputs, execution));
    std::unique_ptr<EnginePlan> plan;
    if (way.plan) throw_if_failed(engine.make_plan(problem, execution, plan));
    throw_if_failed(engine.forward(problem, outputs, execution, plan.get()));
  }

  void backward(const Inputs& inputs, const Options& options, const BackwardInputs& given,
                const BackwardOutputs& outputs, const Way&) const override {
    jfa::backward(inputs, options, given, outputs, {.device = Device::kEmulator});
  }
};

}  // namespace

const std::vector<const Engine*>& engines() {
  static const BlackwellEngine blackwell;
  static const std::vector<const Engine*> all = {&blackwell};
  return all;
}

}  // namespace jfa::contract
