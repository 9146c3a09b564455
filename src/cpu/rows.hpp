// Where the rows of one tile lie in a `[rows, heads, head_dim]` tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/tiling.hpp"
#include "jfa/tensor.hpp"

namespace jfa::cpu {

/// `rows` consecutive rows of `heads` consecutive heads, row by row and head by head.
template <typename Byte>
struct RowsView {
  Byte* data;
  std::int64_t rows;
  std::int64_t heads;
  std::int64_t row_bytes;   ///< from one row to the next
  std::int64_t head_bytes;  ///< from one head to the next

  Byte* row(std::int64_t i, std::int64_t h) const noexcept {
    return data + i * row_bytes + h * head_bytes;
  }
};

template <typename Byte, typename Pointer>
RowsView<Byte> rows_of(const BasicTensorView<Pointer>& t, Range rows, std::int64_t first_head,
                       std::int64_t heads) noexcept {
  const std::int64_t size = element_size(t.dtype);
  RowsView<Byte> view{static_cast<Byte*>(t.data), rows.size(), heads, t.row_stride * size,
                      t.head_stride * size};
  if (rows.empty()) return view;
  view.data = view.row(rows.begin, first_head);
  return view;
}

/// The rows of a query tile; `sequence_begin` is the tensor's row of the sequence's query 0.
inline RowsView<const std::byte> rows_of(const ConstTensorView& t, std::int64_t sequence_begin,
                                         const QueryRows& tile) noexcept {
  return rows_of<const std::byte>(
      t, {sequence_begin + tile.queries.begin, sequence_begin + tile.queries.end}, tile.first_head,
      tile.heads);
}
inline RowsView<std::byte> rows_of(const TensorView& t, std::int64_t sequence_begin,
                                   const QueryRows& tile) noexcept {
  return rows_of<std::byte>(
      t, {sequence_begin + tile.queries.begin, sequence_begin + tile.queries.end}, tile.first_head,
      tile.heads);
}

}  // namespace jfa::cpu
