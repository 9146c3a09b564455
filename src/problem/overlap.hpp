// Whether two strided tensors may share memory.
#pragma once

#include <cstdint>

#include "jfa/tensor.hpp"

namespace jfa {

/// The bytes a strided view touches: `outer_count * inner_count` blocks of `bytes` bytes, where
/// `outer_stride >= inner_stride`, both in bytes.
struct Footprint {
  std::uintptr_t begin = 0;
  std::int64_t outer_count = 0;
  std::int64_t outer_stride = 0;
  std::int64_t inner_count = 0;
  std::int64_t inner_stride = 0;
  std::int64_t bytes = 0;

  bool empty() const noexcept { return outer_count == 0 || inner_count == 0 || bytes == 0; }
};

Footprint footprint(const ConstTensorView& view) noexcept;
Footprint footprint(const ConstLseView& view) noexcept;

/// Whether two elements of one view may share memory (a stride smaller than what it must step
/// over).
bool overlaps_itself(const Footprint& a) noexcept;

/// False only where the two provably share no byte: their ranges are disjoint, or they interleave
/// regularly, as q, k and v of a packed `[rows, 3, heads, head_dim]` or `[rows, heads, 3,
/// head_dim]` tensor do, its rows padded or not.
bool may_overlap(const Footprint& a, const Footprint& b) noexcept;

}  // namespace jfa
