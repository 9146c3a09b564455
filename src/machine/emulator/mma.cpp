#include "machine/emulator/mma.hpp"

#include <algorithm>
#include <cstring>

#include "machine/emulator/multiply.hpp"
#include "machine/emulator/tensor_memory.hpp"

namespace jfa::emulator {
namespace {

// Operands as floats, and the accumulators of one chain of steps, of up to 128 rows.
struct Workspace {
  alignas(64) std::array<float, std::size_t{kTensorLanes} * kMmaDepth> a;       // [row][depth]
  alignas(64) std::array<float, std::size_t{kMmaDepth} * kMmaMaxColumns> b;     // [depth][column]
  alignas(64) std::array<float, std::size_t{kTensorLanes} * kMmaMaxColumns> c;  // [row][column]
};
thread_local Workspace work;

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

// One k16 step of A in tensor memory: element 2 c of a row in the low half of column c.
void decode_lanes(const TensorInstruction& step, TensorMemory& tensor, float* a) {
  const HalfFormat format = format_of(step.type);
  const TensorAddress at = TensorAddress::of(step.a_address);
  for (int row = 0; row < kTensorLanes; ++row) {
    const std::uint32_t* pairs = tensor.cell(row, at.column);
    for (int c = 0; c < kMmaDepth / 2; ++c) {
      *a++ = decode_half(static_cast<std::uint16_t>(pairs[c] & 0xffffu), format);
      *a++ = decode_half(static_cast<std::uint16_t>(pairs[c] >> 16), format);
    }
  }
}

// A block's 128 rows of D; B is in `work`.
void execute_rows(const TensorInstruction& step, const TensorBlock& block) {
  const auto columns = static_cast<std::size_t>(step.columns);
  const int first = TensorAddress::of(step.d).column;
  for (int row = 0; row < kTensorLanes; ++row) {
    float* c = work.c.data() + static_cast<std::size_t>(row) * columns;
    if (step.accumulate) {
      std::memcpy(c, block.tensor->cell(row, first), columns * sizeof(float));
    } else {
      std::fill_n(c, columns, 0.0f);
    }
  }
  if (step.a_in_tensor_memory) {
    decode_lanes(step, *block.tensor, work.a.data());
  } else {
    decode_operand(step.a, format_of(step.type), block.smem, work.a.data(), kMmaDepth, 1);
  }
  for (std::size_t row = 0; row < kTensorLanes; row += kMmaRows) {
    multiply_accumulate(work.a.data() + row * kMmaDepth, work.b.data(),
                        work.c.data() + row * columns, columns);
  }
  for (int row = 0; row < kTensorLanes; ++row) {
    std::memcpy(block.tensor->cell(row, first),
                work.c.data() + static_cast<std::size_t>(row) * columns, columns * sizeof(float));
  }
}

}  // namespace

bool MmaInstruction::same_shape(const MmaInstruction& other) const {
  return type == other.type && columns == other.columns && accumulate == other.accumulate &&
         a_in_registers == other.a_in_registers && a == other.a && b == other.b;
}

void execute(std::span<const MmaInstruction> steps, const std::byte* smem) {
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

void execute(const std::vector<TensorInstruction>& steps, std::span<const TensorBlock> blocks) {
  for (const TensorInstruction& step : steps) {
    const auto columns = static_cast<std::size_t>(step.columns);
    const HalfFormat format = format_of(step.type);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      float* half = work.b.data() + i * columns / blocks.size();
      decode_operand(step.b, format, blocks[i].smem, half, 1, columns);
    }
    for (const TensorBlock& block : blocks) execute_rows(step, block);
  }
}

std::string decode_instruction(std::uint32_t descriptor, TensorInstruction& into) {
  const auto field = [&](int shift, int bits) {
    return static_cast<int>(descriptor >> shift & ((1u << bits) - 1));
  };
  const auto wrong = [](const char* what, int value, const char* allowed) {
    return "the instruction descriptor's " + std::string(what) + " is " + std::to_string(value) +
           "; allowed: " + allowed;
  };
  if (field(0, 4) != 0 || field(6, 1) != 0 || field(13, 2) != 0 || field(23, 1) != 0 ||
      field(29, 3) != 0) {
    return "the instruction descriptor asks for sparsity, saturation, negation, a shift, or sets "
           "reserved bits";
  }
  if (field(4, 2) != 1) return wrong("type of D", field(4, 2), "1 (fp32)");
  if (field(7, 3) > 1) return wrong("type of A", field(7, 3), "0 (fp16), 1 (bf16)");
  if (field(10, 3) != field(7, 3)) return wrong("type of B", field(10, 3), "that of A");
  const int rows = field(24, 5) << 4;
  const int columns = field(17, 6) << 3;
  if (rows != kTensorLanes * into.blocks) {
    return wrong("M", rows, into.blocks == 1 ? "128" : "256 of a pair");
  }
  const int least = 16 * into.blocks;
  if (columns % least != 0 || columns < least || columns > kMmaMaxColumns) {
    return wrong("N", columns, "multiples of 16, of a pair of 32, up to 256");
  }
  into.type = field(7, 3) == 1 ? MmaType::Bf16 : MmaType::Fp16;
  into.columns = columns;
  into.a.mn_major = field(15, 1) != 0;
  into.b.mn_major = field(16, 1) != 0;
  return "";
}

}  // namespace jfa::emulator
