// Exact layouts: swizzled shared memory, tensor-map boxes and matrix descriptors, as the PTX ISA
// and the CUDA driver API define them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace jfa::emulator {

// Shared-memory addresses in descriptors are offsets in the block's memory plus this.
inline constexpr std::uint32_t kSharedBase = 1024;

// The byte address at which a swizzled pattern of `span` bytes a row (0, 32, 64 or 128) keeps what
// an unswizzled one keeps at `address`.
constexpr std::uint32_t swizzle(std::uint32_t address, int span) {
  switch (span) {
    case 128:
      return address ^ ((address >> 7 & 7) << 4);
    case 64:
      return address ^ ((address >> 7 & 3) << 4);
    case 32:
      return address ^ ((address >> 7 & 1) << 4);
    default:
      return address;
  }
}

enum class ElementType : std::uint8_t { Byte, Bf16, Fp16, Fp32, Int32 };
int bytes_of(ElementType type);

// A tensor map: up to five dimensions, the first contiguous. Addresses wrap at 64 bits.
struct TensorMap {
  std::byte* base = nullptr;
  ElementType type = ElementType::Bf16;
  int rank = 1;
  std::array<std::uint64_t, 5> dims{};
  std::array<std::uint64_t, 4> strides{};  // bytes, of dimensions 1 and up
  std::array<std::uint32_t, 5> box{};
  int swizzle_span = 0;

  std::uint32_t box_bytes() const;
  std::uint32_t row_bytes() const;  // of the box's first dimension
  // Empty, or why the driver refuses such a map.
  std::string error() const;
};

// One row of a box: where its bytes are in global memory and where in shared memory. `valid`
// bytes from `skip` on are inside the tensor; the rest is zero on loads and absent on stores.
struct BoxRow {
  std::byte* global = nullptr;  // of the first valid byte
  std::uint32_t shared = 0;     // of the row's first byte, before the swizzle; from the box's start
  std::uint32_t skip = 0;
  std::uint32_t valid = 0;
};
std::vector<BoxRow> box_rows(const TensorMap& map, std::span<const int> coordinates);

enum class MmaType : std::uint8_t { Bf16, Fp16 };

// A decoded matrix descriptor: an operand of `rows` rows (M or N) and 16 of depth, K-major or
// MN-major, as 16-byte chunks of shared memory.
struct OperandLayout {
  std::uint64_t descriptor = 0;
  bool mn_major = false;
  int rows = 0;

  bool operator==(const OperandLayout&) const = default;
};
// Offsets in the block's memory of the chunks. K-major: chunk 2 r + h holds row r, depths 8 h to
// 8 h + 7. MN-major: chunk 16 g + k holds depth k of rows 8 g to 8 g + 7.
const std::vector<std::uint32_t>& chunks(const OperandLayout& layout);
// The same chunks as granules, in ascending order, for the shadow.
const std::vector<std::uint32_t>& granules(const OperandLayout& layout);
// Empty, or what is wrong with the descriptor for memory of `bytes` bytes.
std::string descriptor_error(const OperandLayout& layout, std::size_t bytes);
// Empty, or what is wrong with the fields that tcgen05 has and wgmma has not.
std::string tensor_descriptor_error(const OperandLayout& layout);

}  // namespace jfa::emulator
