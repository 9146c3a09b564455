// Tensor maps whose rows end where a sequence ends, whatever lies behind it.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

/// NOTE [ragged maps]: one map serves every sequence of a packed tensor. Its dimensions are
/// {column, head, row, base, base}, with byte strides {head, row, row, 2^34 - row}, and row `r` of
/// a sequence of `length` rows that begins at row `begin` has the coordinates
///   row 2^30 - length + r, base begin + length, base 2^30
/// whose address is row begin + r of the tensor plus 2^64. Rows from `length` on lie outside the
/// dimension of 2^30 rows: a copy reads zeros there and writes nothing.
inline constexpr int kRaggedRows = 1 << 30;

/// The rows of one sequence, in the coordinates of a ragged map.
struct RaggedRows {
  int begin;
  int length;

  JFA_DEVICE int at(int row) const { return kRaggedRows - length + row; }
  JFA_DEVICE int end() const { return begin + length; }
};

/// The map of a `[rows, heads, head_dim]` tensor. A copy fills a panel of `View`, whose rows hold
/// `packed_heads` neighbouring heads of one row after another; it divides View::kRows. Strides in
/// elements, multiples of 8.
template <class View, class T>
TensorMapSpec ragged_map(T* base, std::int64_t head_dim, std::int64_t heads,
                         std::int64_t row_stride, std::int64_t head_stride, int packed_heads = 1) {
  const auto row_bytes = static_cast<std::uint64_t>(row_stride) * sizeof(T);
  const auto head_bytes = static_cast<std::uint64_t>(head_stride) * sizeof(T);
  constexpr std::uint64_t kBases = 0x7fff0000;
  return {.base = base,
          .type = kElementType<typename View::Element>,
          .rank = 5,
          .dims = {static_cast<std::uint64_t>(head_dim), static_cast<std::uint64_t>(heads),
                   kRaggedRows, kBases, kBases},
          .strides = {head_bytes, row_bytes, row_bytes, (std::uint64_t{1} << 34) - row_bytes},
          .box = {View::kPanelCols, static_cast<std::uint32_t>(packed_heads),
                  static_cast<std::uint32_t>(View::kRows / packed_heads), 1, 1},
          .swizzle = View::kSwizzle};
}

}  // namespace jfa::inline JFA_BACKEND
