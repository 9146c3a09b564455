// The host side of the backward kernel and of the passes around it on any machine. For what a Queue
// is, see device_problem.hpp.
#pragma once

#include "kernels/backward/by_keys.hpp"
#include "kernels/backward/by_queries.hpp"
#include "kernels/backward/prepare.hpp"
#include "launch/backward_kernel.hpp"
#include "launch/device_problem.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// Without tensors and scratch, for what shapes tell.
template <class T>
BackwardArguments<T> backward_shapes(const Problem& problem, int blocks) {
  BackwardArguments<T> a{};
  a.heads_q = static_cast<int>(problem.heads_q);
  a.heads_kv = static_cast<int>(problem.heads_kv);
  a.head_dim = static_cast<int>(problem.head_dim);
  a.window = problem.window;
  a.softmax_scale = problem.softmax_scale;
  a.softcap = problem.softcap;
  a.q_rows = q_rows_of(problem);
  a.kv_rows = kv_rows_of(problem);
  a.batch = static_cast<int>(problem.batch);
  a.blocks = blocks;
  return a;
}

template <class T>
BackwardArguments<T> backward_arguments(const Problem& problem, const BackwardInputs& given,
                                        const BackwardOutputs& outputs,
                                        const BackwardScratch& scratch, int blocks) {
  const auto matrix = [&](const ConstTensorView& tensor) {
    return Matrix<T>{elements_of<T>(tensor, scratch.ticket), tensor.row_stride, tensor.head_stride};
  };
  const auto vectors = [](const ConstLseView& lse) {
    return RowVectors{const_cast<float*>(lse.data), lse.head_stride};
  };
  BackwardArguments<T> a = backward_shapes<T>(problem, blocks);
  a.q = matrix(problem.q);
  a.k = matrix(problem.k);
  a.v = matrix(problem.v);
  a.out = matrix(given.out);
  a.dout = matrix(given.dout);
  a.dq = matrix(outputs.dq);
  a.dk = matrix(outputs.dk);
  a.dv = matrix(outputs.dv);
  a.lse = vectors(given.lse);
  if (given.dlse) a.dlse = vectors(*given.dlse);
  a.lists = lists_of(problem, scratch.plan);
  a.lists_by_keys = lists_by_keys_of(problem, scratch.plan);
  a.plan = scratch.plan;
  a.ticket = scratch.ticket;
  a.statistics = scratch.statistics;
  a.dq_sum = scratch.dq_sum;
  a.dq_kept = scratch.dq_kept;
  a.handed = scratch.handed;
  a.turns = scratch.turns;
  return a;
}

/// The backward kernels by keys of one configuration, for Treated.
template <class M, BackwardConfig C>
struct BackwardFamily {
  template <template <class> class Mask, template <class> class Scores>
  using K = BackwardByKeys<M, C, Mask, Scores>;
};

template <class K>
KeyShape key_shape(const Problem& problem, int blocks) {
  return K::item_shape(backward_shapes<typename K::T>(problem, blocks));
}

template <class K>
BackwardSizes backward_sizes(const Problem& problem, int blocks) {
  const auto a = backward_shapes<typename K::T>(problem, blocks);
  const std::int64_t tiles = a.head_tiles() * a.heads_q;
  const std::int64_t sums = a.broadcast() ? 0 : summed_size(problem.q.rows, a.heads_q, a.head_dim);
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(4 * count); };
  return {.statistics = bytes(tiles * 2 * kStatisticsRows),
          .dq_sum = bytes(sums),
          .dq_kept = bytes(K::kept_size(a)),
          .handed = bytes(a.counts()),
          .turns = bytes(problem.deterministic && !a.broadcast() ? tiles : 0)};
}

template <class K, class Queue>
void launch_backward(const Problem& problem, const BackwardInputs& given,
                     const BackwardOutputs& outputs, const BackwardScratch& scratch, Queue& queue) {
  const auto arguments =
      backward_arguments<typename K::T>(problem, given, outputs, scratch, queue.blocks());
  const auto rows = RowPass<K>::of(arguments);
  const std::int64_t stretches =
      (std::max(problem.out_rows, problem.k.rows) + kStatisticsRows - 1) / kStatisticsRows;
  const auto row_blocks = static_cast<int>(
      std::clamp<std::int64_t>(stretches, 1, std::int64_t{Queue::kRowBlocks} * queue.blocks()));
  queue.template launch<PrepareBackward<K>>(row_blocks, rows);
  queue.template launch<K>(queue.blocks(), K::make_params(arguments));
  queue.template launch<FinishBackward<K>>(row_blocks, rows);
}

/// What queries a kernel is for.
enum class Queries { Any, Shared64, Shared128 };  // broadcast ones, at most so many

/// The backward kernel of a machine M for up to `HeadDim` columns, as launched on a Queue.
template <class Queue, class M, int HeadDim, Queries Of, bool Half, Treats What>
BackwardKernel<Queue> backward_kernel() {
  KernelTraits traits{.dtype = Half ? DType::kF16 : DType::kBf16,
                      .head_dim = HeadDim,
                      .masked = What != Treats::Nothing,
                      .listed = What == Treats::Lists || What == Treats::Softcap,
                      .capped = What == Treats::Softcap};
  if constexpr (Of == Queries::Any) {
    constexpr BackwardConfig kConfig =
        backward_config(HeadDim, Half, What == Treats::Lists || What == Treats::Softcap);
    using K = typename Treated<What, BackwardFamily<M, kConfig>>::K;
    return {traits, key_shape<K>, backward_sizes<K>, launch_backward<K, Queue>};
  } else {
    static_assert(What == Treats::Window, "the others are not offered");
    traits.shared_queries = Of == Queries::Shared64 ? 64 : 128;
    using K =
        BackwardByQueries<M, by_queries_config(HeadDim, Of == Queries::Shared64 ? 64 : 128, Half),
                          WindowMask>;
    return {traits, key_shape<K>, backward_sizes<K>, launch_backward<K, Queue>};
  }
}

}  // namespace JFA_BACKEND
}  // namespace jfa
