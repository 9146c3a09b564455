// Whether two strided tensors may share memory.
#pragma once

#include <cstdint>

#include "jfa/tensor.hpp"

namespace jfa {

/// The bytes a strided view touches: `outer_count * inner_count` blocks of `bytes` bytes, where
/// `outer_stride >= inner_stride`, both in bytes. Without any byte it begins nowhere.
struct Footprint {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;  ///< past the last byte
  std::int64_t outer_count = 0;
  std::int64_t outer_stride = 0;
  std::int64_t inner_count = 0;
  std::int64_t inner_stride = 0;
  std::int64_t bytes = 0;

  bool empty() const noexcept { return outer_count == 0 || inner_count == 0 || bytes == 0; }
};

/// So many bytes in a row; none where `data` is null.
Footprint footprint(const void* data, std::int64_t bytes) noexcept;
Footprint footprint(const IndexView& view) noexcept;
Footprint footprint(const ConstTensorView& view) noexcept;
Footprint footprint(const ConstLseView& view) noexcept;

/// Whether two elements of one view may share memory (a stride smaller than what it must step
/// over).
bool overlaps_itself(const Footprint& a) noexcept;

/// As may_overlap, of two whose stretches from begin to end do overlap.
bool may_interlock(const Footprint& a, const Footprint& b) noexcept;

/// False only where the two provably share no byte: their ranges are disjoint, or they interleave
/// regularly, as q, k and v of a packed `[rows, 3, heads, head_dim]` or `[rows, heads, 3,
/// head_dim]` tensor do, its rows padded or not.
inline bool may_overlap(const Footprint& a, const Footprint& b) noexcept {
  return a.begin < b.end && b.begin < a.end && may_interlock(a, b);
}

}  // namespace jfa
