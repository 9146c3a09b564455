// The forward kernel in the emulator against the fp64 reference, under every schedule.
#include <gtest/gtest.h>

#include "kernels/forward/configs.hpp"
#include "kernels/forward_emulated_checks.hpp"

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

TEST(ForwardEmulated, LengthGrid) { check_length_grid<Forward<M, kDim64>>(); }
TEST(ForwardEmulated, LengthGridThreeWarpgroups) { check_length_grid<Forward<M, kWide64>>(); }
TEST(ForwardEmulated, LengthGridTurns) { check_length_grid<Forward<M, kTurns64>>(); }
TEST(ForwardEmulated, LengthGridTiny) { check_length_grid<Forward<M, kTiny64>>(); }
TEST(ForwardEmulated, LengthGridOneQ) { check_length_grid<Forward<M, kOneQ64, WindowMask>>(); }

TEST(ForwardEmulated, MixedLengthsUnderEverySchedule) {
  check_mixed_lengths<Forward<M, kDim64>>();
  check_mixed_lengths<Forward<M, kWide64>>();
  check_mixed_lengths<Forward<M, kTurns64>>();
  check_mixed_lengths<Forward<M, kTiny64>>();
  check_mixed_lengths<Forward<M, kOneQ64, WindowMask>>();
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

TEST(ForwardEmulated, HalfPrecision) { check_half<Forward<M, kHalf64>>(); }
TEST(ForwardEmulated, AllSequencesEmpty) { check_empty<Forward<M, kDim64>>(); }
TEST(ForwardEmulated, BroadcastQueries) { check_broadcast<Forward<M, kDim64>>(); }
TEST(ForwardEmulated, GapsAndCapacity) { check_gaps<Forward<M, kDim64>>(); }
TEST(ForwardEmulated, Isolation) { check_isolation<Forward<M, kDim64>>(); }
TEST(ForwardEmulated, InfiniteScores) { check_infinite_scores<Forward<M, kDim64>>(); }

TEST(ForwardEmulated, RunsOfTilesShareKeys) {
  // 9 tiles are two runs; 257 keys are too many to share.
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    check_turn<Forward<M, kDim64>>(small_case({1100, 400, 200}, {200, 256, 257}), turn);
    if (HasFatalFailure()) return;
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
  check_grouped_lists<Forward<
      M, ForwardConfig{.head_dim = 64, .groups = 3, .keys = 64, .kv_slots = 8}, ListedMask>>();
}

TEST(ForwardEmulated, GroupedHeads) {
  check_grouped_heads<Forward<M, kDim64>, Forward<M, kWide64, WindowMask>>();
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

TEST(ForwardEmulated, BlocksDoNotMatter) {
  check_same_bits<Forward<M, kDim64>>();
  check_same_bits<Forward<M, kWide64>>();
  check_same_bits<Forward<M, kTurns64, WindowMask>>();
  check_same_bits<Forward<M, kSmall64, ListedMask>>();
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
