// Rows of tensors to fp32 tiles and back, and the transpose of a tile.
#if defined(JFA_CPU_ROWS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef JFA_CPU_ROWS_INL_HPP
#undef JFA_CPU_ROWS_INL_HPP
#else
#define JFA_CPU_ROWS_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/rows.hpp"
#include "cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace jfa::cpu::HWY_NAMESPACE {

/// How elements of a dtype are widened to fp32 and rounded from it.
template <DType kDType>
struct Element;

template <>
struct Element<DType::kF32> {
  using Storage = float;
  static HWY_INLINE Vec load(const float* p) { return hn::LoadU(Floats(), p); }
  static HWY_INLINE void store(Vec v, float* p) { hn::StoreU(v, Floats(), p); }
};

/// Done on integers: without an instruction for it, the library's own conversions neither round to
/// nearest nor keep infinities.
template <>
struct Element<DType::kF16> {
  using Storage = std::uint16_t;
  using Bits = hn::Rebind<std::uint16_t, Floats>;
  using Words = hn::Rebind<std::uint32_t, Floats>;
  static HWY_INLINE Vec load(const std::uint16_t* p) {
    const Floats d;
    const Words w;
    const auto half = hn::PromoteTo(w, hn::LoadU(Bits(), p));
    const auto magnitude = hn::And(half, hn::Set(w, 0x7fffu));
    const auto sign = hn::ShiftLeft<16>(hn::Sub(half, magnitude));
    // The exponent's bias rises from 15 to 127, and the greatest exponent to the greatest.
    const auto scaled = hn::Add(hn::ShiftLeft<13>(magnitude), hn::Set(w, 112u << 23));
    const auto infinite = hn::Gt(magnitude, hn::Set(w, 0x7bffu));
    const auto normal = hn::IfThenElse(infinite, hn::Or(scaled, hn::Set(w, 0x7f800000u)), scaled);
    // A subnormal is read as 2^-14 plus itself.
    const auto implied = hn::BitCast(d, hn::Add(scaled, hn::Set(w, 1u << 23)));
    const auto small = hn::BitCast(w, hn::Sub(implied, hn::Set(d, 0x1p-14f)));
    const auto subnormal = hn::Lt(magnitude, hn::Set(w, 0x400u));
    return hn::BitCast(d, hn::Or(hn::IfThenElse(subnormal, small, normal), sign));
  }
  /// Rounds to nearest even; a NaN stays one.
  static HWY_INLINE void store(Vec v, std::uint16_t* p) {
    const Floats d;
    const Words w;
    const Vec magnitude = hn::Abs(v);
    const auto bits = hn::BitCast(w, magnitude);
    const auto sign = hn::ShiftRight<16>(hn::Xor(bits, hn::BitCast(w, v)));
    // Normal: the exponent's bias falls from 127 to 15 and the lowest 13 bits are rounded away.
    const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(w, 1u));
    const auto rounded = hn::Sub(hn::Add(bits, odd), hn::Set(w, (112u << 23) - 0xfffu));
    // Subnormal: at 0.5 a float's last place is 2^-24, the half's, so that adding 0.5 rounds.
    const Vec half = hn::Set(d, 0.5f);
    const auto small = hn::Sub(hn::BitCast(w, hn::Add(magnitude, half)), hn::BitCast(w, half));
    const auto finite = hn::IfThenElse(hn::RebindMask(w, hn::Lt(magnitude, hn::Set(d, 0x1p-14f))),
                                       small, hn::ShiftRight<13>(rounded));
    const auto past =
        hn::IfThenElse(hn::RebindMask(w, hn::IsNaN(v)), hn::Set(w, 0x7e00u), hn::Set(w, 0x7c00u));
    const auto fits = hn::RebindMask(w, hn::Lt(magnitude, hn::Set(d, 0x1p16f)));
    const auto result = hn::Or(hn::IfThenElse(fits, finite, past), sign);
    const hn::RebindToSigned<Words> i;  // values below 2^16: the saturating demotion is exact
    hn::StoreU(hn::DemoteTo(Bits(), hn::BitCast(i, result)), Bits(), p);
  }
};

