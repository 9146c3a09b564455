// The two 16-bit float formats, as bits.
#pragma once

#include <algorithm>
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
  if (std::isnan(value))
    return static_cast<std::uint16_t>(sign | format.infinity() | 1U << (format.mantissa_bits - 1));
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  const int min_exponent = 1 - format.bias();
  const int exponent =
      std::isinf(magnitude) ? format.bias() + 1 : std::max(std::ilogb(magnitude), min_exponent);
  if (exponent > format.bias()) return sign | format.infinity();
  // In units of the last place; a carry out of the mantissa lands in the exponent, as it should.
  const auto units = static_cast<std::uint32_t>(
      std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
  const auto biased = static_cast<std::uint32_t>(exponent - min_exponent) << format.mantissa_bits;
  return static_cast<std::uint16_t>(sign | (biased + units));
}

inline double decode_half(std::uint16_t bits, HalfFormat format) noexcept {
  const int mantissa_range = 1 << format.mantissa_bits;
  const int biased = (bits & 0x7FFF) >> format.mantissa_bits;
  const int mantissa = bits & (mantissa_range - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (biased == (1 << format.exponent_bits) - 1) return sign * (mantissa == 0 ? INFINITY : NAN);
  const int exponent = std::max(biased, 1) - format.bias() - format.mantissa_bits;
  return sign * std::ldexp(biased == 0 ? mantissa : mantissa + mantissa_range, exponent);
}

}  // namespace jfa
