// Checks of forward kernels in the emulator, for every chip's: each against the fp64 reference, its
// runs under all schedules in turn.
#pragma once

#include <cmath>

#include "kernels/forward_checks.hpp"
#include "machine/emulated_device.hpp"

namespace jfa {
inline namespace emulated {

/// One run of kernel K for a schedule and seed that `turn` picks.
template <class K>
void check_turn(const Case& c, std::uint64_t turn, const ForwardOptions& options = {}) {
  on_turn(c.name, turn,
          [&](EmulatedDevice& device) { check_forward<K>(device, c, 2, turn, options); });
}

/// Lengths around the tile's rows and the block's keys, each against each.
template <class K>
void check_length_grid() {
  std::uint64_t turn = 0;
  for (const std::int64_t q : {0, 1, K::kTileRows - 1, K::kTileRows, K::kTileRows + 1}) {
    for (const std::int64_t kv : {0, 1, K::C.keys - 1, K::C.keys, K::C.keys + 1}) {
      check_turn<K>(small_case({q, 3}, {kv, 2}), turn++);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

template <class K>
void check_mixed_lengths() {
  const Case c = small_case({130, 0, 64, 300, 1, 40}, {1, 5, 0, 260, 300, 129});
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    check_turn<K>(c, turn);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class K>
void check_head_dim(std::int64_t head_dim, std::uint64_t turns) {
  Case c = small_case({130, 20}, {260, 129});
  c.head_dim = head_dim;
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    check_turn<K>(c, turn);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class K>
void check_masks(std::uint64_t turn) {
  const Window windows[] = {{-1, 0}, {10, 0}, {100, 20}, {0, 0}, {-1, 70}, {3, -1}, {200, 150}};
  for (const Window window : windows) {
    // Fewer queries than keys, more, as many; rows that see nothing.
    Case c = small_case({130, 300, 129, 1, 70}, {300, 130, 129, 200, 0});
    c.window = window;
    check_turn<K>(c, turn++);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class K>
void check_half() {
  Case c = small_case({130, 20}, {260, 129});
  c.dtype = DType::kF16;
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    check_turn<K>(c, turn);
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class K>
void check_empty() {
  check_turn<K>(small_case({0, 0, 0}, {0, 0, 0}), 1);
  check_turn<K>(small_case({0, 70, 0}, {0, 0, 3}), 2);
}

template <class K>
void check_broadcast() {
  for (const std::int64_t rows : {1, 64, 130}) {
    Case c = small_case({}, {129, 0, 1, 300});
    c.broadcast_q = true;
    c.q_length = rows;
    c.heads_q = c.heads_kv = 2;
    check_turn<K>(c, static_cast<std::uint64_t>(rows));
    if (testing::Test::HasFatalFailure()) return;
  }
}

template <class K>
void check_gaps() {
  for (const emulator::Schedule schedule : emulator::kSchedules) {
    EmulatedDevice device(schedule, 5);
    const Batch batch = batch_with_gaps(64, 5);
    check_forward<K>(device, batch, DType::kBf16, 3);
    if (testing::Test::HasFatalFailure()) FAIL() << emulator::to_string(schedule);
  }
}

/// A NaN or infinity in one sequence changes no bit of another.
template <class K>
void check_isolation() {
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
template <class K>
void check_infinite_scores() {
  const Case c = small_case({3}, {200});
  Batch batch = make_batch(c, 4);
  for (std::int64_t i = 0; i < 200 * 64; ++i) batch.k.set(i, 1);
  for (std::int64_t i = 64; i < 128; ++i) batch.q.set(i, i == 64 ? -INFINITY : 0);
  Options options;
  Problem problem;
  ASSERT_TRUE(check_inputs(batch.inputs(), options, {}, problem).ok());
  EmulatedDevice device(emulator::Schedule::Random, 1);
  const ForwardOutcome got = run_forward<K>(device, batch, problem, 1);
  EXPECT_EQ(got.lse[1], -INFINITY);
  for (std::size_t i = 64; i < 128; ++i) EXPECT_EQ(got.out[i], 0);
  expect_forward(got, reference::forward(problem), false);
}

/// Heads of a group packed into rows, without a mask and causal.
template <class K, class Masked>
void check_grouped_heads() {
  const std::int64_t groups[] = {2, 3, 6, 8};
  std::uint64_t turn = 0;
  for (const std::int64_t group : groups) {
    Case c = small_case({33, 0, 70}, {129, 5, 40});
    c.heads_kv = 2;
    c.heads_q = 2 * group;
    check_turn<K>(c, turn++);
    c.causal = true;
    check_turn<Masked>(c, turn++);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Bands and the first blocks, rows without any block, more queries than keys, causal besides.
template <class K>
void check_lists() {
  std::uint64_t turn = 0;
  const BlockPattern patterns[] = {
      {64, 64, 0, 0}, {64, 64, 1, 1}, {128, 64, 2, 0}, {64, 128, 0, 2}};
  for (const BlockPattern& pattern : patterns) {
    for (const bool causal : {false, true}) {
      Case c = small_case({330, 200, 70, 0, 5}, {700, 65, 300, 80, 0});
      c.block_sparse = pattern;
      c.causal = causal;
      check_turn<K>(c, turn++);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// Lists for heads of a group, packed into rows, and for broadcast queries.
template <class K>
void check_grouped_lists() {
  Case c = small_case({100, 70}, {300, 200});
  c.heads_q = 4;
  c.heads_kv = 2;
  c.block_sparse = BlockPattern{64, 64, 1, 1};
  check_turn<K>(c, 3);
  c.q_lengths.clear();
  c.broadcast_q = true;
  c.q_length = 130;
  check_turn<K>(c, 4);
}

/// Equal bits, whichever tiles a block takes one after the other.
template <class K>
void check_same_bits() {
  const Batch batch = make_batch(small_case({130, 300, 64, 200}, {300, 130, 260, 500}), 8);
  Problem problem;
  ASSERT_TRUE(check_inputs(batch.inputs(), {}, {}, problem).ok());
  EmulatedDevice device(emulator::Schedule::Random, 1);
  const ForwardOutcome first = run_forward<K>(device, batch, problem, 1);
  for (const int blocks : {2, 5}) {
    EmulatedDevice again_device(emulator::Schedule::Random, 2);
    const ForwardOutcome again = run_forward<K>(again_device, batch, problem, blocks);
    EXPECT_EQ(again.out, first.out) << blocks << " blocks";
    EXPECT_EQ(again.lse, first.lse) << blocks << " blocks";
  }
}

}  // namespace emulated
}  // namespace jfa
