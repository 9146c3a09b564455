// Every synchronization of the sample kernels is load-bearing, and the emulator sees that it is.
#include <gtest/gtest.h>

#include <sstream>

#include "kernels/samples/emulated_samples.hpp"
#include "machine/emulator/buffers.hpp"
#include "machine/emulator/emulated_hopper.hpp"
#include "machine/word_kernels.hpp"

namespace jfa::emulator {

// How GoogleTest names a kernel in its messages.
void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

namespace {

using M = EmulatedHopper;

// The kernels that show the words no sample kernel uses, as subjects.
template <class T>
std::string unlike(const T* got, const std::vector<T>& want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] != want[i]) return "element " + std::to_string(i) + " is wrong";
  }
  return "";
}

Outcome ping_pong(const RunOptions& options) {
  using Kernel = PingPong<M>;
  std::vector<int> want(2 * Kernel::kRounds);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = static_cast<int>(i % 2);
  Buffers buffers;
  int* out = buffers.output<int>("out", want.size());
  Outcome outcome;
  outcome.result = launch<Kernel>(buffers.device(), options, 1, {out});
  if (!outcome.result.finding.found()) outcome.wrong = unlike(out, want);
  return outcome;
}

Outcome bulk_swap(const RunOptions& options) {
  using Kernel = BulkSwap<M>;
  constexpr std::size_t kCount = Kernel::kCount;
  std::vector<float> in(2 * kCount), swapped(2 * kCount);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 101);
  for (std::size_t i = 0; i < in.size(); ++i) swapped[i] = in[(i + kCount) % (2 * kCount)];
  Buffers buffers;
  float* out = buffers.output<float>("out", 2 * kCount);
  float* sum = buffers.zeros<float>("sum", kCount);
  Outcome outcome;
  outcome.result =
      launch<Kernel>(buffers.device(), options, 2, {buffers.input("in", in), out, sum});
  if (!outcome.result.finding.found()) outcome.wrong = unlike(out, swapped);
  return outcome;
}

Outcome generic_ring(const RunOptions& options) {
  using Kernel = GenericRing<M>;
  std::vector<int> want;
  for (int i = 0; i < Kernel::kWidth; ++i) {
    want.push_back(Kernel::kSteps * i + Kernel::kSteps * (Kernel::kSteps - 1) / 2);
  }
  Buffers buffers;
  int* out = buffers.output<int>("out", want.size());
  Outcome outcome;
  outcome.result = launch<Kernel>(buffers.device(), options, 1, {out});
  if (!outcome.result.finding.found()) outcome.wrong = unlike(out, want);
  return outcome;
}

Outcome blocks(const RunOptions& options) {
  constexpr int kBlocks = 4;
  Buffers buffers;
  int* numbers = buffers.output<int>("numbers", kBlocks);
  int* state = buffers.zeros<int>("state", 2);
  int* sum = buffers.output<int>("sum", 1);
  int* out = buffers.output<int>("out", 1);
  Outcome outcome;
  outcome.result =
      launch<Blocks<M>>(buffers.device(), options, kBlocks, {numbers, state, sum, out});
  if (!outcome.result.finding.found()) outcome.wrong = unlike(out, {kBlocks * (kBlocks + 1)});
  return outcome;
}

std::vector<Subject> subjects() {
  std::vector<Subject> all = sample_subjects();
  all.push_back({"ping_pong", ping_pong});
  all.push_back({"bulk_swap", bulk_swap});
  all.push_back({"generic_ring", generic_ring});
  all.push_back({"blocks", blocks});
  return all;
}

class Samples : public ::testing::TestWithParam<Subject> {};

TEST_P(Samples, EverySynchronizationIsNeeded) {
  VerifyOptions options;
  options.seeds = 2;
  options.mutate = true;
  options.justified = load_justified(JFA_SOURCE_DIR "/docs/emulator_survivors.json");
  std::ostringstream out;
  EXPECT_EQ(verify({&GetParam(), 1}, options, out), 0) << out.str();
}

INSTANTIATE_TEST_SUITE_P(All, Samples, ::testing::ValuesIn(subjects()),
                         [](const auto& test) { return test.param.name; });

TEST(Justified, NeedsEveryPartToMatch) {
  const Subject subject{"kernel", {}};
  const CallSite here{__FILE__, __LINE__, 1, "sync_warp"};
  Justified entry{"kernel", "mutation_test.cpp",   "sync_warp",
                  "drop",   "const CallSite here", "test"};
  const auto matches = [&](const Justified& one) {
    return find_justified({&one, 1}, subject, {here, Mutation::Drop}) != nullptr;
  };
  EXPECT_TRUE(matches(entry));
  const CallSite relative{"../../tests/emulator/mutation_test.cpp", here.line, 1, "sync_warp"};
  EXPECT_NE(find_justified({&entry, 1}, subject, {relative, Mutation::Drop}), nullptr);
  for (auto part : {&Justified::kernel, &Justified::file, &Justified::word, &Justified::mutation,
                    &Justified::source}) {
    Justified other = entry;
    other.*part += "?";
    EXPECT_FALSE(matches(other));
  }
}

}  // namespace
}  // namespace jfa::emulator
