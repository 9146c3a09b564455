// Runs checks in the emulator: any finding fails the check.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "machine/emulator/buffers.hpp"
#include "machine/emulator/emulated_hopper.hpp"

namespace jfa {
inline namespace emulated {

class EmulatedDevice {
 public:
  using M = EmulatedHopper;

  EmulatedDevice(emulator::Schedule schedule, std::uint64_t seed) {
    options_.schedule = schedule;
    options_.seed = seed;
  }

  template <class T>
  T* poisoned(std::size_t count) {
    return buffers_.output<T>("output", count);
  }

  /// Holds nothing; written and read by kernels.
  template <class T>
  T* scratch(std::size_t count) {
    return buffers_.scratch<T>("scratch", count);
  }

  template <class T>
  T* zeroed(std::size_t count) {
    return buffers_.zeros<T>("zeros", count);
  }

  template <class T>
  T* upload(const std::vector<T>& values) {
    return buffers_.input("input", values);
  }

  template <class T>
  std::vector<T> download(const T* buffer, std::size_t count) {
    return {buffer, buffer + count};
  }

  template <class K>
  void launch(int blocks, const typename K::Params& params) {
    const emulator::RunResult result =
        emulated::launch<K>(buffers_.device(), options_, blocks, params);
    if (result.finding.found()) ADD_FAILURE() << emulator::report(result.finding);
  }

 private:
  emulator::RunOptions options_;
  emulator::Buffers buffers_;
};

/// check(device) under a schedule and seed that `turn` picks.
template <class Check>
void on_turn(const std::string& name, std::uint64_t turn, Check check) {
  constexpr std::size_t kCount = std::size(emulator::kSchedules);
  const emulator::Schedule schedule = emulator::kSchedules[turn % kCount];
  EmulatedDevice device(schedule, turn);
  check(device);
  if (testing::Test::HasFailure()) {
    FAIL() << name << ", " << emulator::to_string(schedule) << ", seed " << turn;
  }
}

}  // namespace emulated
}  // namespace jfa
