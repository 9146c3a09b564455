// Which sequence a row of out belongs to, for kernels that go through all rows of a batch.
#pragma once

#include "kernels/backward/arguments.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// Rows of out, in stretches of kRows that a block takes together.
template <class Machine>
struct RowPlaces {
  using M = Machine;
  static constexpr int kRows = 64;

  /// A row of a sequence; kv_length is -1 for a row of none.
  struct alignas(16) Place {
    int row = 0;  // in the sequence
    int q_begin = 0;
    int q_length = 0;
    int kv_length = 0;
    int statistics = 0;  // first tile of the sequence
    int unused[3] = {};
  };

  struct Smem {
    Place places[kRows];
  };

  DeviceRows q;  // its offsets have no data with broadcast_q
  DeviceRows kv;
  int batch;

  JFA_DEVICE std::int64_t rows() const {
    return q.offsets.data == nullptr ? static_cast<std::int64_t>(batch) * q.rows : q.rows;
  }

  /// The last sequence that begins at `row` or before: the one with rows, of several.
  JFA_DEVICE int sequence_at(int row) const {
    int first = 0;
    int last = batch - 1;
    while (first < last) {
      const int middle = first + (last - first + 1) / 2;
      if (q.offsets.at<M>(middle) <= row) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    return first;
  }

  JFA_DEVICE Place find(std::int64_t row) const {
    if (batch == 0) return {.kv_length = -1};  // offsets hold no place
    const bool broadcast = q.offsets.data == nullptr;
    const int b = broadcast ? static_cast<int>(row / q.rows) : sequence_at(static_cast<int>(row));
    const DeviceRows::Place at =
        broadcast ? DeviceRows::Place{b * q.rows, q.rows, (b + 1) * q.rows} : q.of<M>(b);
    const auto in_sequence = static_cast<int>(row - at.begin);
    const bool used = in_sequence >= 0 && in_sequence < at.length;
    return {.row = in_sequence,
            .q_begin = at.begin,
            .q_length = at.length,
            .kv_length = used ? kv.of<M>(b).length : -1,
            .statistics = static_cast<int>(first_statistics_tile(at.begin, b))};
  }

  /// Calls fn(there, row, head, part, place) for every row, head and part of `Lanes`, each by a
  /// lane of its own; all lanes of a warp come, past the last row with `there` false.
  template <int Threads, int Lanes, class Fn>
  JFA_DEVICE void for_each(Smem& smem, int heads, Fn fn) const {
    constexpr int kAtOnce = Threads / Lanes;
    const int thread = M::thread_index();
    const std::int64_t all = rows();
    for (std::int64_t first = std::int64_t{kRows} * M::block_index(); first < all;
         first += std::int64_t{kRows} * M::grid_size()) {
      M::sync_block();  // the places before are read
      if (thread < kRows && first + thread < all) {
        M::store_shared(&smem.places[thread], find(first + thread));
      }
      M::sync_block();
      for (int i = 0; i < kRows * heads; i += kAtOnce) {
        const int pair = i + thread / Lanes;
        const int row = pair / heads;
        const bool there = pair < kRows * heads && first + row < all;
        const Place place = there ? M::load_shared(&smem.places[row]) : Place{};
        fn(there, first + row, pair % heads, thread % Lanes, place);
      }
    }
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
