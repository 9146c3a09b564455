// Every synchronization of the backward kernels is load-bearing: dropped or perturbed one at a
// time, each is found by some schedule of the emulator, but for those justified by name.
#include <gtest/gtest.h>

#include <cstring>
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
emulator::Outcome run_by_keys(const Gradient& of, const emulator::RunOptions& options) {
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

TEST(BackwardMutation, ByKeys) {
  Case c;
  // One block of keys and several, whole or too long for it, more tiles than slots; more blocks
  // without queries than slots.
  c.q_lengths = {200, 70, 1, 0, 0, 520};
  c.kv_lengths = {100, 300, 129, 60, 300, 200};
  const auto gradient = std::make_shared<Gradient>(c);
  using K = BackwardByKeys<EmulatedHopper, BackwardConfig{.head_dim = 64}>;
  expect_all_needed({"backward by keys", [gradient](const emulator::RunOptions& options) {
                       return run_by_keys<K>(*gradient, options);
                     }});
}

TEST(BackwardMutation, ByKeysBroadcast) {
  Case c;
  c.broadcast_q = true;
  c.q_length = 70;
  c.kv_lengths = {100, 300, 0, 129, 300};
  const auto gradient = std::make_shared<Gradient>(c);
  using K = BackwardByKeys<EmulatedHopper, BackwardConfig{.head_dim = 64}>;
  expect_all_needed(
      {"backward by keys, broadcast", [gradient](const emulator::RunOptions& options) {
         return run_by_keys<K>(*gradient, options);
       }});
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
                       return run_by_keys<K>(*gradient, options);
                     }});
}

/// Blocks that add in turn: the sums are compared bit by bit.
template <class K>
emulator::Outcome run_in_turn(const Gradient& of, const emulator::RunOptions& options) {
  MutatedDevice<K> device(options);
  BackwardRun<MutatedDevice<K>, bf16> run(device, of.batch, of.problem, of.into, of.forward, 2);
  run.template by_keys<K>(true);
  // Unused tiles stay NaN: bits, not values, are compared.
  const std::vector<float> sums = run.sums();
  static const std::vector<float> kFirst = sums;
  std::string error = compare_gradients(run.gradients(), of.want, false);
  if (std::memcmp(sums.data(), kFirst.data(), sums.size() * sizeof(float)) != 0) error = "sums";
  return {device.result, error};
}

TEST(BackwardMutation, ByKeysInTurn) {
  Case c;
  c.q_lengths = {70, 1, 3, 2};
  c.kv_lengths = {500, 200, 300, 400};
  const auto gradient = std::make_shared<Gradient>(c);
  using K = BackwardByKeys<EmulatedHopper, BackwardConfig{.head_dim = 64}>;
  expect_all_needed({"backward by keys, in turn", [gradient](const emulator::RunOptions& options) {
                       return run_in_turn<K>(*gradient, options);
                     }});
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
