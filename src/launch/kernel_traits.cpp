#include "launch/kernel_traits.hpp"

namespace jfa {
namespace {

std::string name_of(DType dtype) { return dtype == DType::kBf16 ? "bf16" : "fp16"; }

bool is_masked(const Problem& problem) noexcept {
  return problem.window.left >= 0 || problem.window.right >= 0;
}

/// Whether a kernel for `queries` broadcast queries serves a problem well.
bool share_queries(const Problem& problem, int queries) noexcept {
  constexpr int kPart = 64;
  return problem.broadcast_q && problem.q.rows <= queries && problem.q.rows > queries - kPart &&
         problem.heads_q == problem.heads_kv && problem.window.left < 0;
}

/// Whether a kernel for sequences of few queries serves a problem well: hardly one of more than
/// 128, and more than two blocks of keys, on average; as many tasks as keep a GPU busy.
bool has_few_queries(const Problem& problem, std::int64_t tasks) noexcept {
  return !problem.broadcast_q && problem.heads_q == problem.heads_kv &&
         problem.batch * problem.heads_q >= tasks && problem.q.rows <= 96 * problem.batch &&
         problem.k.rows > 256 * problem.batch && problem.window.left < 0;
}

}  // namespace

std::string describe(const KernelTraits& traits) {
  return name_of(traits.dtype) + " head_dim " + std::to_string(traits.head_dim) +
         (traits.masked ? ", masked" : "") + (traits.listed ? ", block-sparse" : "") +
         (traits.capped ? ", softcap" : "") +
         (traits.shared_queries > 0
              ? ", up to " + std::to_string(traits.shared_queries) + " broadcast queries"
              : "") +
         (traits.apart ? ", dq apart" : "") + (traits.few_from > 0 ? ", few queries" : "") +
         (traits.long_from > 0 ? ", long" : "") +
         (traits.same_bits ? "" : ", deterministic with broadcast queries only");
}

bool wants_apart(const Problem& problem) noexcept {
  if (problem.deterministic || problem.block_sparse || problem.softcap > 0) return true;
  if (problem.head_dim <= 64) return false;
  if (problem.window.left >= 0 || problem.heads_q != problem.heads_kv) return true;
  // More than two blocks of keys and fewer than six, of about as many queries, on average.
  const std::int64_t keys = problem.k.rows;
  return problem.window.right < 0 && keys > 256 * problem.batch && keys < 768 * problem.batch &&
         2 * problem.q.rows > keys;
}

bool has_long_sequences(const Problem& problem, int tokens) noexcept {
  return !problem.broadcast_q && std::min(problem.q.rows, problem.k.rows) >=
                                     (is_masked(problem) ? tokens / 2 : tokens) * problem.batch;
}

bool can_compute(const KernelTraits& traits, const Problem& problem) noexcept {
  return traits.dtype == problem.q.dtype && traits.head_dim >= problem.head_dim &&
         (traits.masked || !is_masked(problem)) && traits.capped == (problem.softcap > 0) &&
         (traits.listed || !problem.block_sparse) && (!traits.apart || !problem.broadcast_q) &&
         (traits.few_from == 0 || has_few_queries(problem, traits.few_from)) &&
         (traits.same_bits || problem.broadcast_q || !problem.deterministic) &&
         (traits.shared_queries == 0 || share_queries(problem, traits.shared_queries));
}

int compare(const KernelTraits& a, const KernelTraits& b) noexcept {
  if (a.head_dim != b.head_dim) return a.head_dim - b.head_dim;
  if (a.shared_queries != b.shared_queries) return b.shared_queries - a.shared_queries;
  if (a.listed != b.listed) return a.listed ? 1 : -1;
  if (a.masked != b.masked) return a.masked ? 1 : -1;
  return 0;
}

Status no_kernel(const char* direction, const Problem& problem,
                 const std::vector<std::string>& kernels) {
  const bool backward = direction == std::string("backward");
  std::string built;
  for (const std::string& kernel : kernels) built += (built.empty() ? "" : "; ") + kernel;
  return {ErrorCode::kUnsupported,
          "no " + std::string(direction) + " kernel of this build takes " +
              name_of(problem.q.dtype) + " with head_dim = " + std::to_string(problem.head_dim) +
              (is_masked(problem) ? ", a window" : "") +
              (problem.block_sparse ? ", mask.block_sparse" : "") +
              (problem.softcap > 0 ? ", a softcap" : "") +
              (backward && problem.deterministic ? ", deterministic" : "") +
              ", must be one that takes at least that: " + built};
}

}  // namespace jfa
