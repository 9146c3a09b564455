// What the host says of one call of the backward pass, shared by its kernels.
#pragma once

#include "kernels/backward/gradient.hpp"
#include "kernels/forward/scores.hpp"
#include "kernels/ragged.hpp"
#include "plan/device_indices.hpp"
#include "plan/schedule.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

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
  float* data;  // null: absent
  std::int64_t head_stride;
};

/// Where dq_sum holds the tiles of 64 queries of sequences whose dQ several items add to:
/// [heads_q][per_head][64 x head_dim of the kernel], kept as fragments. Such a sequence has at
/// least `keys` keys, so that q_begin / 64 + kv_begin / keys leaves room for its tiles; its place
/// in the batch serves as well and may be the smaller number.
struct SumTiles {
  bool by_place;
  int keys;
  std::int64_t per_head;

  static SumTiles of(std::int64_t q_rows, std::int64_t kv_rows, std::int64_t batch, int keys) {
    const bool by_place = batch <= kv_rows / keys;
    return {by_place, keys, q_rows / 64 + (by_place ? batch : kv_rows / keys) + 1};
  }
  JFA_DEVICE int first(int q_begin, int kv_begin, int place) const {
    return q_begin / 64 + (by_place ? place : kv_begin / keys);
  }
};

template <class T>
struct BackwardArguments {
  Matrix<T> q, k, v, out, dout;
  Matrix<T> dq, dk, dv;
  RowVectors lse;
  RowVectors dlse;
  int heads_q;
  int heads_kv;
  int head_dim;
  Window window;
  double softmax_scale;
  double softcap;
  const PlannedSequence* plan;  // made with the kernel's item_shape
  DeviceRows q_rows;            // its offsets have no data with broadcast_q
  DeviceRows kv_rows;
  int batch;
  int* ticket;        // holds 0
  float* statistics;  // [heads_q, statistics_tiles(rows of out, batch), 2, kStatisticsRows]
  float* dq_sum;      // as many elements as the kernel's sum_size says
  float* dq_kept;     // ... kept_size
  int* turns;         // [heads_q, per_head of the sum tiles]; null: adds to dq_sum in any order
  int blocks;         // that the kernel is launched with

  bool broadcast() const { return q_rows.offsets.data == nullptr; }
  std::int64_t out_rows() const {
    return broadcast() ? static_cast<std::int64_t>(batch) * q_rows.rows : q_rows.rows;
  }
  /// With broadcast_q: into how many fixed shares the work of a key/value head is cut.
  int shares() const { return blocks < heads_kv ? 1 : blocks / heads_kv; }
  std::int64_t head_tiles() const { return statistics_tiles(out_rows(), batch); }

  template <class Machine, class View>
  typename Machine::TensorMap map(const Matrix<T>& of, int heads) const {
    return Machine::make_tensor_map(
        ragged_map<View>(of.data, head_dim, heads, of.row_stride, of.head_stride));
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
