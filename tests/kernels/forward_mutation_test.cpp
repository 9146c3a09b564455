// Every synchronization of the forward kernel is load-bearing: dropped or perturbed one at a time,
// each is found by some schedule of the emulator, but for those justified by name.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "kernels/forward_checks.hpp"
#include "kernels/mutated_device.hpp"

namespace jfa {
inline namespace emulated {
namespace {

/// Whether a result is wrong: as in expect_forward, without GoogleTest.
std::string compare(const ForwardOutcome& got, const reference::ForwardResult& want) {
  for (std::size_t i = 0; i < want.lse.size(); ++i) {
    const bool equal = std::isinf(want.lse[i]) ? got.lse[i] == want.lse[i]
                                               : std::abs(got.lse[i] - want.lse[i]) < 1e-3;
    if (!equal) return "lse " + std::to_string(i);
  }
  for (std::size_t i = 0; i < want.out.size(); ++i) {
    if (!(std::abs(got.out[i] - want.out[i]) <= 0.01 * (std::abs(want.out[i]) + 0.5))) {
      return "out " + std::to_string(i);
    }
  }
  return "";
}

emulator::Subject subject() {
  Case c;
  c.name = "forward";
  // Runs of tiles that share keys and single tiles, both warpgroups and one, more blocks than
  // slots.
  c.q_lengths = {300, 60, 130, 1};
  c.kv_lengths = {200, 700, 257, 0};
  return {"forward",
          [batch = std::make_shared<Batch>(make_batch(c, 1))](const emulator::RunOptions& options) {
            Problem problem;
            throw_if_failed(check_inputs(batch->inputs(), {}, {}, problem));
            static const reference::ForwardResult kWant = reference::forward(problem);
            using K = Forward<EmulatedHopper, ForwardConfig{.head_dim = 64}>;
            MutatedDevice<K> device(options);
            const ForwardOutcome got = run_forward<K>(device, *batch, problem, 1);
            return emulator::Outcome{device.result, compare(got, kWant)};
          }};
}

TEST(ForwardMutation, EverySynchronizationIsNeeded) {
  emulator::VerifyOptions options;
  options.seeds = 2;
  options.mutate = true;
  options.justified = emulator::load_justified(JFA_SOURCE_DIR "/docs/emulator_survivors.json");
  const emulator::Subject forward = subject();
  std::ostringstream out;
  EXPECT_EQ(emulator::verify({&forward, 1}, options, out), 0) << out.str();
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
