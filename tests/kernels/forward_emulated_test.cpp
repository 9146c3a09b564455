// The forward kernel in the emulator against the fp64 reference, under every schedule.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/forward_checks.hpp"
#include "machine/emulated_device.hpp"

namespace jfa {
inline namespace emulated {
namespace {

constexpr ForwardConfig kDim64 = {.head_dim = 64};
constexpr ForwardConfig kDim128 = {.head_dim = 128};
constexpr ForwardConfig kHalf64 = {.head_dim = 64, .half = true};
using M = EmulatedHopper;

Case small_case(std::vector<std::int64_t> q_lengths, std::vector<std::int64_t> kv_lengths) {
  Case c;
  c.name = "lengths";
  c.q_lengths = std::move(q_lengths);
  c.kv_lengths = std::move(kv_lengths);
  return c;
}

/// One run of kernel K for a schedule and seed that `turn` picks.
template <class K>
void check_turn(const Case& c, std::uint64_t turn, const ForwardOptions& options = {}) {
  constexpr std::size_t kCount = std::size(emulator::kSchedules);
  const emulator::Schedule schedule = emulator::kSchedules[turn % kCount];
  EmulatedDevice device(schedule, turn);
  check_forward<K>(device, c, 2, turn, options);
  if (testing::Test::HasFailure()) {
    FAIL() << c.name << ", " << emulator::to_string(schedule) << ", seed " << turn;
  }
}

TEST(ForwardEmulated, LengthGrid) {
  const std::int64_t around[] = {0, 1, 127, 128, 129};
  std::uint64_t turn = 0;
  for (const std::int64_t q : around) {
    for (const std::int64_t kv : around) {
      const Case c = small_case({q, 3}, {kv, 2});
      check_turn<Forward<M, kDim64>>(c, turn++);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ForwardEmulated, MixedLengthsUnderEverySchedule) {
  const Case c = small_case({130, 0, 64, 300, 1, 40}, {1, 5, 0, 260, 300, 129});
  for (std::uint64_t turn = 0; turn < 14; ++turn) {
    check_turn<Forward<M, kDim64>>(c, turn);
    if (HasFatalFailure()) return;
  }
}

TEST(ForwardEmulated, HeadDim128) {
  Case c = small_case({130, 20}, {260, 129});
  c.head_dim = 128;
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    check_turn<Forward<M, kDim128>>(c, turn);
    if (HasFatalFailure()) return;
  }
}

TEST(ForwardEmulated, HalfPrecision) {
  Case c = small_case({130, 20}, {260, 129});
  c.dtype = DType::kF16;
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    check_turn<Forward<M, kHalf64>>(c, turn);
    if (HasFatalFailure()) return;
  }
}

TEST(ForwardEmulated, AllSequencesEmpty) {
  check_turn<Forward<M, kDim64>>(small_case({0, 0, 0}, {0, 0, 0}), 1);
  check_turn<Forward<M, kDim64>>(small_case({0, 70, 0}, {0, 0, 3}), 2);
}

TEST(ForwardEmulated, RunsOfTilesShareKeys) {
  // 9 tiles are two runs; 257 keys are too many to share.
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    check_turn<Forward<M, kDim64>>(small_case({1100, 400, 200}, {200, 256, 257}), turn);
    if (HasFatalFailure()) return;
  }
}

TEST(ForwardEmulated, Masks) {
  const Window windows[] = {{-1, 0}, {10, 0}, {100, 20}, {0, 0}, {-1, 70}, {3, -1}, {200, 150}};
  std::uint64_t turn = 0;
  for (const Window window : windows) {
    // Fewer queries than keys, more, as many; rows that see nothing.
    Case c = small_case({130, 300, 129, 1, 70}, {300, 130, 129, 200, 0});
    c.window = window;
    check_turn<Forward<M, kDim64, WindowMask>>(c, turn++);
    if (HasFatalFailure()) return;
  }
}

TEST(ForwardEmulated, GroupedHeads) {
  const std::int64_t groups[] = {2, 3, 6, 8};
  std::uint64_t turn = 0;
  for (const std::int64_t group : groups) {
    Case c = small_case({33, 0, 70}, {129, 5, 40});
    c.heads_kv = 2;
    c.heads_q = 2 * group;
    check_turn<Forward<M, kDim64>>(c, turn++);
    c.causal = true;
    check_turn<Forward<M, kDim64, WindowMask>>(c, turn++);
    if (HasFatalFailure()) return;
  }
}

TEST(ForwardEmulated, BroadcastQueries) {
  for (const std::int64_t rows : {1, 64, 130}) {
    Case c = small_case({}, {129, 0, 1, 300});
    c.broadcast_q = true;
    c.q_length = rows;
    c.heads_q = c.heads_kv = 2;
    check_turn<Forward<M, kDim64>>(c, static_cast<std::uint64_t>(rows));
    if (HasFatalFailure()) return;
  }
}

TEST(ForwardEmulated, GapsAndCapacity) {
  for (const emulator::Schedule schedule : emulator::kSchedules) {
    EmulatedDevice device(schedule, 5);
    const Batch batch = batch_with_gaps(64, 5);
    check_forward<Forward<M, kDim64>>(device, batch, DType::kBf16, 3);
    if (HasFatalFailure()) FAIL() << emulator::to_string(schedule);
  }
}

TEST(ForwardEmulated, ScalesAndSoftcap) {
  const Case c = small_case({130, 20}, {260, 129});
  std::uint64_t turn = 0;
  for (const double scale : {0.5, -0.3, 0.0}) {
    check_turn<Forward<M, kDim64>>(c, turn++, {.scale = scale});
  }
  check_turn<Forward<M, kDim64, WindowMask, CappedScores>>(c, turn++, {.softcap = 5});
  check_turn<Forward<M, kDim64, WindowMask, CappedScores>>(c, turn++,
                                                           {.scale = -1.0, .softcap = 20});
}

/// A NaN or infinity in one sequence changes no bit of another.
TEST(ForwardEmulated, Isolation) {
  using K = Forward<M, kDim64>;
  const Case c = small_case({70, 70, 70}, {130, 65, 1});
  Batch batch = make_batch(c, 3);
  Options options;
  Problem problem;
  ASSERT_TRUE(check_inputs(batch.inputs(), options, {}, problem).ok());
  EmulatedDevice clean_device(emulator::Schedule::Random, 1);
  const ForwardOutcome clean = run_forward<K>(clean_device, batch, problem, 2);
  for (std::int64_t i = 70 * 64; i < 140 * 64; ++i) batch.q.set(i, i % 3 == 0 ? INFINITY : NAN);
  for (std::int64_t i = 130 * 64; i < 195 * 64; ++i) {
    batch.k.set(i, i % 5 == 0 ? -INFINITY : NAN);
    batch.v.set(i, i % 7 == 0 ? INFINITY : NAN);
  }
  EmulatedDevice dirty_device(emulator::Schedule::Random, 1);
  const ForwardOutcome dirty = run_forward<K>(dirty_device, batch, problem, 2);
  for (std::size_t row = 0; row < 210; ++row) {
    if (row / 70 == 1) continue;
    ASSERT_EQ(dirty.lse[row], clean.lse[row]) << "row " << row;
    for (std::size_t i = row * 64; i < (row + 1) * 64; ++i) {
      ASSERT_EQ(dirty.out[i], clean.out[i]) << "row " << row;
    }
  }
}

/// Scores that are -inf by value: such a row counts as one that sees nothing.
TEST(ForwardEmulated, InfiniteScores) {
  const Case c = small_case({3}, {200});
  Batch batch = make_batch(c, 4);
  for (std::int64_t i = 0; i < 200 * 64; ++i) batch.k.set(i, 1);
  for (std::int64_t i = 64; i < 128; ++i) batch.q.set(i, i == 64 ? -INFINITY : 0);
  Options options;
  Problem problem;
  ASSERT_TRUE(check_inputs(batch.inputs(), options, {}, problem).ok());
  EmulatedDevice device(emulator::Schedule::Random, 1);
  const ForwardOutcome got = run_forward<Forward<M, kDim64>>(device, batch, problem, 1);
  EXPECT_EQ(got.lse[1], -INFINITY);
  for (std::size_t i = 64; i < 128; ++i) EXPECT_EQ(got.out[i], 0);
  expect_forward(got, reference::forward(problem), false);
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
