// The machine `Hopper`: a GPU of compute capability 9.0 (sm_90a). Built by nvcc only.
#pragma once

#include "machine/hopper/barriers.hpp"
#include "machine/hopper/compute.hpp"
#include "machine/hopper/copies.hpp"

namespace jfa {
inline namespace gpu {

struct Hopper : HopperThreads, HopperBarriers, HopperCopies, HopperMma, HopperMemory, HopperMath {
  static constexpr const char* kName = "hopper";
};

}  // namespace gpu
}  // namespace jfa
