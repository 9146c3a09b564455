// A device for tests that perturb the synchronization of one kernel among several.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "machine/emulator/emulated_hopper.hpp"
#include "machine/emulator/verify.hpp"

namespace jfa {
inline namespace emulated {

/// Runs kernels with given options, `Tested` alone with their mutant; keeps what its run gave.
template <class Tested>
class MutatedDevice {
 public:
  using M = EmulatedHopper;

  explicit MutatedDevice(const emulator::RunOptions& options) : options_(options) {}

  template <class T>
  T* poisoned(std::size_t count) {
    return allocate<T>(count, std::byte{0xFF}, emulator::BufferUse::Output);
  }
  template <class T>
  T* scratch(std::size_t count) {
    return allocate<T>(count, std::byte{0xFF}, emulator::BufferUse::Scratch);
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
    emulator::RunOptions options = options_;
    if constexpr (std::is_same_v<K, Tested>) {
      result = emulated::launch<K>(device_, options, blocks, params);
    } else {
      options.mutant.reset();
      emulated::launch<K>(device_, options, blocks, params);
    }
  }

  emulator::RunResult result;

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
