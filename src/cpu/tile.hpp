// Matrices in scratch.
#pragma once

#include <cstdint>

namespace jfa::cpu {

/// A matrix in scratch; `stride` floats lead from one stored row to the next.
struct ConstTile {
  const float* data;
  std::int64_t stride;
};
struct Tile {
  float* data;
  std::int64_t stride;
};

/// Whether A is stored row by row, or its transpose is.
enum class Stored { kAsIs, kTransposed };

}  // namespace jfa::cpu
