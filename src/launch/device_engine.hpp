// What the engines that launch kernels have in common: workspace, plans, the order of launches.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "launch/launch_backward.hpp"
#include "launch/launch_forward.hpp"
#include "launch/ticket_users.hpp"
#include "plan/index_check.hpp"

namespace jfa::inline JFA_BACKEND {

/// A plan in device memory, which its owner keeps.
struct DevicePlan {
  PlannedSequence* by_queries = nullptr;  // [plan_records(batch)], for the forward kernel
  PlannedSequence* by_keys = nullptr;     // for the backward pass; null: there is none
  std::int64_t batch = 0;
  std::int64_t q_rows = 0;
  std::int64_t kv_rows = 0;
  bool broadcast_q = false;
  ItemShape item_shape{};
  KeyShape key_shape{};
  ItemShape backward_item_shape{};  // of queries for the backward pass, if planned
  std::int64_t block_q = 0;         // of a block-sparse mask; 0: none is given
  std::int64_t block_kv = 0;
  std::int64_t list_heads = 0;
  std::int64_t columns = 0;
  TicketUsers users{};  // of the tickets by queries
};

/// A ticket of a plan of `batch` sequences.
inline int* ticket_of(PlannedSequence* sequences, std::int64_t batch, int index) {
  return reinterpret_cast<int*>(sequences + batch) + index;
}

/// The part of a plan that is for the backward pass: sequences by keys, lists transposed, sequences
/// by queries. And a plan for both directions.
inline std::size_t by_queries_offset(const Problem& problem) {
  return sequences_bytes(problem) + lists_bytes(problem);
}
inline std::size_t by_keys_bytes(const Problem& problem) {
  return by_queries_offset(problem) + sequences_bytes(problem);
}
inline std::size_t plan_bytes(const Problem& problem) {
  return sequences_bytes(problem) + by_keys_bytes(problem);
}

/// Workspace of a forward call: a line for a ticket, where that of a plan cannot be used, and a
/// plan for calls without one.
constexpr std::size_t kTicketBytes = kPartAlignment;

inline std::size_t forward_bytes(const Problem& problem) {
  return kTicketBytes + sequences_bytes(problem);
}

/// Where the parts of a backward call's workspace begin: a line for the ticket, a plan for calls
/// without one, and what the passes hand on.
struct BackwardParts {
  std::size_t plan = kTicketBytes;
  std::size_t statistics, dq_sum, dq_kept, handed, turns;
  std::size_t end;

  BackwardParts(const Problem& problem, const BackwardSizes& sizes)
      : statistics(plan + by_keys_bytes(problem)),
        dq_sum(statistics + part(sizes.statistics)),
        dq_kept(dq_sum + part(sizes.dq_sum)),
        handed(dq_kept + part(sizes.dq_kept)),
        turns(handed + part(sizes.handed)),
        end(turns + part(sizes.turns)) {}

  BackwardScratch at(const Problem& problem, std::byte* workspace,
                     const PlannedSequence* by_keys) const {
    const auto floats = [&](std::size_t begin) {
      return reinterpret_cast<float*>(workspace + begin);
    };
    const auto ints = [&](std::size_t begin) { return reinterpret_cast<int*>(workspace + begin); };
    return {by_keys,
            reinterpret_cast<const PlannedSequence*>(reinterpret_cast<const std::byte*>(by_keys) +
                                                     by_queries_offset(problem)),
            ints(0),
            floats(statistics),
            floats(dq_sum),
            floats(dq_kept),
            ints(handed),
            end > turns ? ints(turns) : nullptr};
  }
};

/// The best backward kernel for a problem.
template <class Queue>
Status choose_backward(std::span<const BackwardKernel<Queue>> kernels, const Problem& problem,
                       const BackwardKernel<Queue>*& chosen) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 30) - 1;  // counts of lists fit 31 bits
  JFA_RETURN_IF_ERROR(choose(kernels, problem, chosen));
  if (!problem.block_sparse) return {};
  const std::int64_t lists = problem.blocks.heads * places_of(problem);
  for (const auto& [name, count] : {std::pair{"columns.size", problem.blocks.columns.size},
                                    std::pair{"heads x (blocks of keys + B)", lists}}) {
    if (count <= kMost) continue;
    return {ErrorCode::kUnsupported, "mask.block_sparse." + std::string(name) + " is " +
                                         std::to_string(count) + ", must be at most " +
                                         std::to_string(kMost) + " for backward on a GPU"};
  }
  return {};
}

