// Checks of the forward kernel against the fp64 reference, for any machine. For what a Device is,
// see machine/sample_checks.hpp.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "kernels/forward/forward.hpp"
#include "numeric/half.hpp"
#include "plan/planner.hpp"
#include "problem/problem.hpp"
#include "reference/reference.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

template <class T>
std::vector<T> elements_of(const HostTensor& tensor) {
  std::vector<T> values(tensor.bytes() / sizeof(T));
  std::memcpy(values.data(), tensor.data(), tensor.bytes());
  return values;
}

/// A copy of an index tensor in device memory; no data where there is none.
template <class Device>
DeviceIndices upload_indices(Device& device, const HostTensor* tensor) {
  if (tensor == nullptr) return {nullptr, false};
  if (tensor->dtype() == DType::kI64) {
    return {device.upload(elements_of<std::int64_t>(*tensor)), true};
  }
  return {device.upload(elements_of<std::int32_t>(*tensor)), false};
}

inline const HostTensor* present(const std::optional<HostTensor>& tensor) {
  return tensor ? &*tensor : nullptr;
}

struct ForwardOptions {
  std::optional<double> scale = std::nullopt;
  double softcap = 0;
};

struct ForwardOutcome {
  std::vector<double> out;  // [rows, heads, head_dim]
  std::vector<double> lse;  // [heads, rows]
};

/// Plans and runs the kernel K on `blocks` blocks, outputs poisoned before.
template <class K, class Device>
ForwardOutcome run_forward(Device& device, const Batch& batch, const Problem& problem, int blocks) {
  using T = typename K::T;
  using Plan = Planner<typename Device::M>;
  const auto sequences = static_cast<std::size_t>(problem.batch);
  const auto rows = static_cast<std::size_t>(problem.out_rows);
  const auto heads = static_cast<std::size_t>(problem.heads_q);
  const auto dim = static_cast<std::size_t>(problem.head_dim);
  const auto heads_q = static_cast<int>(problem.heads_q);
  const auto heads_kv = static_cast<int>(problem.heads_kv);
  PlannedSequence* plan = device.template zeroed<PlannedSequence>(
      static_cast<std::size_t>(plan_records(problem.batch)));
  const DeviceRows q_rows{upload_indices(device, present(batch.q_offsets)),
                          upload_indices(device, present(batch.q_lengths)),
                          static_cast<int>(problem.q.rows)};
  BlockLists lists{};
  int* first_rows = nullptr;
  if (problem.block_sparse) {
    first_rows = device.template zeroed<int>(sequences);
    lists = {.row_offsets = upload_indices(device, present(batch.block_row_offsets)),
             .columns = upload_indices(device, present(batch.block_columns)),
             .rows_per_head = problem.blocks.row_offsets.size / problem.blocks.heads,
             .column_count = problem.blocks.columns.size,
             .first_rows = first_rows,
             .heads = static_cast<int>(problem.blocks.heads),
             .block_q = static_cast<int>(problem.blocks.block_q),
             .block_kv = static_cast<int>(problem.blocks.block_kv)};
  }
  Plan::make(
      {.q = q_rows,
       .kv = {upload_indices(device, &batch.kv_offsets),
              upload_indices(device, present(batch.kv_lengths)), static_cast<int>(problem.k.rows)},
       .batch = static_cast<int>(sequences),
       .shape = K::item_shape(heads_q, heads_kv, lists.heads),
       .plan = plan,
       .block_q = lists.block_q,
       .block_rows = first_rows},
      [&](int tiles, const auto& params) { device.template launch<Plan>(tiles, params); });
  const std::size_t count = rows * heads * dim;
  T* out = device.template poisoned<T>(count);
  float* lse = device.template poisoned<float>(rows * heads);
  const std::int64_t q_row = problem.heads_q * problem.head_dim;
  const std::int64_t kv_row = problem.heads_kv * problem.head_dim;
  const auto given = [&](const auto& tensor, std::int64_t row) {
    return Matrix<T>{device.upload(elements_of<T>(tensor)), row, problem.head_dim};
  };
  const ForwardArguments<T> arguments{.q = given(batch.q, q_row),
                                      .k = given(batch.k, kv_row),
                                      .v = given(batch.v, kv_row),
                                      .out = {out, q_row, problem.head_dim},
                                      .lse = {lse, problem.out_rows},
                                      .heads_q = heads_q,
                                      .heads_kv = heads_kv,
                                      .head_dim = static_cast<int>(problem.head_dim),
                                      .window = problem.window,
                                      .lists = lists,
                                      .softmax_scale = problem.softmax_scale,
                                      .softcap = problem.softcap,
                                      .plan = plan,
                                      .q_rows = q_rows,
                                      .batch = static_cast<int>(sequences),
                                      .ticket = device.template zeroed<int>(1)};
  device.template launch<K>(blocks, K::make_params(arguments));
  EXPECT_EQ(device.download(arguments.ticket, 1)[0], 0) << "the next call's ticket";
  ForwardOutcome outcome;
  constexpr HalfFormat kFormat = kElementType<T> == ElementType::Bf16 ? kBf16Format : kF16Format;
  for (const T x : device.download(out, count)) {
    outcome.out.push_back(decode_half(x.bits, kFormat));
  }
  for (const float x : device.download(lse, rows * heads)) outcome.lse.push_back(x);
  return outcome;
}

