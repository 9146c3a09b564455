// Strided tensors, alone or several in one allocation, whose padding shows what writes to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "batch/batch.hpp"

namespace jfa::contract {

enum class Layout : std::int32_t {
  kDense,      ///< each tensor `[rows, heads, head_dim]`, alone
  kHeadMajor,  ///< each tensor `[heads, rows, head_dim]`, alone
  kByTensor,   ///< one `[rows, n * heads, head_dim]`: the tensors behind one another in a row
  kByHead      ///< one `[rows, heads, n, head_dim]`: the tensors take turns within a head
};

/// Tensors of equal rows and head_dim in one allocation, whose every byte starts as 0xFF: NaN in
/// each element type. Movable; views point into it.
class TensorGroup {
 public:
  struct Shape {
    DType dtype;
    std::int64_t rows;
    std::vector<std::int64_t> heads;  ///< of each tensor; all equal for kByHead
    std::int64_t head_dim;
  };

  /// Rows (kHeadMajor: heads) are `padding` elements further apart than they need be, and the first
  /// element lies `padding` elements behind the allocation's start.
  TensorGroup(Layout layout, const Shape& shape, std::int64_t padding);

  const std::vector<TensorView>& views() const { return views_; }

  /// Whether every byte that belongs to no tensor is as it was.
  bool padding_intact() const;

  std::string bytes() const;

 private:
  void place(Layout layout, const Shape& shape, std::int64_t padding);

  HostTensor memory_;
  std::vector<TensorView> views_;
};

/// A number for the query side and one for the key and value side.
struct Sides {
  std::int64_t q = 0;
  std::int64_t kv = 0;
};

/// q, k and v, or their gradients.
class Trio {
 public:
  /// k and v lie in one group, and q with them if shapes and layout allow it.
  Trio(Layout layout, DType dtype, Sides rows, Sides heads, std::int64_t head_dim,
       std::int64_t padding);

  TensorView q, k, v;

  bool padding_intact() const;
  std::string bytes() const;

 private:
  std::vector<TensorGroup> groups_;
};

/// Copies rows of a packed `[rows, heads, head_dim]` tensor to those of `to` that are `used`.
void copy_rows(const HostTensor& from, const std::vector<bool>& used, const TensorView& to);

/// Sets element (row, head, d), rounded to the tensor's type.
void store(const TensorView& view, std::int64_t row, std::int64_t head, std::int64_t d,
           double value);

/// Sets every element of a row.
void fill_row(const TensorView& view, std::int64_t row, double value);

/// The bytes of one row of a tensor, heads behind one another.
std::string row_bytes(const ConstTensorView& view, std::int64_t row);

}  // namespace jfa::contract
