#include "machine/emulator/multiply.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "machine/emulator/multiply.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace jfa::emulator::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kRows = 64;
constexpr std::size_t kDepth = 16;

// Four rows by two vectors of columns: eight sums in registers.
template <class D>
HWY_INLINE void multiply_strip(D d, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                               float* HWY_RESTRICT c, std::size_t columns) {
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t row = 0; row < kRows; row += 4, a += 4 * kDepth, c += 4 * columns) {
    auto s00 = hn::LoadU(d, c), s01 = hn::LoadU(d, c + lanes);
    auto s10 = hn::LoadU(d, c + columns), s11 = hn::LoadU(d, c + columns + lanes);
    auto s20 = hn::LoadU(d, c + 2 * columns), s21 = hn::LoadU(d, c + 2 * columns + lanes);
    auto s30 = hn::LoadU(d, c + 3 * columns), s31 = hn::LoadU(d, c + 3 * columns + lanes);
    for (std::size_t k = 0; k < kDepth; ++k) {
      const auto b0 = hn::LoadU(d, b + k * columns), b1 = hn::LoadU(d, b + k * columns + lanes);
      const auto a0 = hn::Set(d, a[k]), a1 = hn::Set(d, a[kDepth + k]);
      const auto a2 = hn::Set(d, a[2 * kDepth + k]), a3 = hn::Set(d, a[3 * kDepth + k]);
      s00 = hn::MulAdd(a0, b0, s00), s01 = hn::MulAdd(a0, b1, s01);
      s10 = hn::MulAdd(a1, b0, s10), s11 = hn::MulAdd(a1, b1, s11);
      s20 = hn::MulAdd(a2, b0, s20), s21 = hn::MulAdd(a2, b1, s21);
      s30 = hn::MulAdd(a3, b0, s30), s31 = hn::MulAdd(a3, b1, s31);
    }
    hn::StoreU(s00, d, c), hn::StoreU(s01, d, c + lanes);
    hn::StoreU(s10, d, c + columns), hn::StoreU(s11, d, c + columns + lanes);
    hn::StoreU(s20, d, c + 2 * columns), hn::StoreU(s21, d, c + 2 * columns + lanes);
    hn::StoreU(s30, d, c + 3 * columns), hn::StoreU(s31, d, c + 3 * columns + lanes);
  }
}

void multiply_accumulate(const float* a, const float* b, float* c, std::size_t columns) {
  const hn::CappedTag<float, 16> wide;
  const std::size_t strip = 2 * hn::Lanes(wide);
  std::size_t column = 0;
  for (; column + strip <= columns; column += strip) {
    multiply_strip(wide, a, b + column, c + column, columns);
  }
  const hn::CappedTag<float, 4> narrow;
  const std::size_t rest = 2 * hn::Lanes(narrow);
  for (; column < columns; column += rest) {
    multiply_strip(narrow, a, b + column, c + column, columns);
  }
}

}  // namespace jfa::emulator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jfa::emulator {
HWY_EXPORT(multiply_accumulate);
void multiply_accumulate(const float* a, const float* b, float* c, std::size_t columns) {
  HWY_DYNAMIC_DISPATCH(multiply_accumulate)(a, b, c, columns);
}
}  // namespace jfa::emulator
#endif
