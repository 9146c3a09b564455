#include "problem/overlap.hpp"

#include <utility>

namespace jfa {
namespace {

/// Bytes from the first to past the last byte of one outer step.
std::int64_t inner_span(const Footprint& f) noexcept {
  return (f.inner_count - 1) * f.inner_stride + f.bytes;
}

std::int64_t span(const Footprint& f) noexcept {
  return (f.outer_count - 1) * f.outer_stride + inner_span(f);
}

Footprint make_footprint(const void* data, std::int64_t count0, std::int64_t stride0,
                         std::int64_t count1, std::int64_t stride1, std::int64_t bytes) noexcept {
  if (count0 == 1) stride0 = 0;  // the stride of a single row or head steps nowhere
  if (count1 == 1) stride1 = 0;
  if (stride0 < stride1) {
    std::swap(count0, count1);
    std::swap(stride0, stride1);
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  Footprint f{begin, begin, count0, stride0, count1, stride1, bytes};
  if (f.empty()) return {};
  f.end += static_cast<std::uintptr_t>(span(f));
  return f;
}

/// Whether the residues [0, a_bytes) and [distance, distance + b_bytes) modulo `period` are
/// disjoint.
bool disjoint_modulo(std::int64_t a_bytes, std::int64_t distance, std::int64_t b_bytes,
                     std::int64_t period) noexcept {
  const std::int64_t residue = (distance % period + period) % period;
  return residue >= a_bytes && residue + b_bytes <= period;
}

/// Whether one outer step of a and one of b that begins `distance` bytes after it are disjoint:
/// one lies behind the other, or their blocks interleave.
bool steps_disjoint(const Footprint& a, const Footprint& b, std::int64_t distance) noexcept {
  if (distance >= inner_span(a) || distance + inner_span(b) <= 0) return true;
  return a.inner_stride == b.inner_stride && a.inner_stride > 0 &&
         disjoint_modulo(a.bytes, distance, b.bytes, a.inner_stride);
}

}  // namespace

Footprint footprint(const void* data, std::int64_t bytes) noexcept {
  return make_footprint(data, 1, 0, 1, 0, data != nullptr ? bytes : 0);
}

Footprint footprint(const IndexView& view) noexcept {
  return footprint(view.data, view.size * element_size(view.dtype));
}

Footprint footprint(const ConstTensorView& view) noexcept {
  const std::int64_t size = element_size(view.dtype);
  return make_footprint(view.data, view.rows, view.row_stride * size, view.heads,
                        view.head_stride * size, view.head_dim * size);
}

Footprint footprint(const ConstLseView& view) noexcept {
  const std::int64_t size = sizeof(float);
  return make_footprint(view.data, view.heads, view.head_stride * size, 1, 0, view.rows * size);
}

bool overlaps_itself(const Footprint& a) noexcept {
  if (a.empty()) return false;
  if (a.inner_count > 1 && a.inner_stride < a.bytes) return true;
  return a.outer_count > 1 && a.outer_stride < inner_span(a);
}

bool may_interlock(const Footprint& a, const Footprint& b) noexcept {
  const std::int64_t period = a.outer_stride;
  const bool in_step =
      period == b.outer_stride && period > 0 && inner_span(a) <= period && inner_span(b) <= period;
  if (!in_step) return true;
  // Modulo the period every step of b begins `distance` after one of a, and so before the next.
  const auto p = static_cast<std::uintptr_t>(period);
  const auto distance = static_cast<std::int64_t>((b.begin % p + p - a.begin % p) % p);
  return !(steps_disjoint(a, b, distance) && steps_disjoint(a, b, distance - period));
}

}  // namespace jfa
