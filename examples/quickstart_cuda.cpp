#include <cuda_runtime_api.h>

#include <cstdio>
#include <jfa/jfa.hpp>
#include <vector>

namespace {

void* on_gpu(const void* from, std::size_t bytes) {
  void* memory = nullptr;
  cudaMalloc(&memory, bytes);
  if (from != nullptr) cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice);
  return memory;
}

}  // namespace

int main() try {
  // Three sequences of 2, 0 and 3 tokens, 4 heads of 64, packed row after row, in bf16.
  const std::vector<unsigned short> halves(5 * 4 * 64, 0x3F00);  // 0.5
  const std::vector<int> offsets{0, 2, 2, 5};
  const auto tensor = [&] {
    return jfa::packed(on_gpu(halves.data(), halves.size() * 2), jfa::DType::kBf16, 5, 4, 64);
  };
  jfa::Inputs inputs{
      tensor(), tensor(), tensor(), {static_cast<int*>(on_gpu(offsets.data(), 16)), 4}};
  inputs.q_offsets = inputs.kv_offsets;
  const jfa::Options options{.mask = {.causal = true}};
  auto* lse = static_cast<float*>(on_gpu(nullptr, 4 * 5 * sizeof(float)));
  const jfa::ForwardOutputs outputs{tensor(), {lse, 4, 5, 5}};

  jfa::Execution execution{.device = jfa::Device::kCuda};  // .stream = ... for another than default
  const jfa::WorkspaceSizes sizes = jfa::workspace_sizes(inputs, options, execution);
  execution.workspace = on_gpu(nullptr, execution.workspace_bytes = sizes.plan);
  const jfa::Plan plan(inputs, options, execution);  // once a batch; lives in that workspace
  execution.workspace = on_gpu(nullptr, execution.workspace_bytes = sizes.forward);
  jfa::forward(inputs, options, outputs, execution, &plan);  // once a layer; only enqueues

  float first = 0;
  cudaMemcpy(&first, lse, sizeof first, cudaMemcpyDeviceToHost);
  std::printf("lse[0] = %g\n", first);  // one key, score 0.25 * 64 / 8
  return first == 2 ? 0 : 1;
} catch (const jfa::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return error.code() == jfa::ErrorCode::kUnavailable ? 77 : 1;
}
