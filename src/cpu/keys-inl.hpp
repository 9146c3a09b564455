// Key tiles: rows of k and v in fp32.
#if defined(JFA_CPU_KEYS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef JFA_CPU_KEYS_INL_HPP
#undef JFA_CPU_KEYS_INL_HPP
#else
#define JFA_CPU_KEYS_INL_HPP
#endif

#include <cstddef>
#include <cstdint>

#include "cpu/prefetch-inl.hpp"
#include "cpu/rows-inl.hpp"
#include "cpu/scratch.hpp"
#include "cpu/simd-inl.hpp"
#include "cpu/tile.hpp"

HWY_BEFORE_NAMESPACE();
namespace jfa::cpu::HWY_NAMESPACE {

/// Scratch for one key tile.
struct KeyRows {
  KeyRows(Carver& carver, std::int64_t row_stride)
      : stride(row_stride),
        k(carver.floats(kKeyTile * stride)),
        v(carver.floats(kKeyTile * stride)) {}

  ConstTile k_from(std::int64_t key) const { return {k + key * stride, stride}; }
  ConstTile v_from(std::int64_t key) const { return {v + key * stride, stride}; }

  std::int64_t stride;
  float* k;
  float* v;
};

/// Loads a tile of a sequence's keys and values, and asks for the rows after it.
inline void load_keys(const Problem& problem, const Sequence& s, Range keys, std::int64_t kv_head,
                      const KeyRows& tile) {
  const Range rows{s.kv_begin + keys.begin, s.kv_begin + keys.end};
  load_rows(problem.k.dtype, rows_of<const std::byte>(problem.k, rows, kv_head, 1),
            problem.head_dim, tile.k, tile.stride);
  load_rows(problem.v.dtype, rows_of<const std::byte>(problem.v, rows, kv_head, 1),
            problem.head_dim, tile.v, tile.stride);
  prefetch_keys(problem, s, keys.end, kv_head);
}

}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
