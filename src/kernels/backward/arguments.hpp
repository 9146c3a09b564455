// What the host says of one call of the backward pass, shared by its kernels.
#pragma once

#include <algorithm>

#include "kernels/backward/partners.hpp"
#include "kernels/forward/arguments.hpp"
#include "kernels/forward/gaps.hpp"
#include "kernels/forward/scores.hpp"
#include "plan/device_indices.hpp"
#include "plan/schedule.hpp"
#include "plan/transpose.hpp"

namespace jfa::inline JFA_BACKEND {

/// The forward call's, whose lse is given and whose ticket PrepareBackward zeroes, and ...
template <class T>
struct BackwardArguments : ForwardArguments<T> {
  Matrix<T> dout;
  Matrix<T> dq, dk, dv;
  RowVectors dlse;
  ListsByKeys lists_by_keys;               // the lists transposed, for kernels of lists
  const PlannedSequence* plan_by_queries;  // the same for BackwardOfQueries, where that is used
  DeviceRows kv_rows;
  float* statistics;  // [heads_q, statistics_tiles(rows of out, batch), 2, kStatisticsRows]
  float* dq_sum;      // summed_size(rows of q, heads_q, head_dim); not used with broadcast_q
  float* dq_kept;     // as many elements as the kernel's kept_size says
  int* handed;        // [counts()]: NOTE [partners]
  int* turns;         // [heads_q, tiles of statistics]; null: adds to dq_sum in any order
  int blocks;         // that the kernel is launched with
  int few_queries;    // sequences of up to so many are left to BackwardByQueries; 0: none are

  bool broadcast() const { return this->q_rows.offsets.data == nullptr; }
  std::int64_t out_rows() const {
    const std::int64_t rows = this->q_rows.rows;
    return broadcast() ? this->batch * rows : rows;
  }
  /// With broadcast_q: into how many fixed shares the work of a key/value head is cut.
  int shares() const { return std::max(1, blocks / this->heads_kv); }
  /// Ints of `handed`; none where no blocks are partners.
  std::int64_t counts() const { return broadcast() ? 0 : handed_counts(blocks); }
  std::int64_t head_tiles() const { return statistics_tiles(out_rows(), this->batch); }

  /// dk or dv, for filling its gaps.
  OutputRows<T> rows_by_keys(const Matrix<T>& x) const {
    return {x.data, nullptr, x.row_stride, x.head_stride, 0, this->heads_kv, this->head_dim};
  }
};

}  // namespace jfa::inline JFA_BACKEND
