// The CUDA engine, through the public API, on copies of a test's tensors.
#include "cuda/cuda_engine.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "cuda/device_memory.hpp"
#include "gpu_limits.hpp"
#include "mirror.hpp"
#include "problem/engine.hpp"

namespace jfa::contract {
namespace {

class CudaEngine : public GpuKernelEngine {
 public:
  std::string name() const override { return "Cuda"; }

  /// Builds for CI have fewer kernels.
  Limits limits() const override {
    Limits limits = GpuKernelEngine::limits();
    limits.fp16 = limits.softcap = limits.block_sparse = false;
    limits.max_head_dim = limits.max_backward_head_dim = 0;
    limits.max_backward_capped_head_dim = limits.max_backward_listed_head_dim = 0;
    for (const ForwardTraits& traits : cuda::forward_traits()) {
      limits.fp16 = limits.fp16 || traits.dtype == DType::kF16;
      limits.softcap = limits.softcap || traits.capped;
      limits.block_sparse = limits.block_sparse || traits.listed;
      limits.max_head_dim = std::max<std::int64_t>(limits.max_head_dim, traits.head_dim);
    }
    for (const KernelTraits& traits : cuda::backward_traits()) {
      const auto take = [&](std::int64_t& most) {
        most = std::max<std::int64_t>(most, traits.head_dim);
      };
      if (!traits.capped) take(limits.max_backward_head_dim);
      if (traits.capped) take(limits.max_backward_capped_head_dim);
      if (traits.listed) take(limits.max_backward_listed_head_dim);
    }
    return limits;
  }

  std::string unavailable() const override {
    const jfa::Engine* engine = nullptr;
    Status status = find_engine(Device::kCuda, engine);
    if (status.ok()) status = engine->available();
    return status.ok() ? "" : status.message();
  }

  std::vector<Way> ways() const override {
    return {
        {.name = "plan of the call"},
        {.name = "plan made before", .plan = true},
        {.name = "stream, check", .stream = true, .check = true},
        {.name = "plan made before, stream, check", .plan = true, .stream = true, .check = true}};
  }

  void forward(const Inputs& inputs, const Options& options, const ForwardOutputs& outputs,
               const Way& way) const override {
    Mirror mirror = mirror_of(inputs, options);
    mirror.add(ConstTensorView(outputs.out));
    mirror.add(ConstLseView(outputs.lse));
    mirror.upload();
    Call call(moved(inputs, mirror), moved(options, mirror), way, &WorkspaceSizes::forward);
    jfa::forward(call.inputs, call.options, {mirror.at(outputs.out), mirror.at(outputs.lse)},
                 call.execution, call.plan ? &*call.plan : nullptr);
    mirror.download(outputs.out);
    mirror.download(outputs.lse);
    if (way.check) throw_if_check_failed(call.check_result());
  }

  void backward(const Inputs& inputs, const Options& options, const BackwardInputs& given,
                const BackwardOutputs& outputs, const Way& way) const override {
    Mirror mirror = mirror_of(inputs, options);
    mirror.add(given.dout);
    mirror.add(given.out);
    mirror.add(given.lse);
    if (given.dlse) mirror.add(*given.dlse);
    for (const TensorView& view : {outputs.dq, outputs.dk, outputs.dv}) {
      mirror.add(ConstTensorView(view));
    }
    mirror.upload();
    Call call(moved(inputs, mirror), moved(options, mirror), way, &WorkspaceSizes::backward);
    BackwardInputs moved_inputs{mirror.at(given.dout), mirror.at(given.out), mirror.at(given.lse)};
    if (given.dlse) moved_inputs.dlse = mirror.at(*given.dlse);
    jfa::backward(call.inputs, call.options, moved_inputs,
                  {mirror.at(outputs.dq), mirror.at(outputs.dk), mirror.at(outputs.dv)},
                  call.execution, call.plan ? &*call.plan : nullptr);
    for (const TensorView& view : {outputs.dq, outputs.dk, outputs.dv}) mirror.download(view);
    if (way.check) throw_if_check_failed(call.check_result());
  }

 private:
  static Mirror mirror_of(const Inputs& inputs, const Options& options) {
    Mirror mirror;
    for (const ConstTensorView& view : {inputs.q, inputs.k, inputs.v}) mirror.add(view);
    for (const IndexView& view : indices_of(inputs, options)) mirror.add(view);
    return mirror;
  }

  static std::vector<IndexView> indices_of(const Inputs& inputs, const Options& options) {
    std::vector<IndexView> all{inputs.kv_offsets};
    if (const auto& blocks = options.mask.block_sparse) {
      all.push_back(blocks->row_offsets);
      all.push_back(blocks->columns);
    }
    for (const auto& view : {inputs.q_offsets, inputs.q_lengths, inputs.kv_lengths}) {
      if (view) all.push_back(*view);
    }
    return all;
  }

  static Inputs moved(const Inputs& inputs, const Mirror& mirror) {
    Inputs result = inputs;
    for (ConstTensorView* view : {&result.q, &result.k, &result.v}) *view = mirror.at(*view);
    result.kv_offsets = mirror.at(inputs.kv_offsets);
    for (auto* view : {&result.q_offsets, &result.q_lengths, &result.kv_lengths}) {
      if (*view) *view = mirror.at(**view);
    }
    return result;
  }

  static Options moved(const Options& options, const Mirror& mirror) {
    Options result = options;
    if (auto& blocks = result.mask.block_sparse) {
      blocks->row_offsets = mirror.at(blocks->row_offsets);
      blocks->columns = mirror.at(blocks->columns);
    }
    return result;
  }

  /// Workspace and check word hold NaN.
  struct Call {
    Call(const Inputs& moved_inputs, const Options& moved_options, const Way& way,
         std::size_t WorkspaceSizes::*size)
        : inputs(moved_inputs), options(moved_options) {
      execution.device = Device::kCuda;
      if (way.stream) execution.stream = stream.emplace().get();
      const WorkspaceSizes sizes = workspace_sizes(inputs, options, execution);
      if (way.plan) {
        Execution planning = execution;
        give_workspace(plan_memory, sizes.plan, planning);
        plan.emplace(inputs, options, planning);
      }
      give_workspace(workspace, sizes.*size, execution);
      if (!way.check) return;
      word.emplace(sizeof(std::uint64_t)).fill(0xFF);
      execution.check = reinterpret_cast<std::uint64_t*>(word->data());
    }

    static void give_workspace(std::optional<cuda::DeviceMemory>& memory, std::size_t bytes,
                               Execution& execution) {
      memory.emplace(bytes).fill(0xFF);
      execution.workspace = memory->data();
      execution.workspace_bytes = bytes;
    }

    std::uint64_t check_result() const {
      std::uint64_t value = 0;
      word->download(&value);
      return value;
    }

    Inputs inputs;
    Options options;
    Execution execution;
    std::optional<cuda::Stream> stream;
    std::optional<cuda::DeviceMemory> workspace, plan_memory, word;
    std::optional<Plan> plan;
  };
};

}  // namespace

const std::vector<const Engine*>& engines() {
  static const CudaEngine cuda;
  static const std::vector<const Engine*> all = {&cuda};
  return all;
}

}  // namespace jfa::contract
