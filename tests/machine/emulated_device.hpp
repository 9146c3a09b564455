// Runs the sample checks in the emulator: any finding fails the check.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

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
    return allocate<T>(count, std::byte{0xFF}, emulator::BufferUse::Output);
  }

  template <class T>
  T* zeroed(std::size_t count) {
    return allocate<T>(count, std::byte{0}, emulator::BufferUse::InOut);
  }

  template <class T>
  T* upload(const std::vector<T>& values) {
    T* buffer = allocate<T>(values.size(), std::byte{0}, emulator::BufferUse::Input);
    std::copy(values.begin(), values.end(), buffer);
    return buffer;
  }

  template <class T>
  std::vector<T> download(const T* buffer, std::size_t count) {
    return {buffer, buffer + count};
  }

  template <class K>
  void launch(int blocks, const typename K::Params& params) {
    const emulator::RunResult result = emulated::launch<K>(device_, options_, blocks, params);
    if (result.finding.found()) ADD_FAILURE() << emulator::report(result.finding);
  }

 private:
  struct alignas(16) Chunk {
    std::byte bytes[16];
  };

  template <class T>
  T* allocate(std::size_t count, std::byte fill, emulator::BufferUse use) {
    const std::size_t bytes = count * sizeof(T);
    memory_.push_back(std::make_unique<Chunk[]>((bytes + sizeof(Chunk) - 1) / sizeof(Chunk)));
    std::byte* begin = memory_.back()[0].bytes;
    std::fill_n(begin, bytes, fill);
    device_.expose("buffer " + std::to_string(memory_.size()), begin, bytes, use);
    return reinterpret_cast<T*>(begin);
  }

  emulator::RunOptions options_;
  std::vector<std::unique_ptr<Chunk[]>> memory_;
  emulator::Device device_;
};

}  // namespace emulated
}  // namespace jfa
