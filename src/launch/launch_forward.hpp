// The host side of the forward kernel on any machine: parameters from a checked problem. For what a
// Queue is, see device_problem.hpp.
#pragma once

#include "kernels/forward/configs.hpp"
#include "launch/device_problem.hpp"
#include "launch/forward_kernel.hpp"

namespace jfa::inline JFA_BACKEND {

template <class K>
typename K::Params forward_params(const Problem& problem, const ForwardOutputs& outputs,
                                  const ForwardScratch& scratch) {
  using T = typename K::T;
  const auto matrix = [&](const ConstTensorView& tensor) {
    return Matrix<T>{elements_of<T>(tensor, scratch.plan), tensor.row_stride, tensor.head_stride};
  };
  return K::make_params(
      {.q = matrix(problem.q),
       .k = matrix(problem.k),
       .v = matrix(problem.v),
       .out = {static_cast<T*>(outputs.out.data), outputs.out.row_stride, outputs.out.head_stride},
       .lse = {outputs.lse.data, outputs.lse.head_stride},
       .heads_q = static_cast<int>(problem.heads_q),
       .heads_kv = static_cast<int>(problem.heads_kv),
       .head_dim = static_cast<int>(problem.head_dim),
       .window = problem.window,
       .lists = lists_of(problem, scratch.plan),
       .softmax_scale = problem.softmax_scale,
       .softcap = problem.softcap,
       .plan = scratch.plan,
       .q_rows = q_rows_of(problem),
       .batch = static_cast<int>(problem.batch),
       .ticket = scratch.ticket});
}

/// The forward kernels of one configuration, for Treated.
template <class M, ForwardConfig C>
struct ForwardFamily {
  template <template <class> class Mask, template <class> class Scores>
  using K = Forward<M, C, Mask, Scores>;
};

template <class K, class Queue>
void launch_forward(const Problem& problem, const ForwardOutputs& outputs,
                    const ForwardScratch& scratch, Queue& queue) {
  queue.template launch<K>(queue.blocks() * K::kBlocksPerProcessor,
                           forward_params<K>(problem, outputs, scratch));
}

/// The forward kernel of a machine M for `head_dim` columns, as launched on a Queue.
template <class Queue, class M, int HeadDim, Tiles Shape, bool Half, Treats What>
ForwardKernel<Queue> forward_kernel() {
  constexpr ForwardConfig kConfig = forward_config(HeadDim, Shape, Half);
  using K = typename Treated<What, ForwardFamily<M, kConfig>>::K;
  return {{treated_traits<HeadDim, Half, What>(), K::kTileRows,
           Shape == Tiles::Short || (Shape == Tiles::Narrow && What == Treats::Window)
               ? kConfig.kv_slots / 2 * kConfig.keys
               : 0,
           Shape == Tiles::Tiny},
          K::item_shape,
          launch_forward<K, Queue>};
}

}  // namespace jfa::inline JFA_BACKEND
