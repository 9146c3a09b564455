#include "computation.hpp"

#include <algorithm>

namespace jfa::tool {

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
    : inputs_(batch.inputs()), options_(options), execution_(execution), gradients_(gradients) {
  const WorkspaceSizes sizes = workspace_sizes(inputs_, options_, execution_);
  const std::size_t bytes =
      gradients == nullptr ? sizes.forward : std::max(sizes.forward, sizes.backward);
  constexpr std::size_t kElement = element_size(DType::kI64);
  workspace_ = HostTensor(DType::kI64, {static_cast<std::int64_t>(bytes / kElement + 1)});
  execution_.workspace = workspace_.data();
  execution_.workspace_bytes = workspace_.bytes();
  out = HostTensor(batch.q.dtype(), {batch.out_rows(), batch.q.shape()[1], batch.q.shape()[2]});
  lse = HostTensor(DType::kF32, {batch.q.shape()[1], batch.out_rows()});
  if (gradients == nullptr) return;
  dq = HostTensor(batch.q.dtype(), batch.q.shape());
  dk = HostTensor(batch.k.dtype(), batch.k.shape());
  dv = HostTensor(batch.v.dtype(), batch.v.shape());
}

void Computation::forward() {
  jfa::forward(inputs_, options_, {out.view(), lse.lse_view()}, execution_);
}

void Computation::backward() {
  const HostTensor& written_out = out;
  const HostTensor& written_lse = lse;
  BackwardInputs given{gradients_->dout.view(), written_out.view(), written_lse.lse_view(), {}};
  if (gradients_->dlse) given.dlse = gradients_->dlse->lse_view();
  jfa::backward(inputs_, options_, given, {dq.view(), dk.view(), dv.view()}, execution_);
}

}  // namespace jfa::tool
