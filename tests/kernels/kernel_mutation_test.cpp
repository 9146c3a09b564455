// Every synchronization of the library's kernels is load-bearing: dropped or perturbed one at a
// time, each is found by some schedule of the emulator, but for those justified by name.
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

}  // namespace
}  // namespace jfa
