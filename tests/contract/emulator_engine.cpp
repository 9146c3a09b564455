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
    Execution execution{.device = Device::kEmulator};
    std::optional<Plan> plan;
    if (way.plan) plan.emplace(inputs, options, execution);
    HostTensor workspace;
    if (way.workspace) {
      const std::size_t bytes = workspace_sizes(inputs, options, execution).forward;
      workspace = HostTensor(DType::kF32, {static_cast<std::int64_t>((bytes + 3) / 4)});
      std::memset(workspace.data(), 0xFF, workspace.bytes());  // NaN
      execution.workspace = workspace.data();
      execution.workspace_bytes = bytes;
    }
    std::uint64_t word = ~std::uint64_t{0};
    if (way.check) execution.check = &word;
    jfa::forward(inputs, options, outputs, execution, plan ? &*plan : nullptr);
    if (way.check) throw_if_check_failed(word);
  }

  void backward(const Inputs&, const Options&, const BackwardInputs&, const BackwardOutputs&,
                const Way&) const override {
    FAIL() << "not offered";
  }
};

}  // namespace

const std::vector<const Engine*>& engines() {
  static const EmulatorEngine emulator;
  static const std::vector<const Engine*> all = {&emulator};
  return all;
}

}  // namespace jfa::contract
