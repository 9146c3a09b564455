// Which kernels a build has for which GPU. Needs no GPU.
#include "cuda/kernel_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace jfa::cuda {
namespace {

Problem problem_of(std::int64_t head_dim) {
  Problem problem;
  problem.q.dtype = DType::kBf16;
  problem.head_dim = head_dim;
  problem.window = {-1, 0};
  return problem;
}

/// What is said where no kernel of a direction computes a problem; "" where one does.
template <class Kernel>
std::string refusal(std::span<const Kernel> kernels, const Problem& problem) {
  const Kernel* chosen = nullptr;
  const Status status = choose(kernels, problem, chosen);
  return status.ok() ? "" : status.message();
}

bool has_lists(const Kernels& kernels) {
  return std::ranges::any_of(kernels.forward,
                             [](const auto& kernel) { return kernel.traits.listed; });
}

TEST(KernelList, HopperAndBlackwellTakeCausalMasks) {
  for (const int major : {9, 10}) {
    const Kernels kernels = kernels_of(major);
    if (kernels.forward.empty()) GTEST_SKIP() << "a build without JFA_CUDA_BLACKWELL";
    EXPECT_EQ(refusal(kernels.forward, problem_of(128)), "") << major;
    EXPECT_EQ(refusal(kernels.backward, problem_of(128)), "") << major;
  }
}

/// In every build that has a kernel for them, each direction's.
TEST(KernelList, HopperAndBlackwellTakeBlockLists) {
  Problem listed = problem_of(128);
  listed.block_sparse = true;
  for (const int major : {9, 10}) {
    const Kernels kernels = kernels_of(major);
    if (!has_lists(kernels)) GTEST_SKIP() << "a build without kernels for lists";
    for (const double softcap : {0.0, 5.0}) {
      listed.softcap = softcap;
      EXPECT_EQ(refusal(kernels.forward, listed), "") << major;
      EXPECT_EQ(refusal(kernels.backward, listed), "") << major;
    }
  }
}

TEST(KernelList, BlackwellRefusesWhatItHasNoKernelFor) {
  const Kernels kernels = kernels_of(10);
  if (kernels.forward.empty()) GTEST_SKIP() << "a build without JFA_CUDA_BLACKWELL";
  const std::string wide = refusal(kernels.backward, problem_of(136));
  EXPECT_NE(wide.find("takes bf16 with head_dim = 136, a window, must be"), std::string::npos)
      << wide;
  EXPECT_NE(wide.find("bf16 head_dim 128, masked"), std::string::npos) << wide;
}

}  // namespace
}  // namespace jfa::cuda
