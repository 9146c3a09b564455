// The library's kernels with small problems, for the emulator to search and mutate.
#pragma once

#include <vector>

#include "machine/emulator/verify.hpp"

namespace jfa {

/// The planner, the check of offsets and the forward kernels, the last against the fp64 reference.
std::vector<emulator::Subject> kernel_subjects();

}  // namespace jfa
