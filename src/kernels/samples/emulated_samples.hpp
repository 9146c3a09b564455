// The sample kernels with small problems of integers, for the emulator to search and mutate.
#pragma once

#include <vector>

#include "machine/emulator/verify.hpp"

namespace jfa {

std::vector<emulator::Subject> sample_subjects();

}  // namespace jfa
