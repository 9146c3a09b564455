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

/// Whether sequences on average fill no more than a tile of `rows` queries and as many keys.
bool has_tiny_sequences(const Problem& problem, int rows) {
  const std::int64_t queries = problem.q.rows * (problem.heads_q / problem.heads_kv);
  return queries <= rows * (problem.broadcast_q ? 1 : problem.batch) &&
         problem.k.rows <= rows * problem.batch;
}

}  // namespace

std::string describe(const ForwardTraits& traits) {
  return describe(static_cast<const KernelTraits&>(traits)) +
         (traits.short_keys > 0 ? ", short" : "") + (traits.tiny ? ", tiny" : "");
}

bool better(const ForwardTraits& a, const ForwardTraits& b, const Problem& problem) noexcept {
  if (const int order = compare(a, b); order != 0) return order < 0;
  if (a.tiny != b.tiny) return a.tiny == has_tiny_sequences(problem, (a.tiny ? a : b).tile_rows);
  if ((a.short_keys > 0) == (b.short_keys > 0)) return false;
  return a.short_keys > 0 ? prefers_short(a, b, problem) : !prefers_short(b, a, problem);
}

}  // namespace jfa
