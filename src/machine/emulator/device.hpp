// Global memory as kernels may touch it: buffers the host exposes, each with its shadow.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "machine/emulator/shadow.hpp"

namespace jfa::emulator {

enum class BufferUse {
  Input,    // read only
  InOut,    // holds values before the launch
  Output,   // holds nothing before the launch; every byte is written by one block at most
  Scratch,  // holds nothing before the launch
};

struct Buffer {
  std::string name;
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  BufferUse use = BufferUse::Input;
  std::unique_ptr<Shadow> shadow;  // none for inputs

  bool contains(const void* pointer) const {
    const auto* at = static_cast<const std::byte*>(pointer);
    return at >= begin && at < begin + bytes;
  }
};

// The device's memory across launches. Every pointer a kernel dereferences lies in an exposed
// buffer; anything else is finding 9. Buffers start at multiples of 16 bytes and do not overlap.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void expose(std::string name, void* memory, std::size_t bytes, BufferUse use);
  void expose(std::string name, const void* memory, std::size_t bytes) {
    expose(std::move(name), const_cast<void*>(memory), bytes, BufferUse::Input);
  }
  // The buffer that holds `pointer`, or null.
  Buffer* find(const void* pointer);
  // Where an address outside every buffer is: "37 bytes after out", for reports.
  std::string locate(const void* pointer) const;
  // A launch begins: all that earlier ones wrote is visible.
  void launch_boundary();
  void move_readers(ReaderTable& kept);
  ReaderTable& readers() { return readers_; }

 private:
  std::vector<Buffer> buffers_;
  std::size_t last_ = 0;
  ReaderTable readers_;
};

}  // namespace jfa::emulator
