// Softmax over keys that arrive in blocks, rows at a time.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kLn2 = 0.693147181F;

/// What a thread knows of its rows after some blocks. Scores are in units of log2.
template <class M, int Rows = 2>
struct RowState {
  using Values = RowValues<M, Rows>;
  Values shift;  ///< what is subtracted from scores; -inf before the first finite one
  Values sum;    ///< of exp2(score - shift), the calling thread's part

  static JFA_DEVICE RowState none() { return {Values::all(-__builtin_inff()), Values::all(0)}; }
};

template <class M, int Rows>
JFA_DEVICE RowValues<M, Rows> finite_or_zero(const RowValues<M, Rows>& x) {
  return x.map([](float v) { return v == -__builtin_inff() ? 0.0F : v; });
}

/// Brings the rows' shift up to date with scale * s, if some row of the warp has outgrown it, and
/// says whether so; `factor` is then by what was summed before must be scaled, as `rows.sum` is.
/// `scale` is positive. NOTE [lazy shift]: the shift follows a row's maximum only when that has
/// grown by more than kSlack, so that most blocks leave sums and outputs unscaled, and maxima to
/// the lanes that hold them. Terms stay below 2^kSlack, which fp32 sums and both 16-bit formats
/// hold without loss.
template <class M, int Rows>
JFA_DEVICE bool move_shift(auto& s, RowState<M, Rows>& rows, RowValues<M, Rows>& factor,
                           float scale) {
  constexpr float kSlack = 8;
  const auto part = partial_row_max(s) * scale;
  bool outgrown = false;
  for (const float growth : (part - rows.shift).values) outgrown = outgrown || growth > kSlack;
  if (!M::any(outgrown)) return false;
  const auto shift = rows.shift.with(
      max_across_lanes(part), [](float old, float now) { return now - old > kSlack ? now : old; });
  factor = exp2(rows.shift - finite_or_zero(shift));
  rows.sum = rows.sum * factor;
  rows.shift = shift;
  return true;
}

/// s = exp2(scale * s - shift), added to the rows' sum, in the columns Begin .. End - 1.
template <int Begin, int End, class M, int N>
JFA_DEVICE void exponentiate(Fragment<M, N>& s, RowState<M>& rows, float scale) {
  s.template map_rows<Begin, End>(finite_or_zero(rows.shift), [scale](float v, float m) {
    return M::exp2(M::fma(v, scale, -m));
  });
  rows.sum = rows.sum + partial_row_sum<Begin, End>(s);
}

/// 1 / sum over all lanes of a row, 0 for a row that saw nothing.
template <class M, int Rows>
JFA_DEVICE RowValues<M, Rows> inverse(const RowValues<M, Rows>& sum) {
  return sum.map([](float x) { return x == 0 ? 0.0F : M::reciprocal(x); });
}

/// Natural-log log-sum-exp; -inf for a row that saw nothing.
template <class M, int Rows>
JFA_DEVICE RowValues<M, Rows> log_sum_exp(const RowValues<M, Rows>& shift,
                                          const RowValues<M, Rows>& sum) {
  return finite_or_zero(shift).with(sum, [](float m, float l) { return (m + M::log2(l)) * kLn2; });
}

}  // namespace jfa::inline JFA_BACKEND
