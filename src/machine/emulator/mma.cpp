#include "machine/emulator/mma.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "machine/emulator/multiply.hpp"

namespace jfa::emulator {
namespace {

float bf16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float fp16_to_float(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t exponent = bits >> 10 & 31u;
  std::uint32_t mantissa = bits & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    const int shift = std::countl_zero(mantissa) - 21;
    mantissa = mantissa << shift & 1023u;
    exponent = static_cast<std::uint32_t>(1 - shift);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (size >= 65520.0f) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (size < 0x1p-14f) {  // subnormal: units of 2^-24
    return static_cast<std::uint16_t>(sign | static_cast<unsigned>(std::nearbyint(size * 0x1p24f)));
  }
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

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
void decode_operand(const OperandLayout& layout, MmaType type, const std::byte* smem, float* out,
                    std::size_t row_stride, std::size_t depth_stride) {
  const auto& where = chunks(layout);
  for (std::size_t c = 0; c < where.size(); ++c) {
    const Chunk chunk = load(smem, where[c]);
    const std::size_t row = layout.mn_major ? c / 16 * 8 : c / 2;
    const std::size_t depth = layout.mn_major ? c % 16 : c % 2 * 8;
    const std::size_t step = layout.mn_major ? row_stride : depth_stride;
    float* to = out + row * row_stride + depth * depth_stride;
    for (std::size_t i = 0; i < chunk.size(); ++i) to[i * step] = half_to_float(chunk[i], type);
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
  for (std::size_t thread = 0; thread < kWarpgroupLanes; ++thread) {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t pair = step.a_registers[thread][i];
      float* to = a + fragment_row(thread, i) * kMmaDepth + fragment_column(thread, i);
      to[0] = half_to_float(static_cast<std::uint16_t>(pair & 0xffffu), step.type);
      to[1] = half_to_float(static_cast<std::uint16_t>(pair >> 16), step.type);
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

float half_to_float(std::uint16_t bits, MmaType type) {
  return type == MmaType::Bf16 ? bf16_to_float(bits) : fp16_to_float(bits);
}

std::uint16_t to_half(float value, MmaType type) {
  return type == MmaType::Bf16 ? to_bf16(value) : to_fp16(value);
}

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
      decode_operand(step.a, step.type, smem, work.a.data(), kMmaDepth, 1);
    }
    decode_operand(step.b, step.type, smem, work.b.data(), 1, columns);
    multiply_accumulate(work.a.data(), work.b.data(), work.c.data(), columns);
    if (s + 1 < steps.size() && same_accumulators(step, steps[s + 1])) continue;
    for_each_pair(step, [&](float* pair, std::size_t at) {
      pair[0] = work.c[at];
      pair[1] = work.c[at + 1];
    });
  }
}

}  // namespace jfa::emulator
