// The CUDA engine: kernels on Hopper, enqueued on the caller's stream.
#pragma once

#include <vector>

#include "launch/forward_kernel.hpp"
#include "problem/engine.hpp"

namespace jfa::cuda {

const Engine& engine();

/// What the kernels of this build are compiled for.
std::vector<ForwardTraits> forward_traits();
std::vector<KernelTraits> backward_traits();

}  // namespace jfa::cuda
