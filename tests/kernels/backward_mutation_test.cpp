// Every synchronization of the backward kernel by queries is load-bearing: dropped or perturbed one
// at a time, each is found by some schedule of the emulator, but for those justified by name.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

#include "kernels/backward/by_queries.hpp"
#include "kernels/backward_checks.hpp"
#include "kernels/mutated_device.hpp"

namespace jfa {
inline namespace emulated {
namespace {

/// What a problem's gradients are and what they are made from.
struct Gradient {
  Batch batch;
  Problem problem;
  OutputGradients into;
  reference::ForwardResult forward;
  reference::BackwardResult want;

  explicit Gradient(const Case& c) : batch(make_batch(c, 1)) {
    throw_if_failed(check_inputs(batch.inputs(), {}, {}, problem));
    into = random_gradients(problem, c.dtype, 1, false);
    forward = reference::forward(problem);
    want = reference::backward(problem, into.dout.view(), nullptr);
  }
};

template <class K>
emulator::Outcome run_passes(const Gradient& of, const emulator::RunOptions& options) {
  MutatedDevice<K> device(options);
  BackwardRun<MutatedDevice<K>, bf16> run(device, of.batch, of.problem, of.into, of.forward, 1);
  run.template by_keys<K>();
  return {device.result, compare_gradients(run.gradients(), of.want, false)};
}

void expect_all_needed(const emulator::Subject& subject) {
  emulator::VerifyOptions options;
  options.seeds = 2;
  options.mutate = true;
  options.justified = emulator::load_justified(JFA_SOURCE_DIR "/docs/emulator_survivors.json");
  std::ostringstream out;
  EXPECT_EQ(emulator::verify({&subject, 1}, options, out), 0) << out.str();
}

TEST(BackwardMutation, ByQueries) {
  Case c;
  c.broadcast_q = true;
  c.q_length = 40;
  c.heads_q = c.heads_kv = 2;
  // Stretches of one block and of more than slots, tasks one after another, one without keys.
  c.kv_lengths = {100, 300, 0, 129, 64, 200, 20};
  const auto gradient = std::make_shared<Gradient>(c);
  using K =
      BackwardByQueries<EmulatedHopper, BackwardByQueriesConfig{.head_dim = 64, .queries = 64}>;
  expect_all_needed({"backward by queries", [gradient](const emulator::RunOptions& options) {
                       return run_passes<K>(*gradient, options);
                     }});
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
