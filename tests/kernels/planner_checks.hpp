// The planner on any machine against a stable sort.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "plan/planner.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// What a plan is made of.
template <class Index>
struct PlannedBatch {
  std::vector<Index> q_offsets;  // none: all sequences share q_rows rows
  std::vector<Index> kv_offsets;
  int q_rows;
  int kv_rows;

  int batch() const { return static_cast<int>(kv_offsets.size()) - 1; }
};

template <class Index>
std::vector<Index> offsets_of(const std::vector<std::int64_t>& lengths) {
  std::vector<Index> offsets{0};
  for (const std::int64_t length : lengths) {
    offsets.push_back(static_cast<Index>(offsets.back() + static_cast<Index>(length)));
  }
  return offsets;
}

template <class Index>
PlannedBatch<Index> batch_of(const std::vector<std::int64_t>& q,
                             const std::vector<std::int64_t>& kv) {
  PlannedBatch<Index> batch{offsets_of<Index>(q), offsets_of<Index>(kv), 0, 0};
  batch.q_rows = static_cast<int>(batch.q_offsets.back());
  batch.kv_rows = static_cast<int>(batch.kv_offsets.back());
  return batch;
}

/// `batch` sequences of up to `longest` rows on each side.
template <class Index>
PlannedBatch<Index> random_batch(int batch, std::int64_t longest, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::int64_t> length(0, longest);
  std::vector<std::int64_t> q, kv;
  for (int b = 0; b < batch; ++b) {
    q.push_back(length(random));
    kv.push_back(length(random));
  }
  return batch_of<Index>(q, kv);
}

struct Planned {
  std::vector<PlannedSequence> sequences;
  std::vector<int> block_rows;
};

template <class Index, class Shape>
Planned expected_plan(const PlannedBatch<Index>& of, const Shape& shape, int block_q) {
  Planned plan;
  std::int64_t blocks = 0;
  for (int b = 0; b < of.batch(); ++b) {
    const auto range = [&](const std::vector<Index>& offsets, int rows) {
      const auto i = static_cast<std::size_t>(b);
      const auto begin = std::clamp<std::int64_t>(offsets[i], 0, rows);
      return std::pair(static_cast<int>(begin),
                       static_cast<int>(std::clamp<std::int64_t>(offsets[i + 1], begin, rows)));
    };
    const bool broadcast = of.q_offsets.empty();
    const auto [q, q_end] = broadcast ? std::pair(0, of.q_rows) : range(of.q_offsets, of.q_rows);
    const auto [kv, kv_end] = range(of.kv_offsets, of.kv_rows);
    const int items = shape.items(q_end - q, kv_end - kv);
    plan.sequences.push_back(
        {q, q_end - q, kv, kv_end - kv, broadcast ? b * of.q_rows : q, 0, items, b});
    plan.block_rows.push_back(static_cast<int>(blocks));
    blocks += (q_end - q + block_q - 1) / block_q;
  }
  std::stable_sort(plan.sequences.begin(), plan.sequences.end(), [&](const auto& a, const auto& b) {
    const auto level = [&](const PlannedSequence& s) {
      const bool leads = shape.leads(s.q_length, s.kv_length);
      const int most = leads ? Shape::kLeadingBuckets : kPlannedBuckets - Shape::kLeadingBuckets;
      const int cost = half_octaves(1 + shape.cost(s.q_length, s.kv_length));
      return std::pair(leads, std::min(most - 1, cost));
    };
    return level(a) > level(b);
  });
  plan.sequences.push_back({});
  int items = 0;
  for (PlannedSequence& s : plan.sequences) {
    s.first_item = items;
    items += s.items;
    if (shape.leads(s.q_length, s.kv_length)) plan.sequences.back().items += s.items;
  }
  return plan;
}

/// Plans with blocks of `Threads` threads.
template <int Threads, class Device, class Index, class Shape>
void check_plan(Device& device, const PlannedBatch<Index>& of, const Shape& shape) {
  using Plan = Planner<typename Device::M, Shape, Threads>;
  constexpr bool kWide = sizeof(Index) == 8;
  constexpr int kBlockQ = 192;
  const auto batch = static_cast<std::size_t>(of.batch());
  auto* plan =
      device.template scratch<PlannedSequence>(static_cast<std::size_t>(plan_records(of.batch())));
  int* block_rows = device.template scratch<int>(batch);
  const Index* q = of.q_offsets.empty() ? nullptr : device.upload(of.q_offsets);
  Plan::make({.q = {{q, kWide}, {nullptr, false}, of.q_rows},
              .kv = {{device.upload(of.kv_offsets), kWide}, {nullptr, false}, of.kv_rows},
              .batch = of.batch(),
              .shape = shape,
              .plan = plan,
              .block_q = kBlockQ,
              .block_rows = block_rows},
             [&](int tiles, const auto& params) { device.template launch<Plan>(tiles, params); });
  const auto got = device.download(plan, batch + 1);
  const auto rows = device.download(block_rows, batch);
  const Planned want = expected_plan(of, shape, kBlockQ);
  const auto fields = [](const PlannedSequence& s) {
    return std::vector{s.q_begin,   s.q_length,   s.kv_begin, s.kv_length,
                       s.out_begin, s.first_item, s.items,    s.index};
  };
  for (std::size_t i = 0; i <= batch; ++i) {
    ASSERT_EQ(fields(got[i]), fields(want.sequences[i])) << "place " << i << " of " << batch;
  }
  ASSERT_EQ(rows, want.block_rows);
}

}  // namespace JFA_BACKEND
}  // namespace jfa
