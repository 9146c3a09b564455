// Rows of the outputs that belong to no sequence: gaps behind lengths in use, and what lies past
// the last offset. They become zero, and -inf in lse.
#pragma once

#include "plan/device_indices.hpp"

namespace jfa::inline JFA_BACKEND {

template <class T>
struct OutputRows {
  T* out;
  float* lse;  // null: not wanted
  std::int64_t row_stride;
  std::int64_t head_stride;
  std::int64_t lse_head_stride;
  int heads;
  int head_dim;  // a multiple of 8
};

/// Called by `threads` threads of each block, of which the caller is number `thread`.
template <class M, class T>
struct FillGaps {
  const OutputRows<T>& to;
  int thread;
  int threads;

  /// One head of a row a step of a thread.
  JFA_DEVICE void rows(int begin, int end) const {
    const std::int64_t first = static_cast<std::int64_t>(begin) * to.heads;
    const std::int64_t last = static_cast<std::int64_t>(end) * to.heads;
    for (std::int64_t i = first + thread; i < last; i += threads) {
      const std::int64_t row = i / to.heads;
      const std::int64_t head = i % to.heads;
      T* out = to.out + row * to.row_stride + head * to.head_stride;
      for (int d = 0; d < to.head_dim; d += 8) {
        M::store_global(reinterpret_cast<Pack<T, 8>*>(out + d), Pack<T, 8>{});
      }
      if (to.lse != nullptr) {
        M::store_global(to.lse + head * to.lse_head_stride + row, -__builtin_inff());
      }
    }
  }

  /// The block's share of all gaps.
  JFA_DEVICE void run(const DeviceRows& q, int batch) const {
    if (q.lengths.data != nullptr) {
      for (int b = M::block_index(); b < batch; b += M::grid_size()) {
        const DeviceRows::Place place = q.of<M>(b);
        rows(place.begin + place.length, place.end);
      }
    }
    const int used = static_cast<int>(DeviceRows::clamp(q.offsets.at<M>(batch), 0, q.rows));
    const int share = (q.rows - used + M::grid_size() - 1) / M::grid_size();
    const std::int64_t begin = used + static_cast<std::int64_t>(share) * M::block_index();
    const std::int64_t end = begin + share;
    if (begin < q.rows) {
      rows(static_cast<int>(begin), static_cast<int>(end < q.rows ? end : q.rows));
    }
  }
};

}  // namespace jfa::inline JFA_BACKEND
