// What the backward kernels by keys are put through in the emulator, under its schedules.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "kernels/backward_checks.hpp"
#include "machine/emulated_device.hpp"

namespace jfa {
inline namespace emulated {

/// The kernels of one configuration that make dQ apart, as launched.
template <int HeadDim, bool Half, template <class> class Mask,
          template <class> class Scores = ScaledScores>
using DqApart = DqApartOn<EmulatedHopper, HeadDim, Half, Mask, Scores>;

/// One run of kernel K for a schedule and seed that `turn` picks.
template <class K>
void check_turn(const Case& c, std::uint64_t turn, const BackwardOptions& options = {},
                int blocks = 2) {
  on_turn(c.name, turn,
          [&](EmulatedDevice& device) { check_backward<K>(device, c, blocks, turn, options); });
}

/// Lengths around the sizes of tiles, of queries and of keys.
template <class K>
void check_gradient_grid(std::initializer_list<std::int64_t> q_lengths,
                         std::initializer_list<std::int64_t> kv_lengths) {
  std::uint64_t turn = 0;
  for (const std::int64_t q : q_lengths) {
    for (const std::int64_t kv : kv_lengths) {
      check_turn<K>(small_case({q, 3}, {kv, 2}), turn++);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

/// `c` under every schedule, twice.
template <class K>
void check_every_schedule(const Case& c, const BackwardOptions& options = {}) {
  for (std::uint64_t turn = 0; turn < 14; ++turn) {
    check_turn<K>(c, turn, options);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

/// The same bits under every schedule and for any number of blocks.
template <class K>
void check_deterministic() {
  Case c = small_case({130, 300, 64}, {520, 400, 270});
  c.window = {-1, 30};
  const Batch batch = make_batch(c, 3);
  Options options;
  options.mask = batch.mask();
  Problem problem;
  ASSERT_TRUE(check_inputs(batch.inputs(), options, {}, problem).ok());
  const OutputGradients into = random_gradients(problem, c.dtype, 3, false);
  const reference::ForwardResult forward = reference::forward(problem);
  const auto want = reference::backward(problem, into.dout.view(), nullptr);
  std::optional<Gradients> first;
  std::uint64_t turn = 0;
  for (const emulator::Schedule schedule : emulator::kSchedules) {
    EmulatedDevice device(schedule, ++turn);
    BackwardRun<EmulatedDevice, bf16> run(device, batch, problem, into, forward,
                                          static_cast<int>(2 + turn % 3));
    run.compute<K>(true);
    const Gradients got = run.gradients();
    ASSERT_EQ(compare_gradients(got, want, false), "") << emulator::to_string(schedule);
    if (!first) first = got;
    ASSERT_TRUE(got.dq == first->dq && got.dk == first->dk && got.dv == first->dv)
        << emulator::to_string(schedule);
  }
}

template <class K>
void check_gradient_masks() {
  const Window windows[] = {{-1, 0}, {10, 0}, {100, 20}, {0, 0}, {-1, 70}, {3, -1}, {200, 150}};
  std::uint64_t turn = 0;
  for (const Window window : windows) {
    // Fewer queries than keys, more, as many; rows that see nothing.
    Case c = small_case({130, 200, 129, 1, 70, 300}, {300, 130, 129, 200, 0, 50});
    c.window = window;
    check_turn<K>(c, turn++);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

template <class Plain, class Masked>
void check_gradient_groups() {
  std::uint64_t turn = 0;
  for (const std::int64_t group : {2, 3}) {
    Case c = small_case({33, 0, 70}, {129, 5, 40});
    c.heads_kv = 2;
    c.heads_q = 2 * group;
    check_turn<Plain>(c, turn++);
    c.causal = true;
    check_turn<Masked>(c, turn++);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

template <class Plain, class Masked>
void check_gradient_broadcast() {
  std::uint64_t turn = 0;
  for (const std::int64_t rows : {1, 64, 130}) {
    Case c = small_case({}, {129, 0, 1, 300, 64, 0});
    c.broadcast_q = true;
    c.q_length = rows;
    c.heads_q = c.heads_kv = 2;
    check_turn<Plain>(c, turn++);
    c.heads_kv = 1;
    check_turn<Plain>(c, turn++);
    c.causal = true;
    check_turn<Masked>(c, turn++);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

template <class K>
void check_gradient_gaps() {
  for (const emulator::Schedule schedule : emulator::kSchedules) {
    EmulatedDevice device(schedule, 5);
    const Batch batch = batch_with_gaps(64, 5);
    check_backward<K>(device, batch, DType::kBf16, 3, 5);
    if (::testing::Test::HasFailure()) FAIL() << emulator::to_string(schedule);
  }
}

template <class Plain, class Capped>
void check_gradient_scales() {
  const Case c = small_case({130, 20}, {260, 100});
  std::uint64_t turn = 0;
  for (const double scale : {0.5, -0.3, 0.0}) {
    check_turn<Plain>(c, turn++, {.scale = scale, .dlse = true});
  }
  check_turn<Capped>(c, turn++, {.softcap = 5, .dlse = true});
  check_turn<Capped>(c, turn++, {.scale = -1.0, .softcap = 20});
}

}  // namespace emulated
}  // namespace jfa
