// What happens to a tile of scores between products. A tile is transposed: one row a key, one lane
// a query, so that a query's maximum and sum need no step across lanes.
#if defined(JFA_CPU_SCORES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef JFA_CPU_SCORES_INL_HPP
#undef JFA_CPU_SCORES_INL_HPP
#else
#define JFA_CPU_SCORES_INL_HPP
#endif

#include <cstdint>
#include <limits>

#include "cpu/gemm-inl.hpp"
#include "cpu/math-inl.hpp"
#include "cpu/panel.hpp"
#include "cpu/simd-inl.hpp"
#include "hwy/contrib/math/math-inl.h"
#include "problem/problem.hpp"

HWY_BEFORE_NAMESPACE();
namespace jfa::cpu::HWY_NAMESPACE {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Scores of `keys` keys (rows, kPanel floats apart) and `vectors` vectors of queries.
struct Scores {
  float* data;
  std::int64_t keys;
  std::int64_t vectors;

  float* row(std::int64_t key) const { return data + key * kPanel; }
};

/// s = cap * tanh(s / cap).
inline void cap_scores(const Scores& s, float cap) {
  const Floats d;
  const Vec c = hn::Set(d, cap);
  const Vec inverse = hn::Set(d, 1.0f / cap);
  for (std::int64_t key = 0; key < s.keys; ++key) {
    for (std::int64_t v = 0; v < s.vectors; ++v) {
      float* at = s.row(key) + v * kLanes;
      hn::Store(hn::Mul(c, hn::CallTanh(d, hn::Mul(hn::Load(d, at), inverse))), d, at);
    }
  }
}

/// S = scale * A B; A is a key tile of some kind, `panel` the `[depth, kPanel]` transpose of
/// another.
inline void multiply_scores(ConstTile a, const float* panel, std::int64_t depth, float scale,
                            const Scores& s) {
  multiply(Product<Stored::kAsIs, Scaled>{.a = a,
                                          .b = {panel, kPanel},
                                          .c = {s.data, kPanel},
                                          .rows = s.keys,
                                          .vectors = s.vectors,
                                          .depth = depth,
                                          .form = {scale}});
}

/// S = softmax_scale * K Q^T, softcapped.
inline void compute_scores(const Problem& problem, ConstTile k, const float* q_panel,
                           const Scores& s) {
  multiply_scores(k, q_panel, problem.head_dim, static_cast<float>(problem.softmax_scale), s);
  if (problem.softcap != 0) cap_scores(s, static_cast<float>(problem.softcap));
}

/// Makes the score of every key outside its query's limits -inf; `keys` are the tile's rows.
inline void mask_scores(const Scores& s, const QueryRows& tile, const Panel& panel, Window window,
                        Range keys) {
  const Floats d;
  const Vec hidden = hn::Set(d, -kInfinity);
  LaneLimits limits;
  set_lane_limits(tile, panel, window, keys.begin, limits);
  for (std::int64_t v = 0; v < s.vectors; ++v) {
    const Vec begin = hn::Load(d, limits.begin + v * kLanes);
    const Vec end = hn::Load(d, limits.end + v * kLanes);
    for (std::int64_t key = 0; key < s.keys; ++key) {
      float* at = s.row(key) + v * kLanes;
      const Vec position = hn::Set(d, static_cast<float>(key));
      const auto visible = hn::And(hn::Ge(position, begin), hn::Lt(position, end));
      hn::Store(hn::IfThenElse(visible, hn::Load(d, at), hidden), d, at);
    }
  }
}

/// Running state of the online softmax, one entry a query.
struct Softmax {
  float* max;      ///< greatest score so far, -inf at first
  float* sum;      ///< of exp(score - max), 0 at first
  float* rescale;  ///< what the last step's change of max multiplies older sums by

