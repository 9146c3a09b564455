// Hands out pieces of a block of memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jfa::cpu {

/// Over null memory it only counts, so that one function both sizes and lays out a block.
class Carver {
 public:
  explicit Carver(std::byte* memory = nullptr) noexcept : memory_(memory) {}

  /// `count` floats, 64-byte aligned when the memory is.
  float* floats(std::int64_t count) noexcept {
    std::byte* piece = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (static_cast<std::size_t>(count) * sizeof(float) + kAlignment - 1) / kAlignment *
             kAlignment;
    // The memory comes from an allocation or a workspace and holds nothing but floats.
    return reinterpret_cast<float*>(piece);
  }

  std::size_t used() const noexcept { return used_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  std::byte* memory_;
  std::size_t used_ = 0;
};

}  // namespace jfa::cpu
