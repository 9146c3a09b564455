#include "launch/forward_kernel.hpp"

namespace jfa {
namespace {

/// Whether short tiles do better than wide ones: with few keys a sequence on average, with a narrow
/// window, or where broadcast queries, of which every sequence has the same number, fill them
/// better.
bool prefers_short(const ForwardTraits& brief, const ForwardTraits& wide, const Problem& problem) {
  const auto rows = [&](std::int64_t tile) { return (problem.q.rows + tile - 1) / tile * tile; };
  const Window& window = problem.window;
  const bool narrow =
      window.left >= 0 && window.right >= 0 && window.left + window.right < 2 * brief.short_keys;
  return narrow || problem.k.rows <= brief.short_keys * problem.batch ||
         (problem.broadcast_q && rows(brief.tile_rows) < rows(wide.tile_rows) &&
          problem.q.rows > brief.tile_rows);
}

}  // namespace

std::string describe(const ForwardTraits& traits) {
  return describe(static_cast<const KernelTraits&>(traits)) +
         (traits.short_keys > 0 ? ", short" : "");
}

bool better(const ForwardTraits& a, const ForwardTraits& b, const Problem& problem) noexcept {
  if (const int order = compare(a, b); order != 0) return order < 0;
  if ((a.short_keys > 0) == (b.short_keys > 0)) return false;
  return a.short_keys > 0 ? prefers_short(a, b, problem) : !prefers_short(b, a, problem);
}

}  // namespace jfa
