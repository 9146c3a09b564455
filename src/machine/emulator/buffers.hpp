// Buffers of one emulated problem: host memory that the emulated device may touch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "machine/emulator/device.hpp"

namespace jfa::emulator {

class Buffers {
 public:
  // Holds `values`, read only.
  template <class T>
  T* input(std::string name, const std::vector<T>& values) {
    T* buffer = make<T>(std::move(name), values.size(), std::byte{0}, BufferUse::Input);
    std::copy(values.begin(), values.end(), buffer);
    return buffer;
  }
  // Holds zeros.
  template <class T>
  T* zeros(std::string name, std::size_t count) {
    return make<T>(std::move(name), count, std::byte{0}, BufferUse::InOut);
  }
  // Holds nothing (NaN); kernels write and read it.
  template <class T>
  T* scratch(std::string name, std::size_t count) {
    return make<T>(std::move(name), count, std::byte{0xff}, BufferUse::Scratch);
  }
  // Holds nothing (NaN); each byte is written once.
  template <class T>
  T* output(std::string name, std::size_t count) {
    return make<T>(std::move(name), count, std::byte{0xff}, BufferUse::Output);
  }

  Device& device() { return device_; }

 private:
  struct alignas(128) Line {
    std::byte bytes[128];
  };

  template <class T>
  T* make(std::string name, std::size_t count, std::byte fill, BufferUse use) {
    const std::size_t bytes = count * sizeof(T);
    memory_.push_back(std::make_unique<Line[]>((bytes + sizeof(Line) - 1) / sizeof(Line)));
    std::byte* begin = memory_.back()[0].bytes;
    std::fill_n(begin, bytes, fill);
    device_.expose(std::move(name), begin, bytes, use);
    return reinterpret_cast<T*>(begin);
  }

  std::vector<std::unique_ptr<Line[]>> memory_;
  Device device_;
};

}  // namespace jfa::emulator