/// Bytes of workspace; none for backward where no kernel of the build computes it.
template <class Queue>
WorkspaceSizes device_workspace_sizes(const Problem& problem,
                                      std::span<const BackwardKernel<Queue>> kernels, int blocks) {
  WorkspaceSizes sizes{forward_bytes(problem), 0, plan_bytes(problem)};
  const BackwardKernel<Queue>* kernel = nullptr;
  if (choose_backward(kernels, problem, kernel).ok()) {
    sizes.backward = BackwardParts(problem, kernel->sizes(problem, blocks)).end;
  }
  return sizes;
}

inline Status check_workspace(const Execution& execution, std::size_t bytes) {
  if (execution.workspace == nullptr) {
    return invalid_argument("execution.workspace is null, must point to " + std::to_string(bytes) +
                            " bytes of device memory");
  }
  if (execution.workspace_bytes >= bytes) return {};
  return invalid_argument("execution.workspace_bytes is " +
                          std::to_string(execution.workspace_bytes) + ", must be at least " +
                          std::to_string(bytes));
}

/// What a plan was made for, and what a call is.
struct PlanPart {
  const char* name;
  std::int64_t planned, given;
};

inline Status check_parts(std::span<const PlanPart> parts) {
  for (const auto& [name, planned, given] : parts) {
    if (planned == given) continue;
    return invalid_argument("plan was made for " + std::string(name) + " = " +
                            std::to_string(planned) + ", must be made for the call's " +
                            std::to_string(given) + " (shapes, heads, head_dim and mask decide)");
  }
  return {};
}

/// Whether a plan has the shapes of a problem; its offsets only a check on the device can compare.
inline Status check_shapes(const DevicePlan& plan, const Problem& problem) {
  const PlanPart parts[] = {
      {"B", plan.batch, problem.batch},
      {"q.rows", plan.q_rows, problem.q.rows},
      {"k.rows", plan.kv_rows, problem.k.rows},
      {"broadcast_q (0 or 1)", plan.broadcast_q, problem.broadcast_q},
      {"mask.block_sparse.block_q", plan.block_q, problem.blocks.block_q},
      {"mask.block_sparse.block_kv", plan.block_kv, problem.blocks.block_kv},
      {"mask.block_sparse.heads", plan.list_heads, list_heads(problem)},
      {"mask.block_sparse.columns.size", plan.columns, problem.blocks.columns.size}};
  return check_parts(parts);
}

/// Whether it is also cut as a kernel wants it.
inline Status check_cut(const ItemShape& planned, const ItemShape& shape) {
  const PlanPart parts[] = {{"tiles of rows", planned.tile_rows, shape.tile_rows},
                            {"blocks of keys", planned.block_keys, shape.block_keys},
                            {"resident keys", planned.resident_keys, shape.resident_keys},
                            {"tiles of a run", planned.run_tiles, shape.run_tiles},
                            {"few queries", planned.few_queries, shape.few_queries}};
  return check_parts(parts);
}
inline Status check_cut(const KeyShape& planned, const KeyShape& shape) {
  const PlanPart parts[] = {{"blocks of keys", planned.block_keys, shape.block_keys},
                            {"tiles of rows", planned.tile_rows, shape.tile_rows},
                            {"q.heads / k.heads", planned.group, shape.group},
                            {"pairs of blocks (0 or 1)", planned.pairs, shape.pairs},
                            {"few queries", planned.few_queries, shape.few_queries}};
  return check_parts(parts);
}

