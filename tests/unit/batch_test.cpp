// Owned tensors, 16-bit formats and generated batches.
#include "batch/batch.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "numeric/half.hpp"

namespace jfa {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Half, EveryBitPatternSurvivesARoundTrip) {
  for (const HalfFormat format : {kBf16Format, kF16Format}) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double value = decode_half(static_cast<std::uint16_t>(bits), format);
      if (std::isnan(value)) continue;
      EXPECT_EQ(encode_half(value, format), bits) << value;
    }
  }
}

TEST(Half, Bf16IsTheUpperHalfOfAFloat) {
  for (const float value : {1.5F, -3.25F, 1e-40F, 3e38F, 0.0F}) {
    const auto upper = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    EXPECT_EQ(decode_half(upper, kBf16Format),
              static_cast<double>(std::bit_cast<float>(std::uint32_t{upper} << 16)));
  }
}

TEST(Half, Fp16Values) {
  EXPECT_EQ(decode_half(0x3C00, kF16Format), 1);
  EXPECT_EQ(decode_half(0x0001, kF16Format), 0x1p-24F);  // the smallest subnormal
  EXPECT_EQ(decode_half(0x83FF, kF16Format), -0x1.FF8p-15F);
  EXPECT_EQ(decode_half(0x0400, kF16Format), 0x1p-14F);
  EXPECT_EQ(decode_half(0x7BFF, kF16Format), 65504);
  EXPECT_EQ(decode_half(0xFC00, kF16Format), -kInf);
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(encode_half(1 + 0x1p-8, kBf16Format), 0x3F80);            // tie: down to even
  EXPECT_EQ(encode_half(1 + 0x3p-8, kBf16Format), 0x3F82);            // tie: up to even
  EXPECT_EQ(encode_half(1 + 0x1p-8 + 0x1p-40, kBf16Format), 0x3F81);  // past the tie
  EXPECT_EQ(encode_half(65520, kF16Format), 0x7C00);                  // rounds past the largest
  EXPECT_EQ(encode_half(65519, kF16Format), 0x7BFF);
  EXPECT_EQ(encode_half(0x1p-25, kF16Format), 0);  // half the smallest subnormal, a tie
  EXPECT_EQ(encode_half(-kInf, kBf16Format), 0xFF80);
  EXPECT_TRUE(std::isnan(decode_half(encode_half(NAN, kF16Format), kF16Format)));
}

TEST(RandomTensor, IsStandardNormalAndRepeatable) {
  const HostTensor a = random_tensor(DType::kF32, {1000, 10, 11}, 7);
  const HostTensor b = random_tensor(DType::kF32, {1000, 10, 11}, 7);
  double sum = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a.at(i), b.at(i));
    sum += a.at(i);
    squares += a.at(i) * a.at(i);
  }
  const auto n = static_cast<double>(a.size());
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2 / n));
}

Case small_case() {
  Case c;
  c.dtype = DType::kF32;
  c.kv_lengths = {3, 0, 5};
  c.q_lengths = {2, 4, 5};
  return c;
}

TEST(UnmaskedPairs, CountsWhatTheMasksLeave) {
  Case c = small_case();
  EXPECT_EQ(unmasked_pairs(make_batch(c, 1)), 2 * 3 + 0 + 5 * 5);
  c.causal = true;  // 2 queries on 3 keys see 2 and 3; 5 on 5 see 1 .. 5
  EXPECT_EQ(unmasked_pairs(make_batch(c, 1)), 5 + 15);
  c.causal = false;
  c.window = {1, 0};
  EXPECT_EQ(unmasked_pairs(make_batch(c, 1)), (2 + 2) + (1 + 2 + 2 + 2 + 2));
}

TEST(UnmaskedPairs, CountsBlockLists) {
  Case c = small_case();
  c.kv_lengths = {200};
  c.q_lengths = {130};
  c.block_sparse = BlockPattern{64, 64, 0, 1};
  // 3 query blocks (64, 64, 2 rows), 4 key blocks (64, 64, 64, 8 keys): i sees i + 1, and block 0.
  EXPECT_EQ(unmasked_pairs(make_batch(c, 1)), 64 * 128 + 64 * 128 + 2 * (64 + 8));
}

TEST(MakeBatch, BroadcastQueriesHaveNoOffsets) {
  Case c = small_case();
  c.broadcast_q = true;
  c.q_length = 7;
  const Batch batch = make_batch(c, 1);
  EXPECT_FALSE(batch.inputs().q_offsets.has_value());
  EXPECT_EQ(batch.out_rows(), 21);
}

TEST(RelativeError, IsFrobeniusAndSeesNan) {
  HostTensor a(DType::kF32, {2});
  a.set(0, 3);
  a.set(1, 4);
  EXPECT_NEAR(relative_error(a, {3, 5}), 1 / std::sqrt(34.0), 1e-12);
  a.set(0, -kInf);
  EXPECT_EQ(relative_error(a, {-kInf, 4}), 0);
  a.set(0, NAN);
  EXPECT_TRUE(std::isnan(relative_error(a, {3, 4})));
}

}  // namespace
}  // namespace jfa
