// Non-owning views of the tensors a call reads and writes.
#pragma once

#include <cstdint>
#include <type_traits>

namespace jfa {

/// Element types. Attention tensors are kBf16, kF16 or (CPU engine) kF32; offsets are kI32 or kI64.
enum class DType : std::int32_t { kBf16 = 0, kF16 = 1, kF32 = 2, kI32 = 3, kI64 = 4 };

/// Bytes of one element, 0 for a value that is no DType.
constexpr std::int64_t element_size(DType dtype) noexcept {
  switch (dtype) {
    case DType::kBf16:
    case DType::kF16:
      return 2;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kI64:
      return 8;
  }
  return 0;
}

/// A `[rows, heads, head_dim]` tensor. The last dimension is contiguous; strides count elements,
/// so element (r, h, d) lies at `data + r * row_stride + h * head_stride + d`. Packed QKV of shape
/// `[rows, 3, heads, head_dim]` is three views with `row_stride = 3 * heads * head_dim`.
template <typename Pointer>
struct BasicTensorView {
  Pointer data = nullptr;
  DType dtype = DType::kF32;
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t row_stride = 0;
  std::int64_t head_stride = 0;

  /// A view that may be written is also one that may be read.
  constexpr operator BasicTensorView<const void*>() const noexcept
      requires(!std::is_same_v<Pointer, const void*>) {
    return {data, dtype, rows, heads, head_dim, row_stride, head_stride};
  }
};
using TensorView = BasicTensorView<void*>;
using ConstTensorView = BasicTensorView<const void*>;

/// A view of a tensor whose rows, heads and elements follow each other without gaps.
template <typename Pointer>
constexpr BasicTensorView<
    std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const void*, void*>>
packed(Pointer data, DType dtype, std::int64_t rows, std::int64_t heads,
       std::int64_t head_dim) noexcept {
  return {data, dtype, rows, heads, head_dim, heads * head_dim, head_dim};
}

/// The log-sum-exp of every output row, `[heads, rows]` in fp32: element (h, r) lies at
/// `data + h * head_stride + r`.
template <typename Pointer>
struct BasicLseView {
  Pointer data = nullptr;
  std::int64_t heads = 0;
  std::int64_t rows = 0;
  std::int64_t head_stride = 0;

  constexpr operator BasicLseView<const float*>() const noexcept
      requires(!std::is_same_v<Pointer, const float*>) {
    return {data, heads, rows, head_stride};
  }
};
using LseView = BasicLseView<float*>;
using ConstLseView = BasicLseView<const float*>;

/// A contiguous array of kI32 or kI64 integers: offsets, lengths, block lists.
struct IndexView {
  const void* data = nullptr;
  DType dtype = DType::kI32;
  std::int64_t size = 0;

  IndexView() = default;
  constexpr IndexView(const void* values, DType type, std::int64_t count) noexcept
      : data(values), dtype(type), size(count) {}
  constexpr IndexView(const std::int32_t* values, std::int64_t count) noexcept
      : IndexView(values, DType::kI32, count) {}
  constexpr IndexView(const std::int64_t* values, std::int64_t count) noexcept
      : IndexView(values, DType::kI64, count) {}
};

}  // namespace jfa
