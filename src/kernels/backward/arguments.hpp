// What the host says of one call of the backward pass, shared by its kernels.
#pragma once

#include "kernels/backward/partners.hpp"
#include "kernels/forward/gaps.hpp"
#include "kernels/forward/scores.hpp"
#include "kernels/ragged.hpp"
#include "plan/device_indices.hpp"
#include "plan/schedule.hpp"
#include "plan/transpose.hpp"

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
  BlockLists lists;           // and ...
  ListsByKeys lists_by_keys;  // ... the same transposed; for kernels of lists
  double softmax_scale;
  double softcap;
  const PlannedSequence* plan;             // made with the kernel's item_shape
  const PlannedSequence* plan_by_queries;  // the same for BackwardOfQueries, where that is used
  DeviceRows q_rows;                       // its offsets have no data with broadcast_q
  DeviceRows kv_rows;
  int batch;
  int* ticket;        // PrepareBackward sets it to 0; else it holds 0
  float* statistics;  // [heads_q, statistics_tiles(rows of out, batch), 2, kStatisticsRows]
  float* dq_sum;      // summed_size(rows of q, heads_q, head_dim); not used with broadcast_q
  float* dq_kept;     // as many elements as the kernel's kept_size says
  int* handed;        // [counts()]: NOTE [partners]
  int* turns;         // [heads_q, tiles of statistics]; null: adds to dq_sum in any order
  int blocks;         // that the kernel is launched with

  bool broadcast() const { return q_rows.offsets.data == nullptr; }
  std::int64_t out_rows() const {
    return broadcast() ? static_cast<std::int64_t>(batch) * q_rows.rows : q_rows.rows;
  }
  /// With broadcast_q: into how many fixed shares the work of a key/value head is cut.
  int shares() const { return blocks < heads_kv ? 1 : blocks / heads_kv; }
  /// Ints of `handed`; none where no blocks are partners.
  std::int64_t counts() const { return broadcast() ? 0 : handed_counts(blocks); }
  std::int64_t head_tiles() const { return statistics_tiles(out_rows(), batch); }

  /// dk or dv, for filling its gaps.
  OutputRows<T> rows_by_keys(const Matrix<T>& x) const {
    return {x.data, nullptr, x.row_stride, x.head_stride, 0, heads_kv, head_dim};
  }

  template <class Machine, class View>
  typename Machine::TensorMap map(const Matrix<T>& of, int heads) const {
    return Machine::make_tensor_map(
        ragged_map<View>(of.data, head_dim, heads, of.row_stride, of.head_stride));
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
