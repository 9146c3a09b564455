// Asks for the rows of the next piece of work while this one is computed: a short sequence has too
// little to compute to hide the way to memory otherwise.
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
namespace jfa::cpu {
namespace HWY_NAMESPACE {

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

/// The first rows of `heads` query heads from `head` on and of their key/value head; where `head`
/// is past the last, those of the next sequence's first heads.
HWY_INLINE void prefetch_heads(const Problem& problem, const HostPlan& plan, std::int64_t b,
                               std::int64_t head, std::int64_t heads) {
  if (head == problem.heads_q) {
    head = 0;
    ++b;
  }
  if (b >= problem.batch) return;
  const Sequence& s = plan.sequence(b);
  prefetch_rows(problem.q, s.q_begin, s.q_length, head, heads);
  prefetch_rows(problem.k, s.kv_begin, s.kv_length, head / problem.group_size, 1);
  prefetch_rows(problem.v, s.kv_begin, s.kv_length, head / problem.group_size, 1);
}

}  // namespace HWY_NAMESPACE
}  // namespace jfa::cpu
HWY_AFTER_NAMESPACE();

#endif
