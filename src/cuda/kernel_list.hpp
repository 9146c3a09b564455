// The kernels of this build, in .cu files that CMake writes from forward_kernel.cu.in,
// backward_kernel.cu.in and blackwell_kernel.cu.in.
#pragma once

#include <span>

#include "launch/backward_kernel.hpp"
#include "launch/forward_kernel.hpp"

namespace jfa::cuda {

struct Queue;

struct Kernels {
  std::span<const ForwardKernel<Queue>> forward;
  std::span<const BackwardKernel<Queue>> backward;
};

Kernels hopper_kernels();
/// None in a build without JFA_CUDA_BLACKWELL.
Kernels blackwell_kernels();

/// Those for a GPU of this compute capability.
inline Kernels kernels_of(int major) {
  return major == 10 ? blackwell_kernels() : hopper_kernels();
}

}  // namespace jfa::cuda