/// The upper half of a float. Done on integers: what the library's own demotion does about rounding
/// differs between its versions and targets.
template <>
struct Element<DType::kBf16> {
  using Storage = std::uint16_t;
  using Bits = hn::Rebind<std::uint16_t, Floats>;
  using Words = hn::Rebind<std::uint32_t, Floats>;
  static HWY_INLINE Vec load(const std::uint16_t* p) {
    const auto words = hn::PromoteTo(Words(), hn::LoadU(Bits(), p));
    return hn::BitCast(Floats(), hn::ShiftLeft<16>(words));
  }
  /// Rounds to nearest even; a NaN stays one.
  static HWY_INLINE void store(Vec v, std::uint16_t* p) {
    const Words w;
    const auto bits = hn::BitCast(w, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(w, 1u));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(w, 0x7fffu)));
    const auto quiet = hn::Or(bits, hn::Set(w, 0x400000u));
    const auto kept = hn::IfThenElse(hn::RebindMask(w, hn::IsNaN(v)), quiet, rounded);
    const hn::RebindToSigned<Words> i;  // values below 2^16: the saturating demotion is exact
    hn::StoreU(hn::DemoteTo(Bits(), hn::BitCast(i, hn::ShiftRight<16>(kept))), Bits(), p);
  }
};

template <DType kDType>
void widen_row(const std::byte* source, std::int64_t count, float* row) {
  using Storage = typename Element<kDType>::Storage;
  const Floats d;
  const auto* from = reinterpret_cast<const Storage*>(source);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) hn::Store(Element<kDType>::load(from + i), d, row + i);
  if (i == count) return;
  Storage tail[kLanes] = {};
  std::memcpy(tail, from + i, static_cast<std::size_t>(count - i) * sizeof(Storage));
  hn::Store(Element<kDType>::load(tail), d, row + i);
}

template <DType kDType>
void round_row(const float* row, float factor, std::int64_t count, std::byte* destination) {
  using Storage = typename Element<kDType>::Storage;
  const Floats d;
  const Vec f = hn::Set(d, factor);
  auto* to = reinterpret_cast<Storage*>(destination);
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Element<kDType>::store(hn::Mul(hn::Load(d, row + i), f), to + i);
  }
  if (i == count) return;
  Storage tail[kLanes];
  Element<kDType>::store(hn::Mul(hn::Load(d, row + i), f), tail);
  std::memcpy(to + i, tail, static_cast<std::size_t>(count - i) * sizeof(Storage));
}

/// Widens all rows of `source` into rows of a tile, which are `stride` floats apart; columns from
/// `columns` up to the next whole vector become zero.
template <DType kDType>
void widen_rows(const RowsView<const std::byte>& source, std::int64_t columns, float* tile,
                std::int64_t stride) {
  for (std::int64_t i = 0; i < source.rows; ++i) {
    for (std::int64_t h = 0; h < source.heads; ++h, tile += stride) {
      widen_row<kDType>(source.row(i, h), columns, tile);
    }
  }
}

inline void load_rows(DType dtype, const RowsView<const std::byte>& source, std::int64_t columns,
                      float* tile, std::int64_t stride) {
  switch (dtype) {
    case DType::kBf16:
      return widen_rows<DType::kBf16>(source, columns, tile, stride);
    case DType::kF16:
      return widen_rows<DType::kF16>(source, columns, tile, stride);
    default:
      return widen_rows<DType::kF32>(source, columns, tile, stride);
  }
}

