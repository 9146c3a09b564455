// The host side of the backward kernel and of the passes around it on any machine. For what a Queue
// is, see device_problem.hpp.
#pragma once

#include "kernels/backward/by_keys.hpp"
#include "kernels/backward/by_queries.hpp"
#include "kernels/backward/of_keys.hpp"
#include "kernels/backward/of_queries.hpp"
#include "kernels/backward/prepare.hpp"
#include "launch/backward_kernel.hpp"
#include "launch/device_problem.hpp"

namespace jfa::inline JFA_BACKEND {

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
  a.plan_by_queries = scratch.plan_by_queries;
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

/// `Few`: queries of sequences that a kernel of their own takes, at most.
template <class K, int Few = 0>
KeyShape key_shape(const Problem& problem, int blocks) {
  auto a = backward_shapes<typename K::T>(problem, blocks);
  a.few_queries = Few;
  return K::item_shape(a);
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

/// Blocks of a pass over rows.
template <class Queue>
int row_blocks(const Problem& problem, const Queue& queue) {
  const std::int64_t stretches =
      (std::max(problem.out_rows, problem.k.rows) + kStatisticsRows - 1) / kStatisticsRows;
  return static_cast<int>(
      std::clamp<std::int64_t>(stretches, 1, std::int64_t{Queue::kRowBlocks} * queue.blocks()));
}

template <class K, class Queue>
void launch_backward(const Problem& problem, const BackwardInputs& given,
                     const BackwardOutputs& outputs, const BackwardScratch& scratch, Queue& queue) {
  const auto arguments =
      backward_arguments<typename K::T>(problem, given, outputs, scratch, queue.blocks());
  const auto rows = RowPass<K>::of(arguments);
  const int blocks = row_blocks(problem, queue);
  queue.template launch<PrepareBackward<K>>(blocks, rows);
  queue.template launch<K>(queue.blocks(), K::make_params(arguments));
  queue.template launch<FinishBackward<K>>(blocks, rows);
}

/// The kernels of dQ and of dK and dV of one configuration, for Treated.
template <class M, ForwardConfig C>
struct OfQueriesFamily {
  template <template <class> class Mask, template <class> class Scores>
  using K = BackwardOfQueries<M, C, Mask, Scores>;
};
template <class M, BackwardConfig C>
struct OfKeysFamily {
  template <template <class> class Mask, template <class> class Scores>
  using K = BackwardOfKeys<M, C, Mask, Scores>;
};

template <class K>
BackwardSizes apart_sizes(const Problem& problem, int blocks) {
  BackwardSizes sizes = backward_sizes<K>(problem, blocks);
  return {.statistics = sizes.statistics};
}

template <class Q, int Few = 0>
ItemShape query_shape(const Problem& problem) {
  ItemShape shape =
      Q::item_shape(static_cast<int>(problem.heads_q), static_cast<int>(problem.heads_kv),
                    static_cast<int>(list_heads(problem)));
  shape.few_queries = Few;
  return shape;
}

/// dQ by kernel Q, then dK and dV by kernel K. Q leaves the ticket as it finds it.
template <class Q, class K, class Queue>
void launch_two(const BackwardArguments<typename K::T>& arguments, Queue& queue) {
  queue.zero(arguments.ticket);
  queue.template launch<Q>(queue.blocks(), Q::make_params(arguments));
  queue.template launch<K>(queue.blocks(), K::make_params(arguments));
}
template <class Q, class K, class Queue>
void launch_apart(const Problem& problem, const BackwardInputs& given,
                  const BackwardOutputs& outputs, const BackwardScratch& scratch, Queue& queue) {
  launch_two<Q, K>(
      backward_arguments<typename K::T>(problem, given, outputs, scratch, queue.blocks()), queue);
}

/// Sequences of few queries by kernel F, behind a pass for their statistics; the others apart.
template <class F, class Q, class K, class Queue>
void launch_few(const Problem& problem, const BackwardInputs& given, const BackwardOutputs& outputs,
                const BackwardScratch& scratch, Queue& queue) {
  auto arguments =
      backward_arguments<typename K::T>(problem, given, outputs, scratch, queue.blocks());
  arguments.few_queries = F::C.queries;
  queue.template launch<PrepareBackward<F>>(row_blocks(problem, queue), RowPass<F>::of(arguments));
  queue.template launch<F>(queue.blocks(), F::make_params(arguments));
  launch_two<Q, K>(arguments, queue);
}

/// What queries a kernel is for.
enum class Queries {
  Any,
  Apart,  // whose dQ is made by a kernel of its own
  Few,    // at most 128 of most sequences
  Long,   // any, of long sequences
  Shared64,
  Shared128  // broadcast ones, at most so many
};

/// The backward kernel of a machine M for up to `HeadDim` columns, as launched on a Queue.
template <class Queue, class M, int HeadDim, Queries Of, bool Half, Treats What>
BackwardKernel<Queue> backward_kernel() {
  KernelTraits traits = treated_traits<HeadDim, Half, What>();
  constexpr bool kMore = treated_traits<HeadDim, Half, What>().listed;
  constexpr BackwardConfig kConfig = backward_config(HeadDim, Half, kMore);
  if constexpr (Of == Queries::Any || Of == Queries::Long) {
    static_assert(Of == Queries::Any || (HeadDim == 128 && !kMore), "the others are not offered");
    traits.same_bits = false;
    if (Of == Queries::Long) traits.long_from = Queue::kLongTokens;
    constexpr BackwardConfig kOwn = Of == Queries::Long ? long_backward_config(Half) : kConfig;
    using K = typename Treated<What, BackwardFamily<M, kOwn>>::K;
    return {traits, key_shape<K>, nullptr, backward_sizes<K>, launch_backward<K, Queue>};
  } else if constexpr (Of == Queries::Apart || Of == Queries::Few) {
    traits.apart = true;
    constexpr ForwardConfig kOfQueries = of_queries_config(HeadDim, Half, kMore);
    using Q = typename Treated<What, OfQueriesFamily<M, kOfQueries>>::K;
    constexpr BackwardConfig kOfKeys = of_keys_config(HeadDim, Half, What == Treats::Softcap);
    using K = typename Treated<What, OfKeysFamily<M, kOfKeys>>::K;
    // A plan serves the kernel by keys as well, but for lists, which this one always takes.
    using Any = typename Treated<What, BackwardFamily<M, kConfig>>::K;
    using Planned = std::conditional_t<What == Treats::Lists, K, Any>;
    if constexpr (Of == Queries::Few) {
      static_assert(What == Treats::Window, "the others are not offered");
      static_assert(!K::kPairs, "either pairs lead the plan or sequences of few queries do");
      traits.few_from = Queue::kFewTasks;
      constexpr int kMost = 128;
      using F = BackwardByQueries<M, by_queries_config(HeadDim, kMost, Half, false), WindowMask>;
      return {traits, key_shape<K, kMost>, query_shape<Q, kMost>, apart_sizes<K>,
              launch_few<F, Q, K, Queue>};
    } else {
      return {traits, key_shape<Planned>, query_shape<Q>, apart_sizes<K>,
              launch_apart<Q, K, Queue>};
    }
  } else {
    static_assert(What == Treats::Window, "the others are not offered");
    traits.shared_queries = Of == Queries::Shared64 ? 64 : 128;
    using K =
        BackwardByQueries<M, by_queries_config(HeadDim, Of == Queries::Shared64 ? 64 : 128, Half),
                          WindowMask>;
    return {traits, key_shape<K>, nullptr, backward_sizes<K>, launch_backward<K, Queue>};
  }
}

}  // namespace jfa::inline JFA_BACKEND
