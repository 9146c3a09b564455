// A parallel loop over tasks.
#pragma once

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstdint>

#ifdef __SANITIZE_THREAD__
#define JFA_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define JFA_THREAD_SANITIZER 1
#endif
#endif
#ifdef JFA_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace jfa::cpu {

/// Tells ThreadSanitizer what oneTBB orders, which it cannot see since the packaged oneTBB is not
/// instrumented: what came before give() happens before what comes after take(). Without state of
/// their own, so that a task takes before it reads anything.
struct Handover {
#ifdef JFA_THREAD_SANITIZER
  static void give() noexcept { __tsan_release(&token_); }
  static void take() noexcept { __tsan_acquire(&token_); }

 private:
  inline static char token_ = 0;
#else
  static void give() noexcept {}
  static void take() noexcept {}
#endif
};

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
  const auto body = [&work](std::int64_t task) {
    Handover::take();
    work(task, tbb::this_task_arena::current_thread_index());
    Handover::give();
  };
  tbb::task_arena arena(threads);
  Handover::give();
  arena.execute(
      [&] { tbb::parallel_for(std::int64_t{0}, tasks, body, tbb::simple_partitioner()); });
  Handover::take();
}

}  // namespace jfa::cpu
