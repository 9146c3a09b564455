// The emulator as an engine, through the public API.
#include <cstring>
#include <optional>
#include <string>

#include "batch/batch.hpp"
#include "gpu_limits.hpp"

namespace jfa::contract {
namespace {

class EmulatorEngine : public GpuKernelEngine {
 public:
  std::string name() const override { return "Emulator"; }
  Limits limits() const override {
    Limits limits = GpuKernelEngine::limits();
    limits.slow = true;
    return limits;
  }

  std::vector<Way> ways() const override {
    return {{.name = "plan of the call"},
            {.name = "workspace, plan made before, check",
             .workspace = true,
             .plan = true,
             .check = true}};
  }

  void forward(const Inputs& inputs, const Options& options, const ForwardOutputs& outputs,
               const Way& way) const override {
    Call call(inputs, options, way, &WorkspaceSizes::forward);
    jfa::forward(inputs, options, outputs, call.execution, call.plan ? &*call.plan : nullptr);
    throw_if_check_failed(call.word);
  }

  void backward(const Inputs& inputs, const Options& options, const BackwardInputs& given,
                const BackwardOutputs& outputs, const Way& way) const override {
    Call call(inputs, options, way, &WorkspaceSizes::backward);
    jfa::backward(inputs, options, given, outputs, call.execution,
                  call.plan ? &*call.plan : nullptr);
    throw_if_check_failed(call.word);
  }

 private:
  /// Workspace and check word hold NaN.
  struct Call {
    Call(const Inputs& inputs, const Options& options, const Way& way,
         std::size_t WorkspaceSizes::*size) {
      if (way.plan) plan.emplace(inputs, options, execution);
      if (way.check) {
        word = ~std::uint64_t{0};
        execution.check = &word;
      }
      if (!way.workspace) return;
      const std::size_t bytes = workspace_sizes(inputs, options, execution).*size;
      workspace = HostTensor(DType::kF32, {static_cast<std::int64_t>((bytes + 3) / 4)});
      std::memset(workspace.data(), 0xFF, workspace.bytes());
      execution.workspace = workspace.data();
      execution.workspace_bytes = bytes;
    }

    Execution execution{.device = Device::kEmulator};
    std::optional<Plan> plan;
    HostTensor workspace;
    std::uint64_t word = 0;
  };
};

}  // namespace

const std::vector<const Engine*>& engines() {
  static const EmulatorEngine emulator;
  static const std::vector<const Engine*> all = {&emulator};
  return all;
}

}  // namespace jfa::contract
