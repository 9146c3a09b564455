// Which kernels a build has for which GPU. Needs no GPU.
#include "cuda/kernel_list.hpp"

#include <gtest/gtest.h>

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

TEST(KernelList, HopperAndBlackwellTakeCausalMasks) {
  for (const int major : {9, 10}) {
    const Kernels kernels = kernels_of(major);
    if (kernels.forward.empty()) GTEST_SKIP() << "a build without JFA_CUDA_BLACKWELL";
    EXPECT_EQ(refusal(kernels.forward, problem_of(128)), "") << major;
    EXPECT_EQ(refusal(kernels.backward, problem_of(128)), "") << major;
  }
}

TEST(KernelList, BlackwellRefusesWhatItHasNoKernelFor) {
  const Kernels kernels = kernels_of(10);
  if (kernels.forward.empty()) GTEST_SKIP() << "a build without JFA_CUDA_BLACKWELL";
  const std::string wide = refusal(kernels.backward, problem_of(136));
  EXPECT_NE(wide.find("takes bf16 with head_dim = 136, a window, must be"), std::string::npos)
      << wide;
  EXPECT_NE(wide.find("bf16 head_dim 128, masked"), std::string::npos) << wide;
  Problem listed = problem_of(64);
  listed.block_sparse = true;
  for (const std::string& message :
       {refusal(kernels.forward, listed), refusal(kernels.backward, listed)}) {
    EXPECT_NE(message.find("mask.block_sparse, must be"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace jfa::cuda
