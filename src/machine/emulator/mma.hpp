// Warpgroup MMAs: instructions as issued, and the arithmetic on decoded operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/emulator/layout.hpp"
#include "numeric/half.hpp"

namespace jfa::emulator {

inline constexpr int kMmaRows = 64;
inline constexpr int kMmaDepth = 16;
inline constexpr int kMmaMaxColumns = 256;
inline constexpr int kWarpgroupLanes = 128;

constexpr HalfFormat format_of(MmaType type) {
  return type == MmaType::Bf16 ? kBf16Format : kF16Format;
}

// One m64 n{columns} k16 step of a warpgroup; the pointers are the lanes' registers.
struct MmaInstruction {
  MmaType type = MmaType::Bf16;
  int columns = 0;
  bool accumulate = true;
  bool a_in_registers = false;
  OperandLayout a;  // of shared memory
  OperandLayout b;
  std::array<float*, kWarpgroupLanes> accumulators{};
  std::array<const std::uint32_t*, kWarpgroupLanes> a_registers{};

  bool same_shape(const MmaInstruction& other) const;
};

struct MmaGroup {
  std::vector<MmaInstruction> instructions;
  std::array<int, 4> issued{};  // by warp of the warpgroup
  int commits = 0;
};

// Executes the steps in order on the shared memory of one block.
void execute(std::span<const MmaInstruction> steps, const std::byte* smem);

}  // namespace jfa::emulator
