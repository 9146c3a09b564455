// The kernels of this build, one a .cu file that CMake writes from forward_kernel.cu.in or
// backward_kernel.cu.in.
#pragma once

#include <span>

#include "launch/backward_kernel.hpp"
#include "launch/forward_kernel.hpp"

namespace jfa::cuda {

struct Queue;

std::span<const ForwardKernel<Queue>> forward_kernels();
std::span<const BackwardKernel<Queue>> backward_kernels();

}  // namespace jfa::cuda
