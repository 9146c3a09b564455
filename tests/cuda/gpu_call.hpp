// Calls on the GPU with all they need, for tests to make in unusual ways.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "cuda/device_memory.hpp"
#include "jfa/jfa.hpp"
#include "problem/engine.hpp"
#include "reference/reference.hpp"

namespace jfa {

inline void require(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

/// Why there is no GPU to test; empty where there is one.
inline std::string why_no_gpu() {
  const Engine* engine = nullptr;
  Status status = find_engine(Device::kCuda, engine);
  if (status.ok()) status = engine->available();
  return status.ok() ? "" : status.message();
}

/// A batch on the current device; outputs and workspace hold NaN.
class GpuCall {
 public:
  explicit GpuCall(const Batch& batch) : batch_(batch) {
    inputs = batch.inputs();
    inputs.q.data = copy(batch.q);
    inputs.k.data = copy(batch.k);
    inputs.v.data = copy(batch.v);
    inputs.kv_offsets.data = copy(batch.kv_offsets);
    if (inputs.q_offsets) inputs.q_offsets->data = copy(*batch.q_offsets);
    options.mask = batch.mask();
    execution.device = Device::kCuda;
    const std::int64_t rows = batch.out_rows();
    const std::int64_t heads = inputs.q.heads;
    out = HostTensor(inputs.q.dtype, {rows, heads, inputs.q.head_dim});
    lse = HostTensor(DType::kF32, {heads, rows});
    outputs.out = out.view();
    outputs.out.data = poisoned(out.bytes());
    outputs.lse = lse.lse_view();
    outputs.lse.data = static_cast<float*>(poisoned(lse.bytes()));
    sizes = workspace_sizes(inputs, options, execution);
    execution.workspace = poisoned(std::max(sizes.forward, sizes.backward));
    execution.workspace_bytes = sizes.forward;
    dout = random_tensor(inputs.q.dtype, out.shape(), 99);
    given = {dout.view(), outputs.out, outputs.lse, std::nullopt};
    given.dout.data = copy(dout);
    gradients = {room_for(dq, batch.q), room_for(dk, batch.k), room_for(dv, batch.v)};
  }

  void* poisoned(std::size_t bytes) {
    memory_.emplace_back(bytes).fill(0xFF);
    return memory_.back().data();
  }

  Execution planning() {
    Execution result = execution;
    result.workspace = poisoned(sizes.plan);
    result.workspace_bytes = sizes.plan;
    return result;
  }

  void forward(const Plan* plan = nullptr) const {
    jfa::forward(inputs, options, outputs, execution, plan);
  }

  /// Behind a forward call, whose workspace it takes.
  void backward(const Plan* plan = nullptr) const {
    Execution with_more = execution;
    with_more.workspace_bytes = sizes.backward;
    jfa::backward(inputs, options, given, gradients, with_more, plan);
  }

  /// Brings the gradients to dq, dk and dv; returns their bytes.
  std::string gradient_bytes() {
    std::string bytes;
    for (const auto& [to, from] : {std::pair{&dq, gradients.dq}, std::pair{&dk, gradients.dk},
                                   std::pair{&dv, gradients.dv}}) {
      download(*to, from.data);
      bytes.append(reinterpret_cast<const char*>(to->data()), to->bytes());
    }
    return bytes;
  }

  /// Brings the results to out and lse; returns their bytes.
  std::string results() {
    download(out, outputs.out.data);
    download(lse, outputs.lse.data);
    return std::string(reinterpret_cast<const char*>(out.data()), out.bytes()) +
           std::string(reinterpret_cast<const char*>(lse.data()), lse.bytes());
  }

  void forget_results() const {
    require(cudaMemset(outputs.out.data, 0xFF, out.bytes()));
    require(cudaMemset(outputs.lse.data, 0xFF, lse.bytes()));
    forget_gradients();
  }

  void forget_gradients() const {
    require(cudaMemset(gradients.dq.data, 0xFF, dq.bytes()));
    require(cudaMemset(gradients.dk.data, 0xFF, dk.bytes()));
    require(cudaMemset(gradients.dv.data, 0xFF, dv.bytes()));
  }

  const Batch& batch() const { return batch_; }

  Inputs inputs;
  Options options;
  ForwardOutputs outputs;
  BackwardInputs given;
  BackwardOutputs gradients;
  Execution execution;
  WorkspaceSizes sizes;
  HostTensor out, lse, dout, dq, dk, dv;

 private:
  void* copy(const HostTensor& from) {
    memory_.emplace_back(from.bytes()).upload(from.data());
    return memory_.back().data();
  }
  TensorView room_for(HostTensor& host, const HostTensor& like) {
    host = HostTensor(like.dtype(), like.shape());
    TensorView view = host.view();
    view.data = poisoned(host.bytes());
    return view;
  }
  static void download(HostTensor& to, const void* from) {
    require(cudaDeviceSynchronize());
    require(cudaMemcpy(to.data(), from, to.bytes(), cudaMemcpyDeviceToHost));
  }

  const Batch& batch_;
  std::list<cuda::DeviceMemory> memory_;
};

inline Problem problem_of(const GpuCall& call, const Batch& batch) {
  Problem problem;
  Options options = call.options;
  options.mask = batch.mask();
  throw_if_failed(check_inputs(batch.inputs(), options, {}, problem));
  return problem;
}

/// Whether what a backward call wrote is what the fp64 reference has, within what rounding P, dS
/// and results to bf16 makes of it.
inline bool gradients_are_right(GpuCall& call, const Batch& batch) {
  call.gradient_bytes();
  const auto expected = reference::backward(problem_of(call, batch), call.dout.view(), nullptr);
  return relative_error(call.dq, expected.dq) < 6e-3 &&
         relative_error(call.dk, expected.dk) < 6e-3 && relative_error(call.dv, expected.dv) < 6e-3;
}

/// Whether what a call wrote is what the fp64 reference has, within bf16's rounding.
inline bool is_right(GpuCall& call, const Batch& batch) {
  call.results();
  const auto expected = reference::forward(problem_of(call, batch));
  return relative_error(call.out, expected.out) < 5e-3 &&
         relative_error(call.lse, expected.lse) < 1e-5;
}

}  // namespace jfa
