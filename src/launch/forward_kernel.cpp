#include "launch/forward_kernel.hpp"

#include <string>

namespace jfa {
namespace {

std::string name_of(DType dtype) { return dtype == DType::kBf16 ? "bf16" : "fp16"; }

bool is_masked(const Problem& problem) noexcept {
  return problem.window.left >= 0 || problem.window.right >= 0;
}

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
  return name_of(traits.dtype) + " head_dim " + std::to_string(traits.head_dim) +
         (traits.short_keys > 0 ? ", short" : "") + (traits.masked ? ", masked" : "") +
         (traits.capped ? ", softcap" : "");
}

bool can_compute(const ForwardTraits& traits, const Problem& problem) noexcept {
  return traits.dtype == problem.q.dtype && traits.head_dim >= problem.head_dim &&
         (traits.masked || !is_masked(problem)) && traits.capped == (problem.softcap > 0) &&
         (traits.listed || !problem.block_sparse);
}

bool better(const ForwardTraits& a, const ForwardTraits& b, const Problem& problem) noexcept {
  if (a.head_dim != b.head_dim) return a.head_dim < b.head_dim;
  if (a.listed != b.listed) return b.listed;
  if (a.masked != b.masked) return b.masked;
  if ((a.short_keys > 0) == (b.short_keys > 0)) return false;
  return a.short_keys > 0 ? prefers_short(a, b, problem) : !prefers_short(b, a, problem);
}

Status no_kernel(const Problem& problem, std::span<const ForwardTraits> kernels) {
  std::string built;
  for (const ForwardTraits& traits : kernels) {
    built += (built.empty() ? "" : "; ") + describe(traits);
  }
  return {ErrorCode::kUnsupported, "no kernel of this build takes " + name_of(problem.q.dtype) +
                                       " with head_dim = " + std::to_string(problem.head_dim) +
                                       (is_masked(problem) ? ", a window" : "") +
                                       (problem.block_sparse ? ", mask.block_sparse" : "") +
                                       (problem.softcap > 0 ? ", a softcap" : "") +
                                       ", must be one that takes at least that: " + built};
}

}  // namespace jfa
