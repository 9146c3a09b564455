// What the engines that launch kernels have in common: workspace, plans, the order of launches.
#pragma once

#include <cstddef>
#include <string>

#include "launch/launch_forward.hpp"
#include "launch/ticket_users.hpp"
#include "plan/index_check.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// A plan in device memory, which its owner keeps.
struct DevicePlan {
  PlannedSequence* sequences = nullptr;  // [plan_records(batch)]
  std::int64_t batch = 0;
  std::int64_t q_rows = 0;
  std::int64_t kv_rows = 0;
  bool broadcast_q = false;
  ItemShape shape{};
  std::int64_t block_q = 0;  // of a block-sparse mask; 0: none is given
  TicketUsers users{};

  int* ticket(int index) const { return reinterpret_cast<int*>(sequences + batch) + index; }
};

/// Sequences, and for a block-sparse mask the first row of each in its lists.
inline std::size_t plan_bytes(const Problem& problem) {
  const auto batch = static_cast<std::size_t>(problem.batch);
  return static_cast<std::size_t>(plan_records(problem.batch)) * sizeof(PlannedSequence) +
         (problem.block_sparse ? batch * sizeof(int) : 0);
}

/// Workspace of a forward call: a line for a ticket, where that of a plan cannot be used, and a
/// plan for calls without one.
constexpr std::size_t kTicketBytes = 64;

inline std::size_t forward_bytes(const Problem& problem) {
  return kTicketBytes + plan_bytes(problem);
}

inline Status check_workspace(const Execution& execution, std::size_t bytes) {
  const std::string wanted = ", must be at least " + std::to_string(bytes);
  if (execution.workspace == nullptr) {
    return invalid_argument("execution.workspace is null, must point to " + std::to_string(bytes) +
                            " bytes of device memory");
  }
  if (execution.workspace_bytes >= bytes) return {};
  return invalid_argument("execution.workspace_bytes is " +
                          std::to_string(execution.workspace_bytes) + wanted);
}

inline Status no_backward(const std::string& device) {
  return {ErrorCode::kUnsupported,
          "backward is not offered by device " + device + " in this build, must run on cpu"};
}

/// Whether a plan has the shapes of a problem; its offsets only a check on the device can compare.
inline Status check_device_plan(const DevicePlan& plan, const Problem& problem,
                                const ItemShape& shape) {
  const struct {
    const char* name;
    std::int64_t planned, given;
  } parts[] = {{"B", plan.batch, problem.batch},
               {"q.rows", plan.q_rows, problem.q.rows},
               {"k.rows", plan.kv_rows, problem.k.rows},
               {"broadcast_q (0 or 1)", plan.broadcast_q, problem.broadcast_q},
               {"tiles of rows", plan.shape.tile_rows, shape.tile_rows},
               {"blocks of keys", plan.shape.block_keys, shape.block_keys},
               {"resident keys", plan.shape.resident_keys, shape.resident_keys},
               {"tiles of a run", plan.shape.run_tiles, shape.run_tiles},
               {"mask.block_sparse.block_q", plan.block_q,
                problem.block_sparse ? problem.blocks.block_q : 0}};
  for (const auto& [name, planned, given] : parts) {
    if (planned == given) continue;
    return invalid_argument("plan was made for " + std::string(name) + " = " +
                            std::to_string(planned) + ", must be made for the call's " +
                            std::to_string(given) + " (shapes, heads, head_dim and mask decide)");
  }
  return {};
}

/// Enqueues the making of a plan at `memory`.
template <class M, class Queue>
DevicePlan enqueue_plan(const Problem& problem, const ItemShape& shape, void* memory,
                        Queue& queue) {
  const DevicePlan plan{static_cast<PlannedSequence*>(memory),
                        problem.batch,
                        problem.q.rows,
                        problem.k.rows,
                        problem.broadcast_q,
                        shape,
                        problem.block_sparse ? problem.blocks.block_q : 0};
  using Plan = Planner<M, ItemShape, Queue::kPlannerThreads>;
  Plan::make(planner_params<M>(problem, shape, plan.sequences),
             [&](int blocks, const typename Plan::Params& params) {
               queue.template launch<Plan>(blocks, params);
             });
  return plan;
}

/// Enqueues a forward call. `plan` is null or made for a problem of these shapes; `workspace` has
/// forward_bytes().
template <class M, class Queue>
Status enqueue_forward(const ForwardKernel<Queue>& kernel, const Problem& problem,
                       const ForwardOutputs& outputs, const Execution& execution,
                       const DevicePlan* plan, Queue& queue) {
  if (problem.out_rows == 0 && execution.check == nullptr) return {};
  const ItemShape shape = item_shape_of(kernel, problem);
  if (plan != nullptr) JFA_RETURN_IF_ERROR(check_device_plan(*plan, problem, shape));
  auto* workspace = static_cast<std::byte*>(execution.workspace);
  if (execution.check != nullptr) {
    PlannedSequence* given = plan != nullptr ? plan->sequences : nullptr;
    queue.template launch<IndexCheck<M>>(
        1, {planner_params<M>(problem, shape, given), lists_of(problem, nullptr), execution.check});
  }
  if (problem.out_rows == 0) return {};
  if (plan == nullptr) {
    const DevicePlan own = enqueue_plan<M>(problem, shape, workspace + kTicketBytes, queue);
    kernel.launch(problem, outputs, {own.sequences, own.ticket(0)}, queue);
    return {};
  }
  const int index = plan->users.of(workspace);
  int* ticket = index < kPlanTickets ? plan->ticket(index) : reinterpret_cast<int*>(workspace);
  if (index == kPlanTickets) queue.zero(ticket);
  kernel.launch(problem, outputs, {plan->sequences, ticket}, queue);
  return {};
}

}  // namespace JFA_BACKEND
}  // namespace jfa
