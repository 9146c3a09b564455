// The inner product of emulated MMAs, compiled for every vector width.
#pragma once

#include <cstddef>

namespace jfa::emulator {

// c[64][columns] += a[64][16] b[16][columns], all row major; columns is a multiple of 8.
void multiply_accumulate(const float* a, const float* b, float* c, std::size_t columns);

}  // namespace jfa::emulator
