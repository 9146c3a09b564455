// Rows in use by no sequence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "jfa/tensor.hpp"
#include "plan/mask_bounds.hpp"

namespace jfa::cpu {

inline void zero_rows(const TensorView& tensor, Range rows) noexcept {
  const std::int64_t size = element_size(tensor.dtype);
  auto* data = static_cast<std::byte*>(tensor.data);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    for (std::int64_t head = 0; head < tensor.heads; ++head) {
      std::memset(data + (row * tensor.row_stride + head * tensor.head_stride) * size, 0,
                  static_cast<std::size_t>(tensor.head_dim * size));
    }
  }
}

inline void hide_rows(const LseView& lse, Range rows) noexcept {
  for (std::int64_t head = 0; head < lse.heads; ++head) {
    std::fill_n(lse.data + head * lse.head_stride + rows.begin, rows.size(),
                -std::numeric_limits<float>::infinity());
  }
}

}  // namespace jfa::cpu
