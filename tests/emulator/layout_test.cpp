// Layouts against their definitions, written out a second way.
#include "machine/emulator/layout.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "machine/emulator/mma.hpp"
#include "machine/emulator/tensor_memory.hpp"

namespace jfa::emulator {
namespace {

// The PTX ISA's pictures of the swizzles: within 8 rows of `span` bytes, 16-byte chunk c of row r
// is kept at chunk c ^ (r * span / 128 % 8), for spans of 128, 64 and 32.
TEST(Layout, SwizzlePermutesChunksOfEightRows) {
  for (const int span : {32, 64, 128}) {
    std::set<std::uint32_t> seen;
    for (int row = 0; row < 16; ++row) {
      for (int chunk = 0; chunk < span / 16; ++chunk) {
        const auto plain = static_cast<std::uint32_t>(row * span + chunk * 16);
        const int turned = chunk ^ (row * span / 128 % (span / 16));
        const auto want = static_cast<std::uint32_t>(row * span + turned * 16);
        EXPECT_EQ(swizzle(plain, span), want) << "span " << span << " row " << row;
        seen.insert(swizzle(plain, span));
      }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(16 * span / 16));
  }
  EXPECT_EQ(swizzle(12345u, 0), 12345u);
}

TensorMap plain_map(std::byte* base) {
  TensorMap map;
  map.base = base;
  map.rank = 2;
  map.dims = {24, 5};
  map.strides = {64};
  map.box = {16, 4};
  return map;
}

TEST(Layout, BoxIsClippedOnEverySide) {
  alignas(16) std::byte memory[512];
  const TensorMap map = plain_map(memory);
  ASSERT_EQ(map.error(), "");
  const int at[] = {-4, 3};
  const auto rows = box_rows(map, at);
  ASSERT_EQ(rows.size(), 4u);
  for (std::size_t r = 0; r < 4; ++r) {
    EXPECT_EQ(rows[r].shared, r * 32);
    if (r >= 2) {
      EXPECT_EQ(rows[r].valid, 0u);  // rows 5 and 6 are past the end
      continue;
    }
    EXPECT_EQ(rows[r].global, memory + (3 + r) * 64);
    EXPECT_EQ(rows[r].skip, 8u);    // four elements left of the tensor
    EXPECT_EQ(rows[r].valid, 24u);  // twelve inside
  }
  const int right[] = {16, 0};
  EXPECT_EQ(box_rows(map, right)[0].valid, 16u);
  EXPECT_EQ(box_rows(map, right)[0].skip, 0u);
}

// One map for all sequences of a jagged tensor: 64-bit wrapping selects the rows of one.
TEST(Layout, RaggedMapStopsAtTheEndOfItsSequence) {
  constexpr int kDim = 64, kHeads = 2, kRow = kDim * kHeads * 2, kZero = 1 << 30;
  std::vector<std::byte> memory(1 << 16);
  auto* base = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(memory.data()) + 127) / 128 * 128);
  TensorMap map;
  map.base = base;
  map.rank = 5;
  map.dims = {kDim, kHeads, kZero, 0x7fff0000, 0x7fff0000};
  map.strides = {kDim * 2, kRow, kRow, (std::uint64_t{1} << 34) - kRow};
  map.box = {kDim, 1, 8, 1, 1};
  map.swizzle_span = 128;
  ASSERT_EQ(map.error(), "");
  const int offset = 37, length = 11, first = 8, head = 1;
  const int at[] = {0, head, kZero - length + first, offset + length, kZero};
  const auto rows = box_rows(map, at);
  ASSERT_EQ(rows.size(), 8u);
  for (int r = 0; r < 8; ++r) {
    const auto& row = rows[static_cast<std::size_t>(r)];
    if (first + r < length) {
      EXPECT_EQ(row.global, base + (offset + first + r) * kRow + head * kDim * 2);
      EXPECT_EQ(row.valid, 128u);
    } else {
      EXPECT_EQ(row.valid, 0u);
    }
  }
}

TEST(Layout, RefusedMapsNameTheArgument) {
  alignas(16) std::byte memory[512];
  TensorMap map = plain_map(memory);
  map.strides[0] = 40;
  EXPECT_EQ(map.error(), "strides[0] is 40; allowed: multiples of 16 bytes below 2^40");
  map = plain_map(memory);
  map.box[1] = 257;
  EXPECT_EQ(map.error(), "box[1] is 257; allowed: 1 to 256");
  map = plain_map(memory);
  map.swizzle_span = 128;
  EXPECT_NE(map.error(), "");
}

std::uint64_t descriptor(std::uint32_t offset, std::uint32_t leading, std::uint32_t stride,
                         std::uint64_t mode) {
  return (kSharedBase + offset) / 16 | std::uint64_t{leading / 16} << 16 |
         std::uint64_t{stride / 16} << 32 | mode << 62;
}

