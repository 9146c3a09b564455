// The threads of one call, their scratch and their shares of work.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/run_tasks.hpp"
#include "cpu/tiling.hpp"
#include "plan/host_plan.hpp"
#include "problem/problem.hpp"

namespace jfa::cpu {

/// The threads of one call, each with its scratch.
struct Team {
  int threads;
  std::size_t scratch_bytes;  ///< of a thread
  std::byte* scratch;

  std::byte* of_slot(int slot) const {
    return scratch + static_cast<std::size_t>(slot) * scratch_bytes;
  }
  /// Shares of work: enough for the last ones to even out what the estimate of cost misses.
  std::int64_t shares() const {
    constexpr std::int64_t kSharesPerThread = 16;
    return threads == 1 ? 1 : threads * kSharesPerThread;
  }
};

/// Runs `share(index, scratch)` for every share and `gap(index)` for every gap.
template <typename Share, typename Gap>
void run_shares(const Team& team, std::int64_t shares, Share&& share, std::int64_t gaps,
                Gap&& gap) {
  // Gaps are taken 64 at a time, so that many short ones do not cost a task each.
  constexpr std::int64_t kGapsPerTask = 64;
  const std::int64_t gap_tasks = divide_up(gaps, kGapsPerTask);
  run_tasks(team.threads, shares + gap_tasks, [&](std::int64_t task, int slot) {
    if (task < shares) return share(task, team.of_slot(slot));
    const std::int64_t first = (task - shares) * kGapsPerTask;
    for (std::int64_t i = first; i < std::min(first + kGapsPerTask, gaps); ++i) gap(i);
  });
}

/// Threads worth waking for a call: starting them takes about as long as this many products.
inline int useful_threads(const Problem& problem, const HostPlan& plan, int threads) {
  constexpr double kProducts = 1e6;
  const double products = plan.work_before.back() * static_cast<double>(problem.heads_q) *
                          static_cast<double>(problem.head_dim);
  return products < kProducts ? 1 : thread_count(threads);
}

}  // namespace jfa::cpu
