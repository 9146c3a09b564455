// Every synchronization of the sample kernels is load-bearing, and the emulator sees that it is.
#include <gtest/gtest.h>

#include <sstream>

#include "kernels/samples/emulated_samples.hpp"

namespace jfa::emulator {

// How GoogleTest names a kernel in its messages.
void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

namespace {

class Samples : public ::testing::TestWithParam<Subject> {};

TEST_P(Samples, EverySynchronizationIsNeeded) {
  VerifyOptions options;
  options.seeds = 2;
  options.mutate = true;
  options.justified = load_justified(JFA_SOURCE_DIR "/docs/emulator_survivors.json");
  std::ostringstream out;
  EXPECT_EQ(verify({&GetParam(), 1}, options, out), 0) << out.str();
}

INSTANTIATE_TEST_SUITE_P(All, Samples, ::testing::ValuesIn(sample_subjects()),
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
  for (auto part : {&Justified::kernel, &Justified::file, &Justified::word, &Justified::mutation,
                    &Justified::source}) {
    Justified other = entry;
    other.*part += "?";
    EXPECT_FALSE(matches(other));
  }
}

}  // namespace
}  // namespace jfa::emulator
