// The machine's ceilings, measured: multiply-adds in registers, copies between buffers.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "machine.hpp"

// Vectors of unknown size cannot be kept in an array; such machines have NEON of the same rate.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "peak.cpp"
#include "hwy/foreach_target.h"  // compiles this file once a target
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace jfa::tool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Independent sums: enough to fill the pipelines (latency times units), few enough for the
/// registers.
constexpr std::size_t kChains = HWY_TARGET == HWY_NEON ? 20 : 12;

/// Does `rounds` multiply-adds on each chain; returns their flops. `sink` keeps the result alive.
double multiply_add(std::int64_t rounds, float& sink) {
  const hn::ScalableTag<float> d;
  const auto half = hn::Set(d, 0.5F);
  hn::Vec<decltype(d)> sums[kChains];
  for (auto& sum : sums) sum = half;
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (auto& sum : sums) sum = hn::MulAdd(sum, half, half);  // tends to 1
  }
  auto total = sums[0];
  for (std::size_t i = 1; i < kChains; ++i) total = hn::Add(total, sums[i]);
  sink = hn::GetLane(total);
  return 2.0 * static_cast<double>(rounds) * static_cast<double>(kChains * hn::Lanes(d));
}

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace jfa::tool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jfa::tool {
namespace {

HWY_EXPORT(multiply_add);
HWY_EXPORT(target_name);

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Runs `work(thread)` again and again on every thread until `seconds` are over; returns the sum of
/// what the calls return, over the time of the slowest thread.
double burst_rate(int threads, double seconds, const std::function<double(int)>& work) {
  std::barrier start(threads);
  std::vector<double> done(static_cast<std::size_t>(threads), 0);
  std::vector<double> elapsed(done);
  const auto run = [&](int thread) {
    const auto i = static_cast<std::size_t>(thread);
    start.arrive_and_wait();
    const Clock::time_point begin = Clock::now();
    do {
      done[i] += work(thread);
      elapsed[i] = seconds_since(begin);
    } while (elapsed[i] < seconds);
  };
  {
    std::vector<std::jthread> pool;
    for (int thread = 1; thread < threads; ++thread) pool.emplace_back(run, thread);
    run(0);
  }
  double total = 0;
  for (const double amount : done) total += amount;
  return total / *std::max_element(elapsed.begin(), elapsed.end());
}

double best_rate(int threads, int bursts, double seconds, const std::function<double(int)>& work) {
  double best = 0;
  for (int i = 0; i < bursts; ++i) best = std::max(best, burst_rate(threads, seconds, work));
  return best;
}

}  // namespace

std::string simd_target() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

double measure_fp32_peak(int threads) {
  // Many short bursts: on a busy machine some of them run undisturbed.
  constexpr int kBursts = 100;
  constexpr double kBurstSeconds = 0.004;
  constexpr std::int64_t kRounds = 10'000;
  std::vector<float> sinks(static_cast<std::size_t>(threads) * 64);  // a cache line each
  return best_rate(threads, kBursts, kBurstSeconds, [&](int thread) {
    return HWY_DYNAMIC_DISPATCH(multiply_add)(kRounds,
                                              sinks[static_cast<std::size_t>(thread) * 64]);
  });
}

double measure_copy_bandwidth(int threads) {
  constexpr std::size_t kSmallest = std::size_t{128} << 20;
  constexpr std::size_t kLargest = std::size_t{1} << 30;
  const std::size_t total = std::clamp(4 * last_cache_bytes(), kSmallest, kLargest);
  const std::size_t bytes = total / 2 / static_cast<std::size_t>(threads);
  struct Buffers {
    std::unique_ptr<char[]> from, to;
  };
  std::vector<Buffers> buffers(static_cast<std::size_t>(threads));
  return best_rate(threads, 6, 0.05, [&](int thread) {
    Buffers& own = buffers[static_cast<std::size_t>(thread)];
    if (own.from ==
        nullptr) {  // the first burst: pages are made here, by the thread that uses them
      own.from = std::make_unique<char[]>(bytes);
      own.to = std::make_unique<char[]>(bytes);
    }
    std::memcpy(own.to.get(), own.from.get(), bytes);
    own.from[0] = own.to[bytes - 1];  // the copy is used
    return 2.0 * static_cast<double>(bytes);
  });
}

}  // namespace jfa::tool
#endif  // HWY_ONCE