  Softmax from(std::int64_t row) const { return {max + row, sum + row, rescale + row}; }
};

/// Turns scores into exp(score - max) and takes them into the running state.
inline void softmax_step(const Scores& s, const Softmax& state) {
  const Floats d;
  const Vec hidden = hn::Set(d, -kInfinity);
  for (std::int64_t v = 0; v < s.vectors; ++v) {
    float* at = s.data + v * kLanes;
    const Vec old_max = hn::Load(d, state.max + v * kLanes);
    Vec max = old_max;
    for (std::int64_t key = 0; key < s.keys; ++key) {
      max = hn::Max(max, hn::Load(d, at + key * kPanel));
    }
    // While all scores are -inf, any finite origin makes their exponentials zero.
    const Vec origin = hn::IfThenElse(hn::Eq(max, hidden), hn::Zero(d), max);
    const Vec rescale = exp(hn::Sub(old_max, origin));
    Vec sum = hn::Mul(hn::Load(d, state.sum + v * kLanes), rescale);
    for (std::int64_t key = 0; key < s.keys; ++key) {
      const Vec p = exp(hn::Sub(hn::Load(d, at + key * kPanel), origin));
      hn::Store(p, d, at + key * kPanel);
      sum = hn::Add(sum, p);
    }
    hn::Store(max, d, state.max + v * kLanes);
    hn::Store(sum, d, state.sum + v * kLanes);
    hn::Store(rescale, d, state.rescale + v * kLanes);
  }
}

/// Of every query: sum becomes its inverse (0 where no score is above -inf), max the log-sum-exp.
inline void finish_softmax(const Softmax& state, std::int64_t vectors) {
  const Floats d;
  for (std::int64_t v = 0; v < vectors; ++v) {
    const Vec sum = hn::Load(d, state.sum + v * kLanes);
    const Vec max = hn::Load(d, state.max + v * kLanes);
    const auto empty = hn::Eq(sum, hn::Zero(d));
    const Vec inverse = hn::Div(hn::Set(d, 1.0f), sum);
    // The library's logarithm does not promise to keep a NaN.
    const Vec log = hn::IfThenElse(hn::IsNaN(sum), sum, hn::CallLog(d, sum));
    const Vec lse = hn::IfThenElse(empty, hn::Set(d, -kInfinity), hn::Add(max, log));
    hn::Store(hn::IfThenElse(empty, hn::Zero(d), inverse), d, state.sum + v * kLanes);
    hn::Store(lse, d, state.max + v * kLanes);
  }
}

/// Scores become probabilities P = exp(score - lse), and dP becomes dS = P * (dP - delta), times
/// the derivative of the softcap when `cap` is not 0.
inline void differentiate(const Scores& s, const Scores& dp, const float* lse, const float* delta,
                          float cap) {
  const Floats d;
  const Vec inverse_cap = hn::Set(d, cap == 0 ? 0.0f : 1.0f / cap);
  for (std::int64_t v = 0; v < s.vectors; ++v) {
    const Vec log_sum = hn::Load(d, lse + v * kLanes);
    const Vec shift = hn::Load(d, delta + v * kLanes);
    for (std::int64_t key = 0; key < s.keys; ++key) {
      float* score_at = s.row(key) + v * kLanes;
      float* gradient_at = dp.row(key) + v * kLanes;
      const Vec score = hn::Load(d, score_at);
      const Vec p = exp(hn::Sub(score, log_sum));
      Vec ds = hn::Mul(p, hn::Sub(hn::Load(d, gradient_at), shift));
      if (cap != 0) {
        const Vec tanh = hn::Mul(score, inverse_cap);
        // A hidden score is -inf, where the derivative is not defined; its p is 0.
        const Vec capped = hn::Mul(ds, hn::NegMulAdd(tanh, tanh, hn::Set(d, 1.0f)));
        ds = hn::IfThenElse(hn::Eq(p, hn::Zero(d)), hn::Zero(d), capped);
      }
      hn::Store(p, d, score_at);
      hn::Store(ds, d, gradient_at);
    }
  }
}

}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
