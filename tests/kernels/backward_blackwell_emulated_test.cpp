// Blackwell's backward kernel in the emulator against the fp64 reference, under every schedule.
#include "kernels/backward/backward_blackwell.hpp"
#include "kernels/backward_emulated_checks.hpp"
#include "machine/emulator/emulated_blackwell.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using M = EmulatedBlackwell;
constexpr BackwardConfig k64 = blackwell_backward_config(64, false);
constexpr BackwardConfig k128 = blackwell_backward_config(128, false);
constexpr BackwardConfig kHalf64 = blackwell_backward_config(64, true);
constexpr BackwardConfig kHalf128 = blackwell_backward_config(128, true);
using Plain64 = BackwardBlackwell<M, k64>;
using Plain128 = BackwardBlackwell<M, k128>;
using Masked64 = BackwardBlackwell<M, k64, WindowMask>;
using Masked128 = BackwardBlackwell<M, k128, WindowMask>;
using Capped64 = BackwardBlackwell<M, k64, ListedMask, CappedScores>;
using Capped128 = BackwardBlackwell<M, k128, ListedMask, CappedScores>;

Case of_dim(std::int64_t head_dim, Case c) {
  c.head_dim = head_dim;
  return c;
}

TEST(BackwardBlackwell, LengthGrid) {
  check_gradient_grid<Plain64>({0, 1, 64, 65, 127, 128, 129}, {0, 1, 127, 128, 129});
}

TEST(BackwardBlackwell, MixedLengthsUnderEverySchedule) {
  check_every_schedule<Plain64>(small_case({130, 0, 64, 300, 1, 40}, {1, 5, 0, 260, 300, 129}));
}

TEST(BackwardBlackwell, MixedLengthsDim128) {
  check_every_schedule<Plain128>(of_dim(128, small_case({130, 300, 0, 1}, {260, 100, 70, 129})));
}

/// Head dims that fill a tile, and smaller ones that are filled up with zeros.
TEST(BackwardBlackwell, HeadDims) {
  std::uint64_t turn = 0;
  for (const std::int64_t dim : {8, 40, 56}) {
    check_turn<Plain64>(of_dim(dim, small_case({130, 20, 70}, {260, 100, 140})), turn++);
  }
  check_turn<Plain128>(of_dim(72, small_case({130, 70}, {260, 100})), turn++);
}

TEST(BackwardBlackwell, HalfPrecision) {
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    Case c = small_case({130, 20}, {260, 100});
    c.dtype = DType::kF16;
    check_turn<BackwardBlackwell<M, kHalf64>>(c, turn);
    check_turn<BackwardBlackwell<M, kHalf128>>(of_dim(128, c), turn);
  }
}

TEST(BackwardBlackwell, AllSequencesEmpty) {
  check_turn<Plain64>(small_case({0, 0, 0}, {0, 0, 0}), 1);
  check_turn<Plain64>(small_case({0, 70, 0}, {0, 0, 3}), 2);
}

TEST(BackwardBlackwell, Deterministic) { check_deterministic<Masked64>(); }
TEST(BackwardBlackwell, Masks) { check_gradient_masks<Masked64>(); }
TEST(BackwardBlackwell, MasksDim128) {
  Case c = of_dim(128, small_case({130, 400, 129, 1, 70}, {300, 130, 129, 200, 0}));
  std::uint64_t turn = 3;
  for (const Window window : {Window{-1, 0}, Window{100, 20}}) {
    c.window = window;
    check_turn<Masked128>(c, turn++);
  }
}
TEST(BackwardBlackwell, GroupedHeads) { check_gradient_groups<Plain64, Masked64>(); }
TEST(BackwardBlackwell, BroadcastQueries) { check_gradient_broadcast<Plain64, Masked64>(); }
TEST(BackwardBlackwell, BroadcastQueriesDim128) {
  Case c = of_dim(128, small_case({}, {129, 0, 1, 300}));
  c.broadcast_q = true;
  c.q_length = 200;
  check_turn<Plain128>(c, 4);
}
TEST(BackwardBlackwell, GapsAndCapacity) { check_gradient_gaps<Plain64>(); }
TEST(BackwardBlackwell, ScalesSoftcapAndLseGradients) {
  check_gradient_scales<Plain64, Capped64>();
  check_turn<Capped128>(of_dim(128, small_case({130, 20}, {260, 100})), 5, {.softcap = 5});
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