/// Rounding of P and of the output to 16 bits, of fp32 sums and of exp2, element by element.
inline void expect_forward(const ForwardOutcome& got, const reference::ForwardResult& want,
                           bool half) {
  const double rounding = half ? 0.002 : 0.01;
  for (std::size_t i = 0; i < want.lse.size(); ++i) {
    if (std::isinf(want.lse[i])) {
      ASSERT_EQ(got.lse[i], want.lse[i]) << "lse " << i;
    } else {
      ASSERT_NEAR(got.lse[i], want.lse[i], 1e-3) << "lse " << i;
    }
  }
  for (std::size_t i = 0; i < want.out.size(); ++i) {
    ASSERT_NEAR(got.out[i], want.out[i], rounding * (std::abs(want.out[i]) + 0.5)) << "out " << i;
  }
}

template <class K, class Device>
void check_forward(Device& device, const Batch& batch, DType dtype, int blocks,
                   const ForwardOptions& options = {}) {
  Options given;
  given.mask = batch.mask();
  given.softmax_scale = options.scale;
  given.softcap = options.softcap;
  Problem problem;
  const Status status = check_inputs(batch.inputs(), given, {}, problem);
  ASSERT_TRUE(status.ok()) << status.message();
  const ForwardOutcome got = run_forward<K>(device, batch, problem, blocks);
  expect_forward(got, reference::forward(problem), dtype == DType::kF16);
}

template <class K, class Device>
void check_forward(Device& device, const Case& c, int blocks, std::uint64_t seed,
                   const ForwardOptions& options = {}) {
  check_forward<K>(device, make_batch(c, seed), c.dtype, blocks, options);
}

inline HostTensor int32_tensor(const std::vector<std::int64_t>& values) {
  HostTensor tensor(DType::kI32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.set(static_cast<std::int64_t>(i), static_cast<double>(values[i]));
  }
  return tensor;
}

inline Case small_case(std::vector<std::int64_t> q_lengths, std::vector<std::int64_t> kv_lengths) {
  Case c;
  c.name = "lengths";
  c.q_lengths = std::move(q_lengths);
  c.kv_lengths = std::move(kv_lengths);
  return c;
}

/// Lengths around tiles of queries and blocks of keys, each against each.
inline Case grid_case(std::int64_t head_dim, bool causal) {
  Case c;
  c.name = "grid";
  c.head_dim = head_dim;
  c.causal = causal;
  for (const std::int64_t q : {0, 1, 64, 65, 128, 129, 300}) {
    for (const std::int64_t kv : {0, 1, 64, 127, 128, 129, 256, 257, 400}) {
      c.q_lengths.push_back(q);
      c.kv_lengths.push_back(kv);
    }
  }
  return c;
}

/// Sequences that use a part of their rows, and rows past the last offset; NaN in all of them.
inline Batch batch_with_gaps(std::int64_t head_dim, std::uint64_t seed) {
  Case c;
  c.heads_q = c.heads_kv = 2;
  c.head_dim = head_dim;
  c.q_lengths = {100, 5, 130, 9, 200, 20};
  c.kv_lengths = {140, 7, 300, 0, 65, 30};
  Batch batch = make_batch(c, seed);
  const std::vector<std::int64_t> q_used = {70, 0, 130, 3, 129};
  const std::vector<std::int64_t> kv_used = {129, 7, 200, 0, 64};
  const auto poison = [&](HostTensor& x, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first * 2 * head_dim; i < last * 2 * head_dim; ++i) x.set(i, NAN);
  };
  std::int64_t q_begin = 0;
  std::int64_t kv_begin = 0;
  std::vector<std::int64_t> q_offsets{0};
  std::vector<std::int64_t> kv_offsets{0};
  for (std::size_t b = 0; b < 6; ++b) {
    const bool past = b == 5;  // its rows become capacity past the last offset
    poison(batch.q, q_begin + (past ? 0 : q_used[b]), q_begin + c.q_lengths[b]);
    poison(batch.k, kv_begin + (past ? 0 : kv_used[b]), kv_begin + c.kv_lengths[b]);
    poison(batch.v, kv_begin + (past ? 0 : kv_used[b]), kv_begin + c.kv_lengths[b]);
    q_begin += c.q_lengths[b];
    kv_begin += c.kv_lengths[b];
    if (!past) q_offsets.push_back(q_begin);
    if (!past) kv_offsets.push_back(kv_begin);
  }
  batch.q_offsets = int32_tensor(q_offsets);
  batch.kv_offsets = int32_tensor(kv_offsets);
  batch.q_lengths = int32_tensor(q_used);
  batch.kv_lengths = int32_tensor(kv_used);
  return batch;
}

}  // namespace JFA_BACKEND
}  // namespace jfa
