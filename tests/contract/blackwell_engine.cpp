// The kernels of emulated Blackwell as an engine, which no public call reaches.
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
    limits.max_head_dim = 128;
    return limits;
  }

  std::vector<Way> ways() const override {
    return {{.name = "plan of the call"}, {.name = "plan made before", .plan = true}};
  }

  void forward(const Inputs& inputs, const Options& options, const ForwardOutputs& outputs,
               const Way& way) const override {
    const Call call(inputs, options, way);
    throw_if_failed(check_forward_outputs(call.problem, outputs, call.execution));
    throw_if_failed(call.engine.forward(call.problem, outputs, call.execution, call.plan.get()));
  }

  void backward(const Inputs& inputs, const Options& options, const BackwardInputs& given,
                const BackwardOutputs& outputs, const Way& way) const override {
    const Call call(inputs, options, way);
    throw_if_failed(check_backward(call.problem, given, outputs, call.execution));
    throw_if_failed(
        call.engine.backward(call.problem, given, outputs, call.execution, call.plan.get()));
  }

 private:
  struct Call {
    Call(const Inputs& inputs, const Options& options, const Way& way) {
      throw_if_failed(check_inputs(inputs, options, execution, problem));
      if (way.plan) throw_if_failed(engine.make_plan(problem, execution, plan));
    }

    const jfa::Engine& engine = emulated_blackwell_engine();
    const Execution execution{.device = Device::kEmulator};
    Problem problem;
    std::unique_ptr<EnginePlan> plan;
  };
};

}  // namespace

const std::vector<const Engine*>& engines() {
  static const BlackwellEngine blackwell;
  static const std::vector<const Engine*> all = {&blackwell};
  return all;
}

}  // namespace jfa::contract
