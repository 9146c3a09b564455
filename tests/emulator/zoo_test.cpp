// Every planted bug is found for its own reason; no clean twin is.
#include "machine/emulator/zoo/zoo.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace jfa::emulator {

// How GoogleTest names a specimen in its messages.
void PrintTo(const Specimen& specimen, std::ostream* out) { *out << specimen.name; }

namespace {

class Zoo : public ::testing::TestWithParam<Specimen> {};

TEST_P(Zoo, BugIsFoundForItsOwnReason) {
  const auto found = search(GetParam().bug, kSchedules, 20);
  ASSERT_TRUE(found.options) << "not found in " << found.runs << " runs";
  const Finding& finding = found.outcome.result.finding;
  EXPECT_EQ(finding.kind, GetParam().expected) << report(finding);
  const auto again = GetParam().bug.run(*found.options);
  EXPECT_EQ(report(again.result.finding), report(finding)) << "a seed does not replay";
}

TEST_P(Zoo, TwinIsClean) {
  const auto found = search(GetParam().twin, kSchedules, 20);
  EXPECT_FALSE(found.options) << report(found.outcome.result.finding);
}

std::string test_name(const ::testing::TestParamInfo<Specimen>& info) {
  std::string name = info.param.name;
  for (char& c : name) {
    if (c == ' ') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Zoo, ::testing::ValuesIn(zoo()), test_name);

}  // namespace
}  // namespace jfa::emulator
