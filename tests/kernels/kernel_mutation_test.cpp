// Every synchronization of the library's kernels is load-bearing: dropped or perturbed one at a
// time, each is found by some schedule of the emulator, but for those justified by name.
// Undisturbed, nothing is found over many seeds.
#include <gtest/gtest.h>

#include <sstream>

#include "emulated/kernel_subjects.hpp"

namespace jfa {
namespace {

TEST(KernelMutation, EverySynchronizationIsNeeded) {
  emulator::VerifyOptions options;
  options.seeds = 2;
  options.mutate = true;
  options.justified = emulator::load_justified(JFA_SOURCE_DIR "/docs/emulator_survivors.json");
  std::ostringstream out;
  EXPECT_EQ(emulator::verify(kernel_subjects(), options, out), 0) << out.str();
}

/// A thousand runs of each: 143 seeds of 7 schedules.
TEST(SlowKernelSeeds, BlackwellIsClean) {
  std::vector<emulator::Subject> subjects;
  for (emulator::Subject& subject : kernel_subjects()) {
    if (subject.name.find("blackwell") != std::string::npos) subjects.push_back(std::move(subject));
  }
  emulator::VerifyOptions options;
  options.seeds = 143;
  std::ostringstream out;
  EXPECT_EQ(emulator::verify(subjects, options, out), 0) << out.str();
}

}  // namespace
}  // namespace jfa