/// Enqueues the planning of one direction at `memory`, which has sequences_bytes().
template <class M, class Shape, class Queue>
PlannedSequence* enqueue_planner(const Problem& problem, const Shape& shape, std::byte* memory,
                                 Queue& queue) {
  auto* sequences = reinterpret_cast<PlannedSequence*>(memory);
  using Plan = Planner<M, Shape, Queue::kPlannerThreads>;
  Plan::make(planner_params(problem, shape, sequences),
             [&](int blocks, const typename Plan::Params& params) {
               queue.template launch<Plan>(blocks, params);
             });
  return sequences;
}

/// Enqueues the planning of the backward pass at `memory`, which has by_keys_bytes(). Without
/// `item_shape` queries are not planned.
template <class M, class Queue>
PlannedSequence* enqueue_by_keys(const Problem& problem, const KeyShape& shape,
                                 const ItemShape* item_shape, std::byte* memory, Queue& queue) {
  PlannedSequence* sequences = enqueue_planner<M>(problem, shape, memory, queue);
  if (item_shape != nullptr) {
    enqueue_planner<M>(problem, *item_shape, memory + by_queries_offset(problem), queue);
  }
  if (!problem.block_sparse) return sequences;
  using Transpose = ListTranspose<M, Queue::kListThreads>;
  Transpose::make({.q = q_rows_of(problem),
                   .kv = kv_rows_of(problem),
                   .batch = static_cast<int>(problem.batch),
                   .lists = lists_of(problem, sequences),
                   .to = lists_by_keys_of(problem, sequences),
                   .step = Transpose::Step::Count},
                  Queue::kRowBlocks * queue.blocks(),
                  [&](int blocks, const typename Transpose::Params& params) {
                    queue.template launch<Transpose>(blocks, params);
                  });
  return sequences;
}

/// The same as a kernel wants it.
template <class M, class Queue>
PlannedSequence* enqueue_by_keys(const Problem& problem, const BackwardKernel<Queue>& kernel,
                                 std::byte* memory, Queue& queue) {
  const KeyShape shape = kernel.key_shape(problem, queue.blocks());
  if (kernel.item_shape == nullptr) {
    return enqueue_by_keys<M>(problem, shape, nullptr, memory, queue);
  }
  const ItemShape item_shape = kernel.item_shape(problem);
  return enqueue_by_keys<M>(problem, shape, &item_shape, memory, queue);
}

/// The backward kernels that a plan serves; null where there is none.
template <class Queue>
struct PlannedBackward {
  const BackwardKernel<Queue>* usual = nullptr;
  const BackwardKernel<Queue>* deterministic = nullptr;

  PlannedBackward(std::span<const BackwardKernel<Queue>> kernels, Problem problem) {
    problem.deterministic = false;
    if (!choose_backward(kernels, problem, usual).ok()) usual = nullptr;
    problem.deterministic = true;
    if (!choose_backward(kernels, problem, deterministic).ok()) deterministic = nullptr;
  }
};

/// Enqueues the making of a plan at `memory`, which has plan_bytes().
template <class M, class Queue>
DevicePlan enqueue_plan(const Problem& problem, const ForwardKernel<Queue>& forward,
                        const PlannedBackward<Queue>& backward, void* memory, Queue& queue) {
  auto* at = static_cast<std::byte*>(memory);
  DevicePlan plan{.batch = problem.batch,
                  .q_rows = problem.q.rows,
                  .kv_rows = problem.k.rows,
                  .broadcast_q = problem.broadcast_q,
                  .item_shape = item_shape_of(forward, problem),
                  .block_q = problem.blocks.block_q,
                  .block_kv = problem.blocks.block_kv,
                  .list_heads = list_heads(problem),
                  .columns = problem.blocks.columns.size,
                  .users = {}};
  plan.by_queries = enqueue_planner<M>(problem, plan.item_shape, at, queue);
  if (backward.usual == nullptr) return plan;
  plan.key_shape = backward.usual->key_shape(problem, queue.blocks());
  const ItemShape* item_shape = nullptr;
  if (backward.deterministic != nullptr && backward.deterministic->item_shape != nullptr) {
    plan.backward_item_shape = backward.deterministic->item_shape(problem);
    item_shape = &plan.backward_item_shape;
  }
  plan.by_keys =
      enqueue_by_keys<M>(problem, plan.key_shape, item_shape, at + sequences_bytes(problem), queue);
  return plan;
}

