#include "computation.hpp"

#include <algorithm>

namespace jfa::tool {
namespace {

IndexView placed(Placement& placement, const HostTensor& tensor) {
  return {placement.in(tensor), tensor.dtype(), tensor.size()};
}

std::optional<IndexView> placed(Placement& placement, const std::optional<HostTensor>& tensor) {
  if (!tensor) return std::nullopt;
  return placed(placement, *tensor);
}

ConstTensorView placed_rows(Placement& placement, const HostTensor& tensor) {
  ConstTensorView view = tensor.view();
  view.data = placement.in(tensor);
  return view;
}

TensorView room_for(Placement& placement, HostTensor& tensor) {
  TensorView view = tensor.view();
  view.data = placement.out(tensor);
  return view;
}

}  // namespace

Gradients random_gradients(const Batch& batch, bool with_dlse, std::uint64_t seed) {
  const std::int64_t heads = batch.q.shape().at(1);
  Gradients gradients;
  gradients.dout =
      random_tensor(batch.q.dtype(), {batch.out_rows(), heads, batch.q.shape().at(2)}, seed);
  if (with_dlse) gradients.dlse = random_tensor(DType::kF32, {heads, batch.out_rows()}, ~seed);
  return gradients;
}

Computation::Computation(const Batch& batch, const Options& options, const Execution& execution,
                         const Gradients* gradients)
    : placement_(execution.device), options_(options), execution_(execution) {
  place_inputs(batch);
  const WorkspaceSizes sizes = workspace_sizes(inputs_, options_, execution_);
  const std::size_t bytes =
      gradients == nullptr ? sizes.forward : std::max(sizes.forward, sizes.backward);
  execution_.workspace = placement_.scratch(bytes);
  execution_.workspace_bytes = bytes;
  place_outputs(batch, gradients);
}

void Computation::place_inputs(const Batch& batch) {
  inputs_.q = placed_rows(placement_, batch.q);
  inputs_.k = placed_rows(placement_, batch.k);
  inputs_.v = placed_rows(placement_, batch.v);
  inputs_.kv_offsets = placed(placement_, batch.kv_offsets);
  inputs_.q_offsets = placed(placement_, batch.q_offsets);
  inputs_.q_lengths = placed(placement_, batch.q_lengths);
  inputs_.kv_lengths = placed(placement_, batch.kv_lengths);
  if (!options_.mask.block_sparse) return;
  options_.mask.block_sparse->row_offsets = placed(placement_, *batch.block_row_offsets);
  options_.mask.block_sparse->columns = placed(placement_, *batch.block_columns);
}

void Computation::place_outputs(const Batch& batch, const Gradients* gradients) {
  const auto& q = batch.q.shape();
  out = HostTensor(batch.q.dtype(), {batch.out_rows(), q[1], q[2]});
  lse = HostTensor(DType::kF32, {q[1], batch.out_rows()});
  outputs_.out = room_for(placement_, out);
  outputs_.lse = lse.lse_view();
  outputs_.lse.data = static_cast<float*>(placement_.out(lse));
  if (gradients == nullptr) return;
  dq = HostTensor(batch.q.dtype(), batch.q.shape());
  dk = HostTensor(batch.k.dtype(), batch.k.shape());
  dv = HostTensor(batch.v.dtype(), batch.v.shape());
  gradients_ = {room_for(placement_, dq), room_for(placement_, dk), room_for(placement_, dv)};
  given_ = {placed_rows(placement_, gradients->dout), outputs_.out, outputs_.lse, {}};
  if (gradients->dlse) {
    given_.dlse = gradients->dlse->lse_view();
    given_.dlse->data = static_cast<const float*>(placement_.in(*gradients->dlse));
  }
}

void Computation::forward() {
  jfa::forward(inputs_, options_, outputs_, execution_);
  placement_.wait();
}

void Computation::backward() {
  jfa::backward(inputs_, options_, given_, gradients_, execution_);
  placement_.wait();
}

}  // namespace jfa::tool
