// The host side of the forward kernel and of the planner on any machine: parameters from a checked
// problem.
//
// A Queue enqueues work of one machine:
//   launch<K>(blocks, params)   a kernel
//   zero(pointer)               an int in device memory
//   blocks()                    blocks of a persistent kernel
//   kPlannerThreads             threads of the planner
#pragma once

#include <algorithm>

#include "kernels/forward/configs.hpp"
#include "launch/forward_kernel.hpp"
#include "plan/planner.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

inline DeviceIndices device_indices(const IndexView& view) {
  return {view.data, view.dtype == DType::kI64};
}

inline DeviceRows q_rows_of(const Problem& problem) {
  return {device_indices(problem.q_offsets), device_indices(problem.q_lengths),
          static_cast<int>(problem.q.rows)};
}

/// The part of a plan at `plan` that belongs to a block-sparse mask: null without one.
inline int* block_rows_of(const Problem& problem, const PlannedSequence* plan) {
  if (!problem.block_sparse || plan == nullptr) return nullptr;
  return reinterpret_cast<int*>(const_cast<PlannedSequence*>(plan) + plan_records(problem.batch));
}

/// Of a block that is larger than any sequence it does not matter by how much.
inline int block_size(std::int64_t rows) {
  return static_cast<int>(std::min<std::int64_t>(rows, std::int64_t{1} << 30));
}

inline BlockLists lists_of(const Problem& problem, const PlannedSequence* plan) {
  if (!problem.block_sparse) return {};
  const BlockSparse& blocks = problem.blocks;
  return {.row_offsets = device_indices(blocks.row_offsets),
          .columns = device_indices(blocks.columns),
          .rows_per_head = blocks.row_offsets.size / blocks.heads,
          .column_count = blocks.columns.size,
          .first_rows = block_rows_of(problem, plan),
          .heads = static_cast<int>(blocks.heads),
          .block_q = block_size(blocks.block_q),
          .block_kv = block_size(blocks.block_kv)};
}

template <class M>
typename Planner<M>::Params planner_params(const Problem& problem, const ItemShape& shape,
                                           PlannedSequence* plan) {
  return {.q = q_rows_of(problem),
          .kv = {device_indices(problem.kv_offsets), device_indices(problem.kv_lengths),
                 static_cast<int>(problem.k.rows)},
          .batch = static_cast<int>(problem.batch),
          .shape = shape,
          .plan = plan,
          .block_q = problem.block_sparse ? block_size(problem.blocks.block_q) : 0,
          .block_rows = block_rows_of(problem, plan)};
}

template <class K>
typename K::Params forward_params(const Problem& problem, const ForwardOutputs& outputs,
                                  const ForwardScratch& scratch) {
  using T = typename K::T;
  // Without rows a tensor may have no data; a tensor map wants an address all the same.
  const auto elements = [&](const ConstTensorView& t) {
    const void* data = t.data != nullptr ? t.data : scratch.plan;
    return const_cast<T*>(static_cast<const T*>(data));
  };
  return K::make_params({.q = elements(problem.q),
                         .k = elements(problem.k),
                         .v = elements(problem.v),
                         .out = static_cast<T*>(outputs.out.data),
                         .lse = outputs.lse.data,
                         .q_strides = {problem.q.row_stride, problem.q.head_stride},
                         .k_strides = {problem.k.row_stride, problem.k.head_stride},
                         .v_strides = {problem.v.row_stride, problem.v.head_stride},
                         .out_strides = {outputs.out.row_stride, outputs.out.head_stride},
                         .lse_head_stride = outputs.lse.head_stride,
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

/// What a kernel does to scores besides scaling them.
enum class Treats { Nothing, Window, Lists, Softcap };  // the last with windows and lists

template <class M, ForwardConfig C, Treats What>
struct ForwardChoice {
  using K = Forward<M, C>;
};
template <class M, ForwardConfig C>
struct ForwardChoice<M, C, Treats::Window> {
  using K = Forward<M, C, WindowMask>;
};
template <class M, ForwardConfig C>
struct ForwardChoice<M, C, Treats::Lists> {
  using K = Forward<M, C, ListedMask>;
};
template <class M, ForwardConfig C>
struct ForwardChoice<M, C, Treats::Softcap> {
  using K = Forward<M, C, ListedMask, CappedScores>;
};

template <class K, class Queue>
void launch_forward(const Problem& problem, const ForwardOutputs& outputs,
                    const ForwardScratch& scratch, Queue& queue) {
  queue.template launch<K>(queue.blocks(), forward_params<K>(problem, outputs, scratch));
}

/// The forward kernel of a machine M for `head_dim` columns, as launched on a Queue.
template <class Queue, class M, int HeadDim, Tiles Shape, bool Half, Treats What>
ForwardKernel<Queue> forward_kernel() {
  constexpr ForwardConfig kConfig = forward_config(HeadDim, Shape, Half);
  using K = typename ForwardChoice<M, kConfig, What>::K;
  return {{.dtype = Half ? DType::kF16 : DType::kBf16,
           .head_dim = HeadDim,
           .tile_rows = K::kTileRows,
           .short_keys = Shape == Tiles::Short || (Shape == Tiles::Narrow && What == Treats::Window)
                             ? kConfig.kv_slots / 2 * kConfig.keys
                             : 0,
           .masked = What != Treats::Nothing,
           .listed = What == Treats::Lists || What == Treats::Softcap,
           .capped = What == Treats::Softcap},
          K::item_shape,
          launch_forward<K, Queue>};
}

}  // namespace JFA_BACKEND
}  // namespace jfa
