// The two 16-bit float formats, as bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace jfa {

/// A binary format of 1 sign bit, `exponent_bits` and `mantissa_bits` (IEEE 754 rules).
struct HalfFormat {
  int exponent_bits;
  int mantissa_bits;

  constexpr int bias() const noexcept { return (1 << (exponent_bits - 1)) - 1; }
  constexpr std::uint16_t infinity() const noexcept {
    return static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  }
};
inline constexpr HalfFormat kBf16Format{8, 7};
inline constexpr HalfFormat kF16Format{5, 10};

/// Rounds to nearest, ties to even, in one step (not through fp32).
inline std::uint16_t encode_half(double value, HalfFormat format) noexcept {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | format.infinity() | 1U << (format.mantissa_bits - 1));
  }
  constexpr int kBias = 1023;  // of double, whose mantissa has 52 bits
  const double magnitude = std::abs(value);
  const int min_exponent = 1 - format.bias();
  const int own_exponent = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52) - kBias;
  const int exponent = std::max(own_exponent, min_exponent);
  if (exponent > format.bias()) return sign | format.infinity();
  const auto unit = static_cast<std::uint64_t>(kBias + format.mantissa_bits - exponent) << 52;
  // In units of the last place; a carry out of the mantissa lands in the exponent, as it should.
  const double rounded = magnitude * std::bit_cast<double>(unit) + 0x1p52 - 0x1p52;
  const auto units = static_cast<std::uint32_t>(rounded);
  const auto biased = static_cast<std::uint32_t>(exponent - min_exponent) << format.mantissa_bits;
  return static_cast<std::uint16_t>(sign | (biased + units));
}

/// Exact.
inline float decode_half(std::uint16_t bits, HalfFormat format) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFF)
                                  << (23 - format.mantissa_bits);
  if ((bits & 0x7FFF) >= format.infinity()) {
    return std::bit_cast<float>(sign | 0x7F800000 | magnitude);
  }
  // The exponent is still that of the narrow format; multiplying shifts it, subnormal or not.
  const auto scale = static_cast<std::uint32_t>(254 - format.bias()) << 23;
  const float shifted = std::bit_cast<float>(magnitude) * std::bit_cast<float>(scale);
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(shifted));
}

}  // namespace jfa
