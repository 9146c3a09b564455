// The exponential of the softmax.
#if defined(JFA_CPU_MATH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef JFA_CPU_MATH_INL_HPP
#undef JFA_CPU_MATH_INL_HPP
#else
#define JFA_CPU_MATH_INL_HPP
#endif

#include "cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace jfa::cpu::HWY_NAMESPACE {

/// e^x for x up to 88, within a relative error of 2^-22 + |x| 2^-24, the latter no more than what
/// the rounding of x itself causes; exactly 1 at 0, 0 below -87 (where the result would soon be
/// subnormal), NaN of NaN.
///
/// x = n ln 2 + f with |f| <= ln 2 / 2. Adding 1.5 * 2^23 rounds x / ln 2 to the integer n and
/// leaves it in the low bits, from where a shift moves it to the exponent. ln 2 in one piece errs
/// by less than the rounding of a score of that size does. The polynomial is the minimax of
/// relative error, 9.2e-8, with its constant term fixed at 1.
HWY_INLINE Vec exp(Vec x) {
  const Floats d;
  const hn::RebindToSigned<Floats> i;
  const Vec round = hn::Set(d, 12582912.0f);
  const Vec shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), round);
  const Vec n = hn::Sub(shifted, round);
  const Vec f = hn::NegMulAdd(n, hn::Set(d, 0.693147181f), x);
  Vec p = hn::Set(d, 8.29027173e-3f);
  p = hn::MulAdd(p, f, hn::Set(d, 4.18981612e-2f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.66676387e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 4.99991477e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 9.99999702e-1f));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(i, shifted));
  const Vec power = hn::BitCast(d, hn::Add(hn::BitCast(i, p), exponent));
  const Vec value = hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.0f)), hn::Zero(d), power);
  return hn::IfThenElse(hn::IsNaN(x), x, value);  // its low bits may have reached the exponent
}

}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
