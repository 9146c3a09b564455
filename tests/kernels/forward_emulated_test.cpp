// The forward kernel in the emulator against the fp64 reference, under every schedule.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/forward/configs.hpp"
#include "kernels/forward_checks.hpp"
#include "machine/emulated_device.hpp"

namespace jfa {
inline namespace emulated {
namespace {

// Two warpgroups; three with two Q slots; three with turns; two with a single Q slot.
constexpr ForwardConfig kDim64 = {.head_dim = 64};
constexpr ForwardConfig kWide64 = {
    .head_dim = 64, .groups = 3, .keys = 80, .q_slots = 2, .kv_slots = 6};
constexpr ForwardConfig kTurns64 = forward_config(64, Tiles::Wide, false);
constexpr ForwardConfig kNarrow64 = {
    .head_dim = 64, .groups = 3, .keys = 64, .q_slots = 2, .kv_slots = 8};
constexpr ForwardConfig kTiny64 = forward_config(64, Tiles::Tiny, false);
constexpr ForwardConfig kOneQ64 = {.head_dim = 64, .keys = 80, .q_slots = 1};
constexpr ForwardConfig kDim128 = forward_config(128, Tiles::Short, false);
constexpr ForwardConfig kWide128 = forward_config(128, Tiles::Wide, false);
constexpr ForwardConfig kDim256 = forward_config(256, Tiles::Wide, false);
constexpr ForwardConfig kSmall64 = forward_config(64, Tiles::Small, false);
constexpr ForwardConfig kHalf64 = {.head_dim = 64, .half = true};
using M = EmulatedHopper;

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

TEST(ForwardEmulated, LengthGrid) { check_length_grid<Forward<M, kDim64>>(); }
TEST(ForwardEmulated, LengthGridThreeWarpgroups) { check_length_grid<Forward<M, kWide64>>(); }
TEST(ForwardEmulated, LengthGridTurns) { check_length_grid<Forward<M, kTurns64>>(); }
TEST(ForwardEmulated, LengthGridTiny) { check_length_grid<Forward<M, kTiny64>>(); }
TEST(ForwardEmulated, LengthGridOneQ) { check_length_grid<Forward<M, kOneQ64, WindowMask>>(); }

template <class K>
void check_mixed_lengths() {
  const Case c = small_case({130, 0, 64, 300, 1, 40}, {1, 5, 0, 260, 300, 129});
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    check_turn<K>(c, turn);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(ForwardEmulated, MixedLengthsUnderEverySchedule) {
  check_mixed_lengths<Forward<M, kDim64>>();
  check_mixed_lengths<Forward<M, kWide64>>();
  check_mixed_lengths<Forward<M, kTurns64>>();
  check_mixed_lengths<Forward<M, kTiny64>>();
  check_mixed_lengths<Forward<M, kOneQ64, WindowMask>>();
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

/// Head dims that fill a tile, and smaller ones that are filled up with zeros.
TEST(ForwardEmulated, HeadDims) {
  check_head_dim<Forward<M, kDim128>>(128, 4);
  check_head_dim<Forward<M, kWide128>>(128, 3);
  check_head_dim<Forward<M, kWide128>>(96, 2);
  check_head_dim<Forward<M, kTurns64>>(8, 2);
  check_head_dim<Forward<M, kTurns64>>(40, 1);
  check_head_dim<Forward<M, kDim256, WindowMask>>(256, 2);
  check_head_dim<Forward<M, kDim256, WindowMask>>(136, 1);
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

TEST(ForwardEmulated, Masks) { check_masks<Forward<M, kDim64, WindowMask>>(0); }
TEST(ForwardEmulated, MasksThreeWarpgroups) { check_masks<Forward<M, kWide64, WindowMask>>(3); }
TEST(ForwardEmulated, MasksNarrow) { check_masks<Forward<M, kNarrow64, WindowMask>>(2); }
TEST(ForwardEmulated, MasksTurns) { check_masks<Forward<M, kTurns64, WindowMask>>(5); }
TEST(ForwardEmulated, MasksTiny) { check_masks<Forward<M, kTiny64, WindowMask>>(3); }
TEST(ForwardEmulated, MasksOneQ) { check_masks<Forward<M, kOneQ64, WindowMask>>(1); }

/// A warpgroup that sees fewer blocks than its tile, before and behind.
TEST(ForwardEmulated, BlocksPassedBy) {
  std::uint64_t turn = 0;
  for (const Window window : {Window{-1, 0}, Window{30, 0}, Window{0, 5}}) {
    Case c = small_case({400, 192}, {900, 700});
    c.window = window;
    check_turn<Forward<M, kWide64, WindowMask>>(c, turn++);
    check_turn<Forward<M, kTurns64, WindowMask>>(c, turn++);
    check_turn<Forward<M, kOneQ64, WindowMask>>(c, turn++);
    if (HasFatalFailure()) return;
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

TEST(ForwardEmulated, BlockLists) {
  check_lists<Forward<M, ForwardConfig{.head_dim = 64, .groups = 3, .keys = 64, .kv_slots = 8},
                      ListedMask>>();
  check_lists<Forward<M, ForwardConfig{.head_dim = 64, .keys = 64, .q_slots = 1}, ListedMask>>();
}

/// A kernel for lists computes what has none.
TEST(ForwardEmulated, NoBlockLists) {
  check_masks<Forward<M, kSmall64, ListedMask>>(2);
  check_length_grid<Forward<M, kSmall64, ListedMask>>();
}

TEST(ForwardEmulated, BlockListsOfGroupedHeads) {
  using K =
      Forward<M, ForwardConfig{.head_dim = 64, .groups = 3, .keys = 64, .kv_slots = 8}, ListedMask>;
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

TEST(ForwardEmulated, GroupedHeads) {
  const std::int64_t groups[] = {2, 3, 6, 8};
  std::uint64_t turn = 0;
  for (const std::int64_t group : groups) {
    Case c = small_case({33, 0, 70}, {129, 5, 40});
    c.heads_kv = 2;
    c.heads_q = 2 * group;
    check_turn<Forward<M, kDim64>>(c, turn++);
    c.causal = true;
    check_turn<Forward<M, kWide64, WindowMask>>(c, turn++);
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
  check_turn<Forward<M, kSmall64, ListedMask, CappedScores>>(c, turn++, {.softcap = 5});
  check_turn<Forward<M, kSmall64, ListedMask, CappedScores>>(c, turn++,
                                                             {.scale = -1.0, .softcap = 20});
}

/// Equal bits, whichever tiles a block takes one after the other.
TEST(ForwardEmulated, BlocksDoNotMatter) {
  const auto check = []<class K>(K*) {
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
  };
  check(static_cast<Forward<M, kDim64>*>(nullptr));
  check(static_cast<Forward<M, kWide64>*>(nullptr));
  check(static_cast<Forward<M, kTurns64, WindowMask>*>(nullptr));
  check(static_cast<Forward<M, kSmall64, ListedMask>*>(nullptr));
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
