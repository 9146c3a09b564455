// Vector clocks, kept by warp: a row a warp, with lane times only where lanes of it differ.
#pragma once

#include <array>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace jfa::emulator {

using Time = std::uint32_t;

inline constexpr int kLanes = 32;
// What a warp has in flight, each in order: its MMAs, its loads and its stores of tensor memory.
enum class TensorUnit : std::uint8_t { Mma, Load, Store };
inline constexpr int kTensorUnits = 3;
// Rows of one block's part of a clock: its warps, their tensor units, its asynchronous copies.
inline constexpr int kWarpRows = 32;
inline constexpr int kTensorRows = kTensorUnits * kWarpRows;
inline constexpr int kCopyRows = 8;
inline constexpr std::size_t kCopySlots = std::size_t{kCopyRows} * kLanes;
inline constexpr int kRows = kWarpRows + kTensorRows + kCopyRows;
// The lane of an agent that fills its row alone (a tensor unit).
inline constexpr std::uint8_t kWholeRow = 0xff;

// Whoever acts: a thread, the tensor unit of a warp, or an asynchronous copy.
struct Agent {
  std::uint16_t block = 0;
  std::uint8_t row = 0;
  std::uint8_t lane = 0;

  bool operator==(const Agent&) const = default;
};

// A moment of an agent. Time 0 is before the launch and known to everyone.
struct Epoch {
  Agent agent;
  Time time = 0;

  bool operator==(const Epoch&) const = default;
};

// What is known of the agents of one block.
class BlockClock : public boost::intrusive_ref_counter<BlockClock, boost::thread_unsafe_counter> {
 public:
  bool knows(const Epoch& epoch) const;
  void raise(const Epoch& epoch);
  void join(const BlockClock& other);
  bool covers(const BlockClock& other) const;

 private:
  // A row whose lanes differ; the row's base is then the least of them.
  struct LaneRow {
    std::uint8_t row;
    std::array<Time, kLanes> time;
  };

  const LaneRow* find(std::uint8_t row) const;
  LaneRow* find(std::uint8_t row);
  void insert(const LaneRow& row);
  void raise_row(std::uint8_t row, Time time);
  void settle();

  std::array<Time, kRows> base_{};
  std::vector<LaneRow> lane_rows_;  // sorted by row
};

class Clock;
using ClockRef = boost::intrusive_ptr<Clock>;

// What is known of every agent of the grid. Clocks are shared and copied on write: change them
// through `raise` and `join` only. A null ClockRef knows nothing.
class Clock : public boost::intrusive_ref_counter<Clock, boost::thread_unsafe_counter> {
 public:
  bool knows(const Epoch& epoch) const;

 private:
  friend void raise(ClockRef& clock, const Epoch& epoch);
  friend void join(ClockRef& clock, const ClockRef& other);
  friend bool covers(const ClockRef& clock, const ClockRef& other);

  using BlockClockRef = boost::intrusive_ptr<BlockClock>;
  static BlockClock& own(BlockClockRef& blocks);
  BlockClockRef& at(std::uint16_t block);
  void join(const Clock& other);
  bool covers(const Clock& other) const;

  std::vector<std::pair<std::uint16_t, BlockClockRef>> blocks_;  // sorted by block
};

// Whether `clock` knows all that `other` does.
bool covers(const ClockRef& clock, const ClockRef& other);
inline bool knows(const ClockRef& clock, const Epoch& epoch) {
  return epoch.time == 0 || (clock && clock->knows(epoch));
}
void raise(ClockRef& clock, const Epoch& epoch);
void join(ClockRef& clock, const ClockRef& other);

}  // namespace jfa::emulator
