// The forward kernel in the emulator against the fp64 reference, under every schedule.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace emulated
}  // namespace jfa
