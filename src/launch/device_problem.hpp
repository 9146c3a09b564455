// A checked problem as kernels read it.
//
// A Queue enqueues work of one machine:
//   launch<K>(blocks, params)   a kernel
//   zero(pointer)               an int in device memory
//   blocks()                    blocks of a persistent kernel
//   kPlannerThreads             threads of the planner
//   kRowBlocks                  blocks of a pass over rows, at most, for each persistent one
//   kListThreads                threads of those that transpose lists
//   kFewTasks                   pairs of a sequence and a head that keep its blocks busy
//   kLongTokens                 of a sequence for which backward kernels for long ones are better
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/forward/mask.hpp"
#include "kernels/forward/scores.hpp"
#include "launch/kernel_traits.hpp"
#include "plan/planner.hpp"
#include "plan/transpose.hpp"
#include "problem/problem.hpp"

namespace jfa::inline JFA_BACKEND {

/// What a kernel does to scores besides scaling them.
enum class Treats { Nothing, Window, Lists, Softcap };  // the last with windows and lists

/// The kernel of a family that treats scores so: Family::K<mask policy, score policy>.
template <Treats What, class Family>
struct Treated {
  using K = typename Family::template K<NoMask, ScaledScores>;
};
template <class Family>
struct Treated<Treats::Window, Family> {
  using K = typename Family::template K<WindowMask, ScaledScores>;
};
template <class Family>
struct Treated<Treats::Lists, Family> {
  using K = typename Family::template K<ListedMask, ScaledScores>;
};
template <class Family>
struct Treated<Treats::Softcap, Family> {
  using K = typename Family::template K<ListedMask, CappedScores>;
};

template <int HeadDim, bool Half, Treats What>
constexpr KernelTraits treated_traits() {
  return {.dtype = Half ? DType::kF16 : DType::kBf16,
          .head_dim = HeadDim,
          .masked = What != Treats::Nothing,
          .listed = What == Treats::Lists || What == Treats::Softcap,
          .capped = What == Treats::Softcap};
}

inline DeviceIndices device_indices(const IndexView& view) {
  return {view.data, view.dtype == DType::kI64};
}

inline DeviceRows q_rows_of(const Problem& problem) {
  return {device_indices(problem.q_offsets), device_indices(problem.q_lengths),
          static_cast<int>(problem.q.rows)};
}

inline DeviceRows kv_rows_of(const Problem& problem) {
  return {device_indices(problem.kv_offsets), device_indices(problem.kv_lengths),
          static_cast<int>(problem.k.rows)};
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

/// One direction's part of a plan: sequences, and for a block-sparse mask the first row of each in
/// its lists. Parts of a workspace and of a plan begin at multiples of kPartAlignment.
constexpr std::size_t kPartAlignment = 64;
constexpr std::size_t part(std::size_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}
inline std::size_t sequences_bytes(const Problem& problem) {
  const auto batch = static_cast<std::size_t>(problem.batch);
  return part(static_cast<std::size_t>(plan_records(problem.batch)) * sizeof(PlannedSequence) +
              (problem.block_sparse ? batch * sizeof(int) : 0));
}

inline std::int64_t list_heads(const Problem& problem) {
  return problem.block_sparse ? problem.blocks.heads : 0;
}

/// A block-sparse mask's lists of one head, transposed.
inline std::int64_t places_of(const Problem& problem) {
  return ListsByKeys::places_of(problem.k.rows, problem.batch, block_size(problem.blocks.block_kv));
}
/// Of all lists, transposed, behind the sequences of the backward pass; none without a mask.
inline std::size_t lists_bytes(const Problem& problem) {
  if (!problem.block_sparse) return 0;
  const std::int64_t starts = problem.blocks.heads * places_of(problem) + 1;
  return part(static_cast<std::size_t>(starts) * sizeof(int)) +
         part(static_cast<std::size_t>(problem.blocks.columns.size) * sizeof(int));
}

inline ListsByKeys lists_by_keys_of(const Problem& problem, const PlannedSequence* plan) {
  if (!problem.block_sparse || plan == nullptr) return {};
  auto* memory =
      reinterpret_cast<std::byte*>(const_cast<PlannedSequence*>(plan)) + sequences_bytes(problem);
  const std::int64_t starts = problem.blocks.heads * places_of(problem) + 1;
  return {
      .starts = reinterpret_cast<int*>(memory),
      .rows = reinterpret_cast<int*>(memory + part(static_cast<std::size_t>(starts) * sizeof(int))),
      .places = static_cast<int>(places_of(problem)),
      .capacity = static_cast<int>(problem.blocks.columns.size)};
}

/// `Shape` says how a kernel cuts sequences.
template <class Shape>
PlannerParams<Shape> planner_params(const Problem& problem, const Shape& shape,
                                    PlannedSequence* plan) {
  return {.q = q_rows_of(problem),
          .kv = kv_rows_of(problem),
          .batch = static_cast<int>(problem.batch),
          .shape = shape,
          .plan = plan,
          .block_q = problem.block_sparse ? block_size(problem.blocks.block_q) : 0,
          .block_rows = block_rows_of(problem, plan)};
}

/// The elements of a tensor. Without rows it may have no data; a tensor map wants an address all
/// the same, and gets `other`.
template <class T>
T* elements_of(const ConstTensorView& tensor, const void* other) {
  const void* data = tensor.data != nullptr ? tensor.data : other;
  return const_cast<T*>(static_cast<const T*>(data));
}

}  // namespace jfa::inline JFA_BACKEND