// Unswizzled: 8 x 16-byte cores, each contiguous; LBO and SBO are the distances of cores.
TEST(Layout, UnswizzledDescriptorsStepByCores) {
  const OperandLayout along_k{descriptor(0, 256, 512, 0), false, 16};
  const auto& k = chunks(along_k);
  ASSERT_EQ(k.size(), 32u);
  EXPECT_EQ(k[2 * 3 + 0], 3u * 16);         // row 3, first half of the depth
  EXPECT_EQ(k[2 * 3 + 1], 3u * 16 + 256);   // second half: one leading step
  EXPECT_EQ(k[2 * 11 + 0], 3u * 16 + 512);  // row 11: one stride step
  const OperandLayout along_mn{descriptor(0, 256, 512, 0), true, 16};
  const auto& mn = chunks(along_mn);
  EXPECT_EQ(mn[16 * 1 + 0], 512u);       // rows 8 to 15: one stride step
  EXPECT_EQ(mn[16 * 0 + 9], 256u + 16);  // depth 9: one leading step, second line
}

float as_float(std::uint16_t bits) { return decode_half(bits, kBf16Format); }

// An MMA on operands written through the swizzle by definition, against plain loops.
TEST(Layout, MmaReadsSwizzledOperands) {
  constexpr int kColumns = 64;
  std::vector<std::byte> smem(32768);
  std::mt19937 random(3);
  std::vector<std::uint16_t> a(64 * 64), b(64 * kColumns);
  for (auto* values : {&a, &b}) {
    for (auto& x : *values) x = encode_half(static_cast<int>(random() % 9) - 4, kBf16Format);
  }
  const auto put = [&](std::uint32_t at, std::uint16_t value) {
    std::memcpy(smem.data() + swizzle(at, 128), &value, 2);
  };
  for (std::uint32_t row = 0; row < 64; ++row) {
    for (std::uint32_t k = 0; k < 64; ++k) {
      put(row * 128 + k * 2, a[row * 64 + k]);
      put(16384 + k * 128 + row * 2, b[row * 64 + k]);  // stored [depth][column]
    }
  }
  std::vector<std::array<float, kColumns / 2>> registers(kWarpgroupLanes);
  std::vector<MmaInstruction> steps;
  for (std::uint32_t k = 0; k < 4; ++k) {
    MmaInstruction step;
    step.columns = kColumns;
    step.accumulate = k != 0;
    step.a = {descriptor(k * 32, 16, 1024, 1), false, 64};
    step.b = {descriptor(16384 + k * 2048, 8192, 1024, 1), true, kColumns};
    for (std::size_t t = 0; t < kWarpgroupLanes; ++t) step.accumulators[t] = registers[t].data();
    steps.push_back(step);
  }
  execute(steps, smem.data());
  for (std::size_t t = 0; t < kWarpgroupLanes; ++t) {
    for (std::size_t i = 0; i < kColumns / 2; ++i) {
      const std::size_t row = 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2);
      const std::size_t column = 8 * (i / 4) + 2 * (t % 4) + i % 2;
      float want = 0;
      for (std::size_t k = 0; k < 64; ++k)
        want += as_float(a[row * 64 + k]) * as_float(b[column * 64 + k]);
      ASSERT_EQ(registers[t][i], want) << "thread " << t << " value " << i;
    }
  }
}

// Fields of tcgen05's descriptors, as the PTX ISA's tables place them.
TEST(TensorDescriptors, MatrixFields) {
  constexpr std::uint64_t kGood = std::uint64_t{1} << 46 | std::uint64_t{2} << 61;
  EXPECT_EQ(tensor_descriptor_error({.descriptor = kGood}), "");
  for (const std::uint64_t wrong :
       {std::uint64_t{2} << 61, kGood | std::uint64_t{1} << 47, kGood | std::uint64_t{1} << 52,
        kGood | std::uint64_t{1} << 60, kGood | std::uint64_t{1} << 61}) {
    EXPECT_NE(tensor_descriptor_error({.descriptor = wrong}), "") << std::hex << wrong;
  }
}

TEST(TensorDescriptors, InstructionFields) {
  constexpr std::uint32_t kGood = 1u << 4 | 1u << 7 | 1u << 10 | 96u / 8 << 17 | 128u / 16 << 24;
  TensorInstruction made;
  EXPECT_EQ(decode_instruction(kGood | 1u << 16, made), "");
  EXPECT_EQ(made.type, MmaType::Bf16);
  EXPECT_EQ(made.columns, 96);
  EXPECT_FALSE(made.a.mn_major);
  EXPECT_TRUE(made.b.mn_major);
  EXPECT_EQ(decode_instruction(kGood & ~(1u << 7 | 1u << 10), made), "");
  EXPECT_EQ(made.type, MmaType::Fp16);
  // A sparse matrix, an fp16 result, two types, a negation, N of 104, M of 64.
  for (const std::uint32_t flip : {1u << 2, 1u << 4, 1u << 7, 1u << 13, 1u << 17, 12u << 24}) {
    EXPECT_NE(decode_instruction(kGood ^ flip, made), "") << std::hex << flip;
  }
}

}  // namespace
}  // namespace jfa::emulator
