#include "machine/emulator/mma.hpp"

#include <algorithm>
#include <cstring>

#include "machine/emulator/multiply.hpp"

namespace jfa::emulator {
namespace {

// Operands as floats, and the accumulators of one chain of steps.
struct Workspace {
  alignas(64) std::array<float, std::size_t{kMmaRows} * kMmaDepth> a;        // [row][depth]
  alignas(64) std::array<float, std::size_t{kMmaDepth} * kMmaMaxColumns> b;  // [depth][column]
  alignas(64) std::array<float, std::size_t{kMmaRows} * kMmaMaxColumns> c;   // [row][column]
};

using Chunk = std::array<std::uint16_t, 8>;

Chunk load(const std::byte* smem, std::uint32_t offset) {
  Chunk chunk;
  std::memcpy(chunk.data(), smem + offset, sizeof(chunk));
  return chunk;
}

// Decodes into out[row * row_stride + depth * depth_stride].
void decode_operand(const OperandLayout& layout, HalfFormat format, const std::byte* smem,
                    float* out, std::size_t row_stride, std::size_t depth_stride) {
  const auto& where = chunks(layout);
  for (std::size_t c = 0; c < where.size(); ++c) {
    const Chunk chunk = load(smem, where[c]);
    const std::size_t row = layout.mn_major ? c / 16 * 8 : c / 2;
    const std::size_t depth = layout.mn_major ? c % 16 : c % 2 * 8;
    const std::size_t step = layout.mn_major ? row_stride : depth_stride;
    float* to = out + row * row_stride + depth * depth_stride;
    for (std::size_t i = 0; i < chunk.size(); ++i) to[i * step] = decode_half(chunk[i], format);
  }
}

// The row and first column or depth of registers 2 i, 2 i + 1 of a thread, as PTX lays out
// wgmma's D and A fragments.
std::size_t fragment_row(std::size_t thread, std::size_t i) {
  return thread / 32 * 16 + thread % 32 / 4 + 8 * (i & 1);
}
std::size_t fragment_column(std::size_t thread, std::size_t i) {
  return 8 * (i >> 1) + 2 * (thread % 4);
}

void decode_registers(const MmaInstruction& step, float* a) {
  const HalfFormat format = format_of(step.type);
  for (std::size_t thread = 0; thread < kWarpgroupLanes; ++thread) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t pair = step.a_registers[thread][i];
      float* to = a + fragment_row(thread, i) * kMmaDepth + fragment_column(thread, i);
      to[0] = decode_half(static_cast<std::uint16_t>(pair & 0xffffu), format);
      to[1] = decode_half(static_cast<std::uint16_t>(pair >> 16), format);
    }
  }
}

template <class Fn>
void for_each_pair(const MmaInstruction& step, Fn fn) {
  const auto pairs = static_cast<std::size_t>(step.columns / 4);
  for (std::size_t thread = 0; thread < kWarpgroupLanes; ++thread) {
    for (std::size_t i = 0; i < pairs; ++i) {
      fn(step.accumulators[thread] + 2 * i,
         fragment_row(thread, i) * static_cast<std::size_t>(step.columns) +
             fragment_column(thread, i));
    }
  }
}

bool same_accumulators(const MmaInstruction& a, const MmaInstruction& b) {
  return a.columns == b.columns && a.accumulators == b.accumulators;
}

}  // namespace

bool MmaInstruction::same_shape(const MmaInstruction& other) const {
  return type == other.type && columns == other.columns && accumulate == other.accumulate &&
         a_in_registers == other.a_in_registers && a == other.a && b == other.b;
}

void execute(std::span<const MmaInstruction> steps, const std::byte* smem) {
  thread_local Workspace work;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const MmaInstruction& step = steps[s];
    const auto columns = static_cast<std::size_t>(step.columns);
    const bool continues = s > 0 && same_accumulators(steps[s - 1], step);
    if (!step.accumulate) {
      std::fill_n(work.c.begin(), kMmaRows * columns, 0.0f);
    } else if (!continues) {
      for_each_pair(step, [&](const float* pair, std::size_t at) {
        work.c[at] = pair[0];
        work.c[at + 1] = pair[1];
      });
    }
    if (step.a_in_registers) {
      decode_registers(step, work.a.data());
    } else {
      decode_operand(step.a, format_of(step.type), smem, work.a.data(), kMmaDepth, 1);
    }
    decode_operand(step.b, format_of(step.type), smem, work.b.data(), 1, columns);
    multiply_accumulate(work.a.data(), work.b.data(), work.c.data(), columns);
    if (s + 1 < steps.size() && same_accumulators(step, steps[s + 1])) continue;
    for_each_pair(step, [&](float* pair, std::size_t at) {
      pair[0] = work.c[at];
      pair[1] = work.c[at + 1];
    });
  }
}

}  // namespace jfa::emulator