/// Rounds rows of a tile, each multiplied by its factor, into the rows of `destination`.
template <DType kDType, typename Factor>
void round_rows(const float* tile, std::int64_t stride, std::int64_t columns,
                const RowsView<std::byte>& destination, Factor factor) {
  std::int64_t r = 0;
  for (std::int64_t i = 0; i < destination.rows; ++i) {
    for (std::int64_t h = 0; h < destination.heads; ++h, ++r) {
      round_row<kDType>(tile + r * stride, factor(r), columns, destination.row(i, h));
    }
  }
}

template <typename Factor>
void store_rows(DType dtype, const float* tile, std::int64_t stride, std::int64_t columns,
                const RowsView<std::byte>& destination, Factor factor) {
  switch (dtype) {
    case DType::kBf16:
      return round_rows<DType::kBf16>(tile, stride, columns, destination, factor);
    case DType::kF16:
      return round_rows<DType::kF16>(tile, stride, columns, destination, factor);
    default:
      return round_rows<DType::kF32>(tile, stride, columns, destination, factor);
  }
}

/// The inner product of two rows of `vectors` vectors.
inline float dot(const float* a, const float* b, std::int64_t vectors) {
  const Floats d;
  Vec sum = hn::Zero(d);
  for (std::int64_t i = 0; i < vectors * kLanes; i += kLanes) {
    sum = hn::MulAdd(hn::Load(d, a + i), hn::Load(d, b + i), sum);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// total += row.
inline void add_row(const float* row, std::int64_t vectors, float* total) {
  const Floats d;
  for (std::int64_t i = 0; i < vectors * kLanes; i += kLanes) {
    hn::Store(hn::Add(hn::Load(d, total + i), hn::Load(d, row + i)), d, total + i);
  }
}

/// Four rows by four columns, 128 bits a row.
HWY_INLINE void transpose_4x4(const float* HWY_RESTRICT from, std::int64_t from_stride,
                              float* HWY_RESTRICT to, std::int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 4; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
#else
  const hn::FixedTag<float, 4> d;
  const auto a = hn::Load(d, from);
  const auto b = hn::Load(d, from + from_stride);
  const auto c = hn::Load(d, from + 2 * from_stride);
  const auto e = hn::Load(d, from + 3 * from_stride);
  const auto ab_low = hn::InterleaveLower(d, a, b);
  const auto ab_high = hn::InterleaveUpper(d, a, b);
  const auto ce_low = hn::InterleaveLower(d, c, e);
  const auto ce_high = hn::InterleaveUpper(d, c, e);
  hn::Store(hn::ConcatLowerLower(d, ce_low, ab_low), d, to);
  hn::Store(hn::ConcatUpperUpper(d, ce_low, ab_low), d, to + to_stride);
  hn::Store(hn::ConcatLowerLower(d, ce_high, ab_high), d, to + 2 * to_stride);
  hn::Store(hn::ConcatUpperUpper(d, ce_high, ab_high), d, to + 3 * to_stride);
#endif
}

/// The transpose of a tile of `rows` x `columns`, both rounded up to multiples of four.
inline void transpose(const float* tile, std::int64_t stride, std::int64_t rows,
                      std::int64_t columns, float* transposed, std::int64_t transposed_stride) {
  for (std::int64_t c = 0; c < columns; c += 4) {
    for (std::int64_t r = 0; r < rows; r += 4) {
      transpose_4x4(tile + r * stride + c, stride, transposed + c * transposed_stride + r,
                    transposed_stride);
    }
  }
}

/// The transpose of each panel of a query tile, `[depth, kPanel]` one after the other. Zeroes the
/// rows after the tile's last that its last vector of lanes takes in.
inline void transpose_panels(float* tile, std::int64_t stride, std::int64_t rows,
                             std::int64_t depth, float* panels) {
  const std::int64_t padded = round_up(rows, kCacheLineFloats);
  std::fill_n(tile + rows * stride, (padded - rows) * stride, 0.0f);
  for (std::int64_t row = 0; row < padded; row += kPanel) {
    transpose(tile + row * stride, stride, std::min(padded - row, kPanel), depth,
              panels + row * depth, kPanel);
  }
}

}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
