// Blackwell's forward kernel in the emulator against the fp64 reference, under every schedule.
#include <gtest/gtest.h>

#include "kernels/forward/configs.hpp"
#include "kernels/forward/forward_blackwell.hpp"
#include "kernels/forward_emulated_checks.hpp"
#include "machine/emulator/emulated_blackwell.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using M = EmulatedBlackwell;
constexpr ForwardConfig k64 = blackwell_forward_config(64, false, false);
constexpr ForwardConfig k128 = blackwell_forward_config(128, false, false);
// Few slots, no polynomial, and fp16.
constexpr ForwardConfig kScarce = {
    .head_dim = 64, .q_slots = 1, .kv_slots = 3, .shares_keys = false};
constexpr ForwardConfig kHalf64 = blackwell_forward_config(64, true, false);
constexpr ForwardConfig kHalf128 = blackwell_forward_config(128, true, false);
using Plain64 = ForwardBlackwell<M, k64>;
using Masked64 = ForwardBlackwell<M, k64, WindowMask>;
using Masked128 = ForwardBlackwell<M, k128, WindowMask>;
// For lists; the latter with few slots.
constexpr ForwardConfig kLists64 = blackwell_forward_config(64, false, true);
constexpr ForwardConfig kLists128 = blackwell_forward_config(128, false, true);
constexpr ForwardConfig kListsScarce = {
    .head_dim = 64, .keys = 64, .q_slots = 1, .kv_slots = 3, .shares_keys = false};
using Listed64 = ForwardBlackwell<M, kLists64, ListedMask>;
using Listed128 = ForwardBlackwell<M, kLists128, ListedMask>;
using ListedScarce = ForwardBlackwell<M, kListsScarce, ListedMask>;
using Capped64 = ForwardBlackwell<M, kLists64, ListedMask, CappedScores>;

TEST(ForwardBlackwell, LengthGrid) { check_length_grid<Plain64>(); }
TEST(ForwardBlackwell, LengthGridDim128) { check_length_grid<ForwardBlackwell<M, k128>>(); }
TEST(ForwardBlackwell, LengthGridScarce) { check_length_grid<ForwardBlackwell<M, kScarce>>(); }
TEST(ForwardBlackwell, MixedLengths) {
  check_mixed_lengths<Plain64>();
  check_mixed_lengths<ForwardBlackwell<M, kScarce, WindowMask>>();
}

/// Head dims that fill a tile, and smaller ones that are filled up with zeros.
TEST(ForwardBlackwell, HeadDims) {
  check_head_dim<Plain64>(64, 7);
  check_head_dim<Plain64>(40, 2);
  check_head_dim<Plain64>(8, 1);
  check_head_dim<ForwardBlackwell<M, k128>>(128, 7);
  check_head_dim<ForwardBlackwell<M, k128>>(96, 2);
}

TEST(ForwardBlackwell, HalfPrecision) {
  check_half<ForwardBlackwell<M, kHalf64>>();
  check_half<ForwardBlackwell<M, kHalf128>>();
}

/// Several tiles a sequence, and many blocks.
TEST(ForwardBlackwell, LongSequences) {
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    Case c = small_case({700, 300}, {1100, 600});
    check_turn<Plain64>(c, turn);
    c.causal = true;
    check_turn<ForwardBlackwell<M, kScarce, WindowMask>>(c, turn);
    if (HasFatalFailure()) return;
  }
}

TEST(ForwardBlackwell, AllSequencesEmpty) { check_empty<Plain64>(); }
TEST(ForwardBlackwell, Masks) { check_masks<Masked64>(0); }
TEST(ForwardBlackwell, MasksDim128) { check_masks<Masked128>(3); }
TEST(ForwardBlackwell, MasksScarce) { check_masks<ForwardBlackwell<M, kScarce, WindowMask>>(5); }
TEST(ForwardBlackwell, BlockLists) {
  check_lists<Listed64>();
  check_lists<Listed128>();
  check_lists<ListedScarce>();
}
/// A kernel for lists computes what has none.
TEST(ForwardBlackwell, NoBlockLists) {
  check_masks<Listed64>(2);
  check_length_grid<Listed64>();
}
TEST(ForwardBlackwell, BlockListsOfGroupedHeads) { check_grouped_lists<Listed64>(); }
TEST(ForwardBlackwell, GroupedHeads) { check_grouped_heads<Plain64, Masked64>(); }
TEST(ForwardBlackwell, BroadcastQueries) { check_broadcast<Plain64>(); }
TEST(ForwardBlackwell, GapsAndCapacity) { check_gaps<Plain64>(); }
TEST(ForwardBlackwell, Isolation) { check_isolation<Plain64>(); }
TEST(ForwardBlackwell, InfiniteScores) { check_infinite_scores<Plain64>(); }

TEST(ForwardBlackwell, ScalesAndSoftcap) {
  const Case c = small_case({130, 20}, {260, 129});
  std::uint64_t turn = 0;
  for (const double scale : {0.5, -0.3, 0.0}) check_turn<Plain64>(c, turn++, {.scale = scale});
  check_turn<Capped64>(c, turn++, {.softcap = 5});
  check_turn<Capped64>(c, turn++, {.scale = -1.0, .softcap = 20});
}

TEST(ForwardBlackwell, BlocksDoNotMatter) {
  check_same_bits<Plain64>();
  check_same_bits<Masked64>();
  check_same_bits<Listed64>();
}

/// Scores so large that a row's shift moves from block to block, and outputs are scaled.
TEST(ForwardBlackwell, ShiftsMove) {
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    check_turn<Plain64>(small_case({300, 20}, {700, 300}), turn, {.scale = 3.0});
    check_turn<ForwardBlackwell<M, k128>>(small_case({300}, {600}), turn, {.scale = 3.0});
    if (HasFatalFailure()) return;
  }
}

/// 2^x by polynomial: within its bound of the value, 0 for -inf, NaN for NaN.
TEST(ForwardBlackwell, PolynomialExponential) {
  for (float x = -126; x < 10; x += 0.0137F) {
    const double want = std::exp2(double{x});
    ASSERT_NEAR(exp2_by_polynomial<M>(x), want, 3e-6 * want) << x;
  }
  EXPECT_EQ(exp2_by_polynomial<M>(-INFINITY), 0);
  EXPECT_EQ(exp2_by_polynomial<M>(-1000), 0);
  EXPECT_TRUE(std::isnan(exp2_by_polynomial<M>(NAN)));
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
