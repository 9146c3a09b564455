// Which sequence a row of out belongs to, for kernels that go through all rows of a batch.
#pragma once

#include "kernels/backward/arguments.hpp"

namespace jfa::inline JFA_BACKEND {

/// Rows of out, in stretches that a block takes together.
template <class Machine>
struct RowPlaces {
  using M = Machine;
  static constexpr int kMostRows = 128;  // of a stretch
  /// Rows of a head before the next head: dq_sum has them one after another.
  static constexpr int kTogether = 8;

  /// A row of a sequence; kv_length is -1 for a row of none.
  struct alignas(16) Place {
    int row = 0;  // in the sequence
    int q_length = 0;
    int kv_length = 0;
    int statistics = 0;  // first tile of the sequence
    int needs = 0;       // what is to be done, as the pass says
    int unused[3] = {};
  };

  /// One part of a row of out and one head, as a lane of its own comes by. Past the last row
  /// nothing is to be done.
  struct Visit {
    std::int64_t row;
    int head;
    int lane;   // which part
    int needs;  // what is to be done: the place's, or 0
    const Place* place;
  };

  struct Smem {
    Place places[kMostRows];
    int wanted[kMostRows / 32];  // 1: by a row of a warp's
  };

  DeviceRows q;  // its offsets have no data with broadcast_q
  DeviceRows kv;
  int batch;

  JFA_DEVICE std::int64_t rows() const {
    return q.offsets.data == nullptr ? static_cast<std::int64_t>(batch) * q.rows : q.rows;
  }

  JFA_DEVICE bool begins_by(std::int64_t sequence, int row) const {
    return sequence < batch && q.offsets.at<M>(sequence) <= row;
  }

  /// The last sequence that begins at `row` or before: the one with rows, of several. Called by a
  /// warp, whose lanes' rows do not decrease.
  JFA_DEVICE int sequence_at(int row) const {
    const int lowest = M::shuffle(row, 0);
    int first = 0;
    for (int count = batch; count > 1;) {  // that of the first lane is among so many
      const int step = (count + 31) / 32;
      const int at = step * M::lane();
      const std::uint32_t before = M::ballot(at < count && begins_by(first + at, lowest));
      const int steps = before == 0 ? 0 : count_bits(before) - 1;
      first += steps * step;
      count = count - steps * step < step ? count - steps * step : step;
    }
    int step = 1;
    for (; begins_by(std::int64_t{first} + step, row); step *= 2) first += step;
    for (step /= 2; step > 0; step /= 2) {
      if (begins_by(std::int64_t{first} + step, row)) first += step;
    }
    return first;
  }

  /// Called by a warp.
  JFA_DEVICE Place find(std::int64_t row) const {
    if (batch == 0) return {.kv_length = -1};  // offsets hold no place
    const bool broadcast = q.offsets.data == nullptr;
    const int b = broadcast ? static_cast<int>(row / q.rows) : sequence_at(static_cast<int>(row));
    const DeviceRows::Place at =
        broadcast ? DeviceRows::Place{b * q.rows, q.rows, (b + 1) * q.rows} : q.of<M>(b);
    const auto in_sequence = static_cast<int>(row - at.begin);
    const bool used = in_sequence >= 0 && in_sequence < at.length;
    return {.row = in_sequence,
            .q_length = at.length,
            .kv_length = used ? kv.of<M>(b).length : -1,
            .statistics = static_cast<int>(first_statistics_tile(at.begin, b))};
  }

  /// Has `pass` load what it needs and then use it, for every row, head and part of `Lanes`; all
  /// lanes of a warp come. Leaves out stretches of Pass::kRows rows with nothing to be done.
  template <int Threads, int Lanes, class Pass>
  JFA_DEVICE void for_each(Smem& smem, int heads, const Pass& pass) const {
    constexpr int kRows = Pass::kRows;
    static_assert(kRows <= Threads && kRows <= kMostRows);
    const int thread = M::thread_index();
    const std::int64_t all = rows();
    constexpr int kStep = Threads / Lanes;
    constexpr int kHeads = kStep / kTogether;
    static_assert(kStep % kTogether == 0 && kRows % kTogether == 0);
    for (std::int64_t first = std::int64_t{kRows} * M::block_index(); first < all;
         first += std::int64_t{kRows} * M::grid_size()) {
      M::sync_block();  // the places before are read
      if (thread < kRows) {
        const std::int64_t row = first + thread < all ? first + thread : all - 1;
        Place place = find(row);
        place.needs = pass.needs(place);
        M::store_shared(&smem.places[thread], place);
        const bool wanted = M::any(place.needs != 0);
        if (M::lane() == 0) M::store_shared(&smem.wanted[thread / 32], wanted ? 1 : 0);
      }
      M::sync_block();
      bool wanted = false;
      for (int i = 0; i < kRows / 32; ++i) wanted |= M::load_shared(&smem.wanted[i]) != 0;
      int row = thread / Lanes / kTogether / heads * kTogether + thread / Lanes % kTogether;
      int head = thread / Lanes / kTogether % heads;
      for (int i = 0; wanted && i < kRows * heads; i += Pass::kAtOnce * kStep) {
        Visit visits[Pass::kAtOnce];  // in flight together
        typename Pass::Loaded loaded[Pass::kAtOnce];
        JFA_UNROLL
        for (int k = 0; k < Pass::kAtOnce; ++k) {
          const bool there = row < kRows && first + row < all;
          const Place* place = &smem.places[there ? row : 0];
          const int needs = there ? M::load_shared(&place->needs) : 0;
          visits[k] = {first + row, head, thread % Lanes, needs, place};
          loaded[k] = pass.load(visits[k]);
          head += kHeads % heads;
          row += kTogether * (kHeads / heads + (head >= heads ? 1 : 0));
          head -= head >= heads ? heads : 0;
        }
        JFA_UNROLL
        for (int k = 0; k < Pass::kAtOnce; ++k) pass.use(visits[k], loaded[k]);
      }
    }
  }
};

}  // namespace jfa::inline JFA_BACKEND
