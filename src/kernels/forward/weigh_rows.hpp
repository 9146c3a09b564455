// What a softmax warpgroup of Blackwell's forward kernel does: 128 rows of each tile, one a thread,
// block by block from scores to weights.
#pragma once

#include "kernels/forward/mask.hpp"
#include "kernels/forward/softmax.hpp"

namespace jfa::inline JFA_BACKEND {

/// 2^x without the special-function unit, within 3e-6 of it, 0 for -inf and NaN for NaN; x is below
/// 128. A quartic on [-1/2, 1/2], found by minimizing the largest relative error, times a power
/// of 2.
template <class M>
JFA_DEVICE float exp2_by_polynomial(float x) {
  constexpr float kRound = 12582912 + 127;  // 1.5 * 2^23: a sum ends in the nearest integer + 127
  x = x < -127 ? -127.0F : x;               // (the machine's max would lose a NaN)
  const float rounded = x + kRound;
  const float f = x - (rounded - kRound);
  const float cubic = M::fma(M::fma(0.00958285F, f, 0.05590644F), f, 0.24024099F);
  const float fraction = M::fma(M::fma(cubic, f, 0.69312419F), f, 1.0F);
  return fraction * __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, rounded) << 23);
}

/// `K` is the kernel, ForwardBlackwell<...>.
template <class K>
struct WeighRows {
  using M = typename K::M;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using Values = RowValues<M, 1>;

  const typename K::Params& p;
  Smem& smem;
  const int group;

  RowState<M, 1> rows = {};
  typename M::Phase scores = M::Phase::first();
  typename std::remove_extent_t<decltype(Smem::factors)>::Cursor factors = {};
  typename decltype(Smem::listed)::Cursor listed = {};

  JFA_DEVICE void run(const typename K::Tmem& tmem) {
    const auto place = tmem.template at<"scores">(group).own_rows();
    auto r = smem.work.reader();
    for (;;) {
      const Work& tile = smem.work.wait(r);
      const Visits& visits = tile.visits[group];
      const int begin = known<M>(visits.begin);
      const int end = known<M>(visits.end);
      if (known<M>(tile.blocks) == 0) break;
      rows = RowState<M, 1>::none();
      if constexpr (K::Mask::kListed) {
        K::for_each_listed(smem, listed, [&](const typename K::ListedBlock& block) {
          const int flags = M::uniform(block.flags);
          if ((flags & K::kVisit << group) == 0) return;
          weigh((flags & K::kFirst << group) != 0, place,
                [&](auto& s) { hide_listed(tile, block.place, flags, s); });
        });
      } else {
        for (int block = end - 1; block >= begin; --block) {
          weigh(block == end - 1, place, [&](auto& s) {
            const bool plain =
                block >= known<M>(visits.plain_begin) && block < known<M>(visits.plain_end);
            if (!plain) K::hide(p, tile, group, block, s);
          });
        }
      }
      if (begin < end) finish(tile);
      smem.work.release(r);
    }
  }

  /// Scores of one block, `first` of the group's, to weights, in place. hide(scores) masks.
  JFA_DEVICE void weigh(bool first, const auto& place, auto hide) {
    RowFragment<M, K::C.keys> s;
    smem.scores[group].pass(scores);
    M::tensor_fence_after();  // S, written by MMAs, before it is loaded
    tmem_load(s, place);
    tmem_wait(s);
    const typename K::Scores policy{p.scores};
    policy.prepare(s);
    hide(s);
    Values factor = Values::all(1);
    move_shift(s, rows, factor, policy.scale());
    if (!first) send(factor);
    const float shift = finite_or_zero(rows.shift).values[0];
    s.apply([&](int, int col, float& v) {
      const float x = M::fma(v, policy.scale(), -shift);
      constexpr int kOne = K::C.polynomial;
      v = kOne != 0 && col % kOne == kOne - 1 ? exp2_by_polynomial<M>(x) : M::exp2(x);
    });
    tmem_store(place.template as<typename K::T>(), s);
    rows.sum = rows.sum + s.fold_rows(Sum());
    M::tensor_wait_stores();
    M::tensor_fence_before();  // S loaded and P stored, before MMAs overwrite one and read the
                               // other
    smem.weights[group].open();
  }

  JFA_DEVICE void hide_listed(const Work& tile, int block, int flags, auto& s) const {
    const int part = group * K::kGroupParts + M::warp_index() % 4 * 32 / K::kPartRows;
    if ((flags & K::kHidden << part) != 0) {
      s.fill(-__builtin_inff());
    } else if ((flags & K::kMasked << group) != 0) {
      K::hide(p, tile, group, block, s);
    }
  }

  /// Tells the correct role what to scale O by.
  JFA_DEVICE void send(const Values& factor, Site site = Site::here()) {
    smem.factors[group].fill(
        factors,
        [&](typename K::Factors& to) {
          M::store_shared(&to.of_row[M::thread_index() & 127], factor.values[0], site);
        },
        site);
  }

  JFA_DEVICE void finish(const Work& tile) {
    send(inverse(rows.sum));
    if (p.outputs.lse == nullptr) return;
    const int row = group * K::kGroupRows + (M::thread_index() & 127);
    K::store_lse(p, tile, row, log_sum_exp(rows.shift, rows.sum).values[0]);
  }
};

}  // namespace jfa::inline JFA_BACKEND
