#include "machine/emulator/clock.hpp"

#include <algorithm>

namespace jfa::emulator {
namespace {

constexpr std::size_t kMemoSize = 64;

// Lanes of a warp mostly join the same two clocks one after another; then they go on sharing one.
struct Memo {
  ClockRef left, right, result;
};

Memo& memo_of(const Clock* left, const Clock* right) {
  thread_local std::array<Memo, kMemoSize> memos;
  const auto mix = (reinterpret_cast<std::uintptr_t>(left) >> 4) * 31 +
                   (reinterpret_cast<std::uintptr_t>(right) >> 4);
  return memos[(mix ^ (mix >> 7)) % kMemoSize];
}

}  // namespace

const BlockClock::LaneRow* BlockClock::find(std::uint8_t row) const {
  for (const auto& candidate : lane_rows_) {
    if (candidate.row == row) return &candidate;
  }
  return nullptr;
}

BlockClock::LaneRow* BlockClock::find(std::uint8_t row) {
  return const_cast<LaneRow*>(std::as_const(*this).find(row));
}

void BlockClock::insert(const LaneRow& row) {
  const auto place = std::find_if(lane_rows_.begin(), lane_rows_.end(),
                                  [&](const LaneRow& other) { return other.row > row.row; });
  lane_rows_.insert(place, row);
}

bool BlockClock::knows(const Epoch& epoch) const {
  const auto row = epoch.agent.row;
  if (base_[row] >= epoch.time) return true;
  if (epoch.agent.lane == kWholeRow || lane_rows_.empty()) return false;
  const LaneRow* lanes = find(row);
  return lanes != nullptr && lanes->time[epoch.agent.lane] >= epoch.time;
}

void BlockClock::raise_row(std::uint8_t row, Time time) {
  base_[row] = std::max(base_[row], time);
  if (LaneRow* lanes = find(row)) {
    for (auto& lane : lanes->time) lane = std::max(lane, time);
  }
}

void BlockClock::raise(const Epoch& epoch) {
  const auto row = epoch.agent.row;
  if (base_[row] >= epoch.time) return;
  if (epoch.agent.lane == kWholeRow) return raise_row(row, epoch.time);
  LaneRow* lanes = find(row);
  if (lanes == nullptr) {
    LaneRow fresh{row, {}};
    fresh.time.fill(base_[row]);
    insert(fresh);
    lanes = find(row);
  }
  auto& time = lanes->time[epoch.agent.lane];
  if (time >= epoch.time) return;
  time = epoch.time;
  settle();
}

void BlockClock::settle() {
  for (auto& lanes : lane_rows_) {
    base_[lanes.row] = *std::min_element(lanes.time.begin(), lanes.time.end());
  }
  std::erase_if(lane_rows_, [&](const LaneRow& lanes) {
    const Time base = base_[lanes.row];
    return std::all_of(lanes.time.begin(), lanes.time.end(), [&](Time t) { return t == base; });
  });
}

void BlockClock::join(const BlockClock& other) {
  if (lane_rows_.empty() && other.lane_rows_.empty()) {
    for (std::size_t r = 0; r < kRows; ++r) base_[r] = std::max(base_[r], other.base_[r]);
    return;
  }
  for (auto& lanes : lane_rows_) {
    for (auto& time : lanes.time) time = std::max(time, other.base_[lanes.row]);
  }
  for (const auto& theirs : other.lane_rows_) {
    LaneRow* ours = find(theirs.row);
    if (ours == nullptr) {
      LaneRow fresh{theirs.row, {}};
      fresh.time.fill(base_[theirs.row]);
      insert(fresh);
      ours = find(theirs.row);
    }
    for (std::size_t l = 0; l < kLanes; ++l)
      ours->time[l] = std::max(ours->time[l], theirs.time[l]);
  }
  for (std::size_t r = 0; r < kRows; ++r) base_[r] = std::max(base_[r], other.base_[r]);
  settle();
}

bool BlockClock::covers(const BlockClock& other) const {
  // Rows by the eight: most clocks differ in an early one, and eight at a time are vectors.
  constexpr std::size_t kAtOnce = 8;
  static_assert(kRows % kAtOnce == 0);
  for (std::size_t r = 0; r < kRows; r += kAtOnce) {
    Time later = 0;
    for (std::size_t i = r; i < r + kAtOnce; ++i) {
      later |= std::max(other.base_[i], base_[i]) ^ base_[i];
    }
    if (later != 0) return false;
  }
  for (const auto& theirs : other.lane_rows_) {
    const LaneRow* ours = find(theirs.row);
    for (std::size_t l = 0; l < kLanes; ++l) {
      if (theirs.time[l] > (ours != nullptr ? ours->time[l] : base_[theirs.row])) return false;
    }
  }
  return true;
}

bool Clock::knows(const Epoch& epoch) const {
  for (const auto& [block, clock] : blocks_) {
    if (block == epoch.agent.block) return clock->knows(epoch);
  }
  return false;
}

BlockClock& Clock::own(BlockClockRef& blocks) {
  if (!blocks) {
    blocks = new BlockClock;
  } else if (blocks->use_count() > 1) {
    blocks = new BlockClock(*blocks);
  }
  return *blocks;
}

Clock::BlockClockRef& Clock::at(std::uint16_t block) {
  auto place = std::find_if(blocks_.begin(), blocks_.end(),
                            [&](const auto& entry) { return entry.first >= block; });
  if (place == blocks_.end() || place->first != block) {
    place = blocks_.insert(place, {block, nullptr});
  }
  return place->second;
}

void Clock::join(const Clock& other) {
  for (const auto& [block, theirs] : other.blocks_) {
    BlockClockRef& ours = at(block);
    if (!ours) {
      ours = theirs;
    } else if (ours != theirs && !ours->covers(*theirs)) {
      own(ours).join(*theirs);
    }
  }
}

bool Clock::covers(const Clock& other) const {
  return std::all_of(other.blocks_.begin(), other.blocks_.end(), [&](const auto& theirs) {
    const auto ours = std::find_if(blocks_.begin(), blocks_.end(),
                                   [&](const auto& entry) { return entry.first == theirs.first; });
    if (ours == blocks_.end()) return false;
    return ours->second == theirs.second || ours->second->covers(*theirs.second);
  });
}

bool covers(const ClockRef& clock, const ClockRef& other) {
  if (!other || clock == other) return true;
  return clock && clock->covers(*other);
}

void raise(ClockRef& clock, const Epoch& epoch) {
  if (knows(clock, epoch)) return;
  if (!clock) {
    clock = new Clock;
  } else if (clock->use_count() > 1) {
    clock = new Clock(*clock);
  }
  Clock::own(clock->at(epoch.agent.block)).raise(epoch);
}

void join(ClockRef& clock, const ClockRef& other) {
  if (!other || clock == other) return;
  if (!clock) {
    clock = other;
    return;
  }
  if (clock->use_count() == 1) {
    if (!clock->covers(*other)) clock->join(*other);
    return;
  }
  Memo& memo = memo_of(clock.get(), other.get());
  if (memo.left == clock && memo.right == other) {
    clock = memo.result;
    return;
  }
  ClockRef result;
  if (clock->covers(*other)) {
    result = clock;
  } else if (other->covers(*clock)) {
    result = other;
  } else {
    result = new Clock(*clock);
    result->join(*other);
  }
  memo = {clock, other, result};
  clock = std::move(result);
}

}  // namespace jfa::emulator
