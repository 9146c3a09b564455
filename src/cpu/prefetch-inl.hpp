// Asks for rows that come next while others are computed: a short sequence, or a few queries
// against many keys, leave too little to compute to hide the way to memory otherwise.
#if defined(JFA_CPU_PREFETCH_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef JFA_CPU_PREFETCH_INL_HPP
#undef JFA_CPU_PREFETCH_INL_HPP
#else
#define JFA_CPU_PREFETCH_INL_HPP
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/rows.hpp"
#include "cpu/simd-inl.hpp"
#include "hwy/cache_control.h"
#include "plan/host_plan.hpp"

HWY_BEFORE_NAMESPACE();
namespace jfa::cpu::HWY_NAMESPACE {

// The functions here are always inlined: GCC takes one that only prefetches for one without effect,
// and drops calls of it.

HWY_INLINE void prefetch_rows(const ConstTensorView& tensor, std::int64_t begin, std::int64_t rows,
                              std::int64_t head, std::int64_t heads) {
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kRows = 64;
  const auto view =
      rows_of<const std::byte>(tensor, {begin, begin + std::min(rows, kRows)}, head, heads);
  const std::int64_t bytes = tensor.head_dim * element_size(tensor.dtype);
  for (std::int64_t i = 0; i < view.rows; ++i) {
    for (std::int64_t h = 0; h < view.heads; ++h) {
      const std::byte* row = view.row(i, h);
      for (std::int64_t byte = 0; byte < bytes; byte += kLine) hwy::Prefetch(row + byte);
    }
  }
}

/// A sequence's keys and values of one head from key `first` on.
HWY_INLINE void prefetch_keys(const Problem& problem, const Sequence& s, std::int64_t first,
                              std::int64_t kv_head) {
  const std::int64_t rows = s.kv_length - first;
  prefetch_rows(problem.k, s.kv_begin + first, rows, kv_head, 1);
  prefetch_rows(problem.v, s.kv_begin + first, rows, kv_head, 1);
}

/// What a piece of work loads first that begins at query head `head`: rows of `pack` heads and of
/// their key/value head. A head past the last stands for the next sequence's first.
HWY_INLINE void prefetch_heads(const Problem& problem, const HostPlan& plan, std::int64_t b,
                               std::int64_t head, std::int64_t pack) {
  if (head == problem.heads_q) {
    head = 0;
    ++b;
  }
  if (b >= problem.batch) return;
  const Sequence& s = plan.sequence(b);
  prefetch_rows(problem.q, s.q_begin, s.q_length, head, pack);
  prefetch_keys(problem, s, 0, head / problem.group_size);
}

}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
