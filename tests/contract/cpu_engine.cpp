// The engines of this build, each behind the suite's interface.
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>

#include "batch/batch.hpp"
#include "engine.hpp"

namespace jfa::contract {
namespace {

/// The CPU engine, through the public API.
class CpuEngine : public Engine {
 public:
  std::string name() const override { return "Cpu"; }
  Limits limits() const override { return {}; }
  double operand_rounding(DType) const override { return 0; }

  std::vector<Way> ways() const override {
    return {{"one thread", 1},
            {"two threads, workspace", 2, true},
            {"three threads, plan", 3, false, true},
            {"seven threads, workspace, plan", 7, true, true},
            {"all cores", 0}};
  }

  void forward(const Inputs& inputs, const Options& options, const ForwardOutputs& outputs,
               const Way& way) const override {
    Call call(inputs, options, way, &WorkspaceSizes::forward);
    jfa::forward(inputs, options, outputs, call.execution, call.plan ? &*call.plan : nullptr);
  }

  void backward(const Inputs& inputs, const Options& options, const BackwardInputs& given,
                const BackwardOutputs& outputs, const Way& way) const override {
    Call call(inputs, options, way, &WorkspaceSizes::backward);
    jfa::backward(inputs, options, given, outputs, call.execution,
                  call.plan ? &*call.plan : nullptr);
  }

 private:
  struct Call {
    Call(const Inputs& inputs, const Options& options, const Way& way,
         std::size_t WorkspaceSizes::*size) {
      execution.threads = way.threads;
      if (way.plan) plan.emplace(inputs, options, execution);
      if (!way.workspace) return;
      const std::size_t bytes = workspace_sizes(inputs, options, execution).*size;
      workspace = HostTensor(DType::kF32, {static_cast<std::int64_t>((bytes + 3) / 4)});
      std::memset(workspace.data(), 0xFF, workspace.bytes());  // NaN
      execution.workspace = workspace.data();
      execution.workspace_bytes = bytes;
    }

    Execution execution;
    HostTensor workspace;
    std::optional<Plan> plan;
  };
};

}  // namespace

const std::vector<const Engine*>& engines() {
  static const CpuEngine cpu;
  static const std::vector<const Engine*> all = {&cpu};
  return all;
}

}  // namespace jfa::contract
