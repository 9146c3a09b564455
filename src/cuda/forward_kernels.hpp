// The forward kernels of this build, one a .cu file that CMake writes from forward_kernel.cu.in.
#pragma once

#include <span>
#include <vector>

#include "launch/forward_kernel.hpp"

namespace jfa::cuda {

struct Queue;

std::span<const ForwardKernel<Queue>> forward_kernels();

}  // namespace jfa::cuda
