// What the host says of one call of a forward kernel.
#pragma once

#include "kernels/forward/mask.hpp"
#include "kernels/ragged.hpp"
#include "plan/schedule.hpp"

namespace jfa::inline JFA_BACKEND {

/// A `[rows, heads, head_dim]` tensor; strides in elements, of a row and of a head.
template <class T>
struct Matrix {
  T* data;
  std::int64_t row_stride;
  std::int64_t head_stride;

  JFA_DEVICE T* at(std::int64_t row, std::int64_t head) const {
    return data + row * row_stride + head * head_stride;
  }
};

/// A fp32 `[heads, rows]` tensor.
struct RowVectors {
  float* data;  // null: absent, or not wanted
  std::int64_t head_stride;
};

template <class T>
struct ForwardArguments {
  Matrix<T> q, k, v, out;
  RowVectors lse;
  int heads_q;
  int heads_kv;
  int head_dim;
  Window window;
  BlockLists lists;  // of a block-sparse mask
  double softmax_scale;
  double softcap;
  const PlannedSequence* plan;  // made with the kernel's item_shape
  DeviceRows q_rows;            // its offsets have no data with broadcast_q
  int batch;
  int* ticket;  // holds 0, before and after

  /// `packed` neighbouring heads share a tile.
  template <class Machine, class View>
  typename Machine::TensorMap map(const Matrix<T>& of, int heads, int packed = 1) const {
    return Machine::make_tensor_map(
        ragged_map<View>(of.data, head_dim, heads, of.row_stride, of.head_stride, packed));
  }
};

}  // namespace jfa::inline JFA_BACKEND
