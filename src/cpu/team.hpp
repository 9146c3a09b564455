// Threads of one call.
#pragma once

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/tiling.hpp"
#include "plan/host_plan.hpp"
#include "problem/problem.hpp"

namespace jfa::cpu {

/// Threads that a request for `threads` (0: all cores) gets: at most one a core.
inline int thread_count(int threads) {
  const int cores = tbb::info::default_concurrency();
  return threads == 0 ? cores : std::min(threads, cores);
}

/// Runs `work(task, slot)` for every task below `tasks`. No two tasks run at once in the same slot,
/// 0 <= slot < threads.
template <typename Work>
void run_tasks(int threads, std::int64_t tasks, Work&& work) {
  if (threads == 1 || tasks <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task) work(task, 0);
    return;
  }
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(
        std::int64_t{0}, tasks,
        [&](std::int64_t task) { work(task, tbb::this_task_arena::current_thread_index()); },
        tbb::simple_partitioner());
  });
}

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