/// Enqueues the check of offsets, lengths, lists and `plan`, null where none is given.
template <class M, class Queue>
void enqueue_check(const Problem& problem, PlannedSequence* plan, std::uint64_t* word,
                   Queue& queue) {
  constexpr ItemShape kAnyShape{
      .tile_rows = 64, .block_keys = 64, .resident_keys = 0, .run_tiles = 1};
  queue.template launch<IndexCheck<M>>(
      1, {planner_params(problem, kAnyShape, plan), lists_of(problem, nullptr), word});
}

/// Enqueues a forward call. `plan` is null or made for a problem of these shapes; `workspace` has
/// forward_bytes().
template <class M, class Queue>
Status enqueue_forward(const ForwardKernel<Queue>& kernel, const Problem& problem,
                       const ForwardOutputs& outputs, const Execution& execution,
                       const DevicePlan* plan, Queue& queue) {
  const ItemShape shape = item_shape_of(kernel, problem);
  if (plan != nullptr) {
    JFA_RETURN_IF_ERROR(check_shapes(*plan, problem));
    JFA_RETURN_IF_ERROR(check_cut(plan->item_shape, shape));
  }
  auto* workspace = static_cast<std::byte*>(execution.workspace);
  PlannedSequence* sequences = plan != nullptr ? plan->by_queries : nullptr;
  if (execution.check != nullptr) {
    enqueue_check<M>(problem, sequences, execution.check, queue);
  }
  if (problem.out_rows == 0) return {};
  if (plan == nullptr) {
    sequences = enqueue_planner<M>(problem, shape, workspace + kTicketBytes, queue);
  }
  const int index = plan != nullptr ? plan->users.of(workspace) : 0;
  int* ticket = index < kPlanTickets ? ticket_of(sequences, problem.batch, index)
                                     : reinterpret_cast<int*>(workspace);
  if (index == kPlanTickets) queue.zero(ticket);
  kernel.launch(problem, outputs, {sequences, ticket}, queue);
  return {};
}

/// Enqueues a backward call. `plan` is null or made for a problem of these shapes; `workspace` has
/// what device_workspace_sizes() says.
template <class M, class Queue>
Status enqueue_backward(const BackwardKernel<Queue>& kernel, const Problem& problem,
                        const BackwardInputs& given, const BackwardOutputs& outputs,
                        const Execution& execution, const DevicePlan* plan, Queue& queue) {
  if (plan != nullptr) {
    JFA_RETURN_IF_ERROR(check_shapes(*plan, problem));
    JFA_RETURN_IF_ERROR(check_cut(plan->key_shape, kernel.key_shape(problem, queue.blocks())));
    if (kernel.item_shape != nullptr) {
      JFA_RETURN_IF_ERROR(check_cut(plan->backward_item_shape, kernel.item_shape(problem)));
    }
  }
  auto* workspace = static_cast<std::byte*>(execution.workspace);
  PlannedSequence* sequences = plan != nullptr ? plan->by_keys : nullptr;
  if (execution.check != nullptr) {
    enqueue_check<M>(problem, sequences, execution.check, queue);
  }
  if (problem.q.rows == 0 && problem.k.rows == 0) return {};
  const BackwardParts parts(problem, kernel.sizes(problem, queue.blocks()));
  if (plan == nullptr) {
    sequences = enqueue_by_keys<M>(problem, kernel, workspace + parts.plan, queue);
  }
  kernel.launch(problem, given, outputs, parts.at(problem, workspace, sequences), queue);
  return {};
}

}  // namespace jfa::inline JFA_BACKEND
