// Score policies: what is done to q k^T before masking and softmax.
//
// A policy has
//   Params                    plain values, from Params::of(softmax_scale, softcap)
//   prepare(s)                s becomes a multiple of the scores in units of log2 ...
//   scale()                   ... by this positive factor
//   slope()                   a score's derivative by q k^T is this ...
//   bend(x)                   ... times this, for a score x in units of log2; 1 unless kBends
#pragma once

#include "kernels/forward/softmax.hpp"

namespace jfa::inline JFA_BACKEND {

/// softmax_scale * q k^T. The sign is taken out beforehand, since the maximum is taken of unscaled
/// values; a scale of 0 becomes one too small to be seen, since masked values are -inf, and one too
/// large for fp32 in units of log2 the largest.
template <class M>
struct ScaledScores {
  struct Params {
    float scale_log2;
    bool negative;

    static Params of(double scale, double /*softcap*/) {
      constexpr float kUnseen = 1e-30F;
      constexpr float kLargest = 3.4028235e38F;
      const float magnitude = static_cast<float>(scale < 0 ? -scale : scale) * kLog2E;
      return {magnitude < kUnseen    ? kUnseen
              : magnitude > kLargest ? kLargest
                                     : magnitude,
              scale < 0};
    }
  };

  Params p;

  JFA_DEVICE void prepare(auto& s) const {
    if (p.negative) {
      s.apply([](int, int, float& v) { v = -v; });
    }
  }
  JFA_DEVICE float scale() const { return p.scale_log2; }
  static constexpr bool kBends = false;
  JFA_DEVICE float slope() const { return (p.negative ? -kLn2 : kLn2) * p.scale_log2; }
  JFA_DEVICE float bend(float) const { return 1; }
};

/// softcap * tanh(softmax_scale * q k^T / softcap), as 1 - 2 / (1 + exp(2 x)) and near 0 as a
/// series: tanh.approx is off by 2^-11, which shows in scores that are large.
template <class M>
struct CappedScores {
  struct Params {
    float inner;  // scale / softcap
    float outer;  // softcap log2(e)
    float inverse_outer;

    static Params of(double scale, double softcap) {
      return {static_cast<float>(scale / softcap), static_cast<float>(softcap) * kLog2E,
              kLn2 / static_cast<float>(softcap)};
    }
  };

  Params p;

  JFA_DEVICE void prepare(auto& s) const {
    s.apply([this](int, int, float& v) { v = tanh(v * p.inner); });
  }
  JFA_DEVICE float scale() const { return p.outer; }
  static constexpr bool kBends = true;
  JFA_DEVICE float slope() const { return p.inner * p.outer * kLn2; }
  JFA_DEVICE float bend(float x) const {
    const float capped = x * p.inverse_outer;
    return 1 - capped * capped;
  }

  static JFA_DEVICE float tanh(float x) {
    const float y = x * x;
    const float series = x + x * y * M::fma(y, M::fma(y, -17 / 315.0F, 2 / 15.0F), -1 / 3.0F);
    return y < 0.04F ? series : 1 - 2 * M::reciprocal(1 + M::exp2(x * (2 * kLog2E)));
  }
};

}  // namespace jfa::inline JFA_BACKEND
