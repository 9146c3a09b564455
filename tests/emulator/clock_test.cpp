// Clocks kept by warp against plain vector clocks of every lane.
#include "machine/emulator/clock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace jfa::emulator {
namespace {

constexpr int kBlocks = 3;
constexpr int kUsedRows = 4;

// Every lane of a few rows of a few blocks has a time of its own.
struct Plain {
  std::array<Time, kBlocks * kUsedRows * kLanes> time{};

  Time& at(const Agent& agent) {
    return time[static_cast<std::size_t>((agent.block * kUsedRows + agent.row) * kLanes +
                                         agent.lane)];
  }
  void raise(const Epoch& epoch) {
    if (epoch.agent.lane != kWholeRow) {
      at(epoch.agent) = std::max(at(epoch.agent), epoch.time);
      return;
    }
    for (std::uint8_t l = 0; l < kLanes; ++l) {
      raise({{epoch.agent.block, epoch.agent.row, l}, epoch.time});
    }
  }
  void join(const Plain& other) {
    for (std::size_t i = 0; i < time.size(); ++i) time[i] = std::max(time[i], other.time[i]);
  }
};

void expect_same(const ClockRef& clock, Plain& plain) {
  for (std::uint16_t block = 0; block < kBlocks; ++block) {
    for (std::uint8_t row = 0; row < kUsedRows; ++row) {
      for (std::uint8_t lane = 0; lane < kLanes; ++lane) {
        const Agent agent{block, row, lane};
        const Time time = plain.at(agent);
        EXPECT_TRUE(knows(clock, {agent, time}));
        EXPECT_FALSE(knows(clock, {agent, time + 1}));
      }
    }
  }
}

TEST(Clock, AgreesWithPlainVectorClocks) {
  std::mt19937 random(7);
  const auto draw = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  std::array<ClockRef, 6> clocks;
  std::array<Plain, 6> plain;
  for (int step = 0; step < 4000; ++step) {
    const auto to = static_cast<std::size_t>(draw(6));
    if (draw(3) == 0) {
      const auto from = static_cast<std::size_t>(draw(6));
      join(clocks[to], clocks[from]);
      plain[to].join(plain[from]);
      if (draw(4) == 0) {
        clocks[from] = clocks[to];
        plain[from] = plain[to];
      }
    } else {
      const bool whole = draw(8) == 0;
      const Epoch epoch{
          {static_cast<std::uint16_t>(draw(kBlocks)), static_cast<std::uint8_t>(draw(kUsedRows)),
           whole ? kWholeRow : static_cast<std::uint8_t>(draw(kLanes))},
          static_cast<Time>(draw(50) + step / 50)};
      raise(clocks[to], epoch);
      plain[to].raise(epoch);
    }
    if (step % 40 == 0) expect_same(clocks[to], plain[to]);
  }
  for (std::size_t i = 0; i < clocks.size(); ++i) expect_same(clocks[i], plain[i]);
}

TEST(Clock, NullKnowsOnlyTheStart) {
  const ClockRef nothing;
  EXPECT_TRUE(knows(nothing, {{0, 0, 0}, 0}));
  EXPECT_FALSE(knows(nothing, {{0, 0, 0}, 1}));
}

}  // namespace
}  // namespace jfa::emulator
