// The planner in the emulator against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "machine/emulated_device.hpp"
#include "plan/planner.hpp"

namespace jfa {
inline namespace emulated {
namespace {

constexpr ItemShape kShape = {
    .tile_rows = 128, .block_keys = 128, .resident_keys = 256, .run_tiles = 8};

struct Lengths {
  std::vector<std::int64_t> q;
  std::vector<std::int64_t> kv;
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
std::vector<PlannedSequence> plan_of(const std::vector<Index>& q, const std::vector<Index>& kv,
                                     int q_rows, int kv_rows, std::uint64_t seed) {
  constexpr bool kWide = sizeof(Index) == 8;
  EmulatedDevice device(emulator::kSchedules[seed % std::size(emulator::kSchedules)], seed);
  auto* plan = device.zeroed<PlannedSequence>(kv.size());
  const auto batch = static_cast<int>(kv.size()) - 1;
  device.launch<Planner<EmulatedHopper, ItemShape, kWide ? 64 : 1024>>(
      1, {.q = {{q.empty() ? nullptr : device.upload(q), kWide}, {nullptr, false}, q_rows},
          .kv = {{device.upload(kv), kWide}, {nullptr, false}, kv_rows},
          .batch = batch,
          .shape = kShape,
          .plan = plan});
  return device.download(plan, kv.size());
}

/// Every sequence once with its own rows, items summed up, costs falling but for a bucket's width.
void expect_plan(const Lengths& lengths, const std::vector<PlannedSequence>& plan) {
  const auto q = offsets_of<std::int64_t>(lengths.q);
  const auto kv = offsets_of<std::int64_t>(lengths.kv);
  const std::size_t batch = lengths.q.size();
  std::vector<std::int64_t> found;
  int items = 0;
  double last_cost = 1e30;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < batch; ++i) {
    const PlannedSequence& s = plan[i];
    ASSERT_EQ(s.first_item, items) << "place " << i;
    ASSERT_EQ(s.items, kShape.items(s.q_length, s.kv_length));
    items += s.items;
    const double cost = 1 + kShape.cost(s.q_length, s.kv_length);
    ASSERT_LT(cost, last_cost * 1.4143) << "place " << i;
    last_cost = std::min(cost, last_cost);
    // Rows tell which sequence this is but for empty ones.
    found.push_back(std::int64_t{s.q_begin} << 32 | s.kv_begin);
    if (i > 0 && plan[i - 1].q_length == s.q_length && plan[i - 1].kv_length == s.kv_length) {
      ASSERT_GE(found.back(), last) << "equal sequences keep their order";
    }
    last = found.back();
  }
  EXPECT_EQ(plan[batch].first_item, items);
  std::vector<std::int64_t> expected;
  for (std::size_t b = 0; b < batch; ++b) expected.push_back(q[b] << 32 | kv[b]);
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(found, expected);
}

template <class Index>
void check_plan(const Lengths& lengths, std::uint64_t seed) {
  const auto q = offsets_of<Index>(lengths.q);
  const auto kv = offsets_of<Index>(lengths.kv);
  const auto plan = plan_of(q, kv, static_cast<int>(q.back()), static_cast<int>(kv.back()), seed);
  expect_plan(lengths, plan);
}

TEST(Planner, RandomBatches) {
  std::mt19937_64 random(1);
  for (const std::size_t batch : {1U, 2U, 31U, 300U, 1000U}) {
    Lengths lengths;
    std::uniform_int_distribution<std::int64_t> length(0, 2000);
    for (std::size_t b = 0; b < batch; ++b) {
      lengths.q.push_back(length(random));
      lengths.kv.push_back(length(random));
    }
    check_plan<std::int32_t>(lengths, batch);
    check_plan<std::int64_t>(lengths, batch + 1);
    if (HasFatalFailure()) FAIL() << batch << " sequences";
  }
}

TEST(Planner, OneGiantAmongTinyAndEmptyOnes) {
  Lengths lengths;
  for (std::int64_t b = 0; b < 2000; ++b) {
    lengths.q.push_back(b == 777 ? 1'000'000 : b % 3);
    lengths.kv.push_back(b == 777 ? 900'000 : b % 5);
  }
  check_plan<std::int32_t>(lengths, 1);
}

/// Offsets that leave the tensors or fall are clamped: no row outside them is ever named.
TEST(Planner, ClampsWrongOffsets) {
  const std::vector<std::int32_t> wrong = {-5, 70, 30, 2'000'000'000, 40};
  const auto plan = plan_of(wrong, wrong, 100, 90, 3);
  for (std::size_t i = 0; i + 1 < plan.size(); ++i) {
    EXPECT_GE(plan[i].q_begin, 0);
    EXPECT_GE(plan[i].q_length, 0);
    EXPECT_LE(plan[i].q_begin + plan[i].q_length, 100);
    EXPECT_LE(plan[i].kv_begin + plan[i].kv_length, 90);
  }
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
