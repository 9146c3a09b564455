// What a call costs besides its kernel: the making of a plan on the device, and the host's time.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "cuda/gpu_call.hpp"

namespace jfa {
namespace {

/// `count` sequences of 1 to 16 tokens, 2 heads of 128.
Case tiny_sequences(std::int64_t count) {
  Case c;
  c.heads_q = c.heads_kv = 2;
  c.head_dim = 128;
  for (std::int64_t b = 0; b < count; ++b) c.kv_lengths.push_back(1 + b * 7 % 16);
  return c;
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Microseconds that one of 20 takes when a CUDA graph of them runs.
template <class Enqueue>
double device_time(cudaStream_t stream, Enqueue enqueue) {
  constexpr int kTimes = 20;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launch = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kTimes; ++i) enqueue();
  require(cudaStreamEndCapture(stream, &graph));
  require(cudaGraphInstantiate(&launch, graph, 0));
  require(cudaEventCreate(&begin));
  require(cudaEventCreate(&end));
  std::vector<double> times;
  for (int round = 0; round < 15; ++round) {
    float milliseconds = 0;
    require(cudaEventRecord(begin, stream));
    require(cudaGraphLaunch(launch, stream));
    require(cudaEventRecord(end, stream));
    require(cudaEventSynchronize(end));
    require(cudaEventElapsedTime(&milliseconds, begin, end));
    times.push_back(1000.0 * milliseconds / kTimes);
  }
  require(cudaEventDestroy(begin));
  require(cudaEventDestroy(end));
  require(cudaGraphExecDestroy(launch));
  require(cudaGraphDestroy(graph));
  return median(times);
}

/// Microseconds until one of 100 is enqueued.
template <class Enqueue>
double host_time(cudaStream_t stream, Enqueue enqueue) {
  constexpr int kTimes = 100;
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int round = 0; round < 15; ++round) {
    require(cudaStreamSynchronize(stream));
    const auto begin = Clock::now();
    for (int i = 0; i < kTimes; ++i) enqueue();
    const std::chrono::duration<double, std::micro> passed = Clock::now() - begin;
    times.push_back(passed.count() / kTimes);
  }
  require(cudaStreamSynchronize(stream));
  return median(times);
}

void bench(std::int64_t sequences) {
  const cuda::Stream owner;
  auto* stream = static_cast<cudaStream_t>(owner.get());
  const Batch batch = make_unwritten_batch(tiny_sequences(sequences));
  GpuCall call(batch);
  call.execution.stream = owner.get();
  const Execution planning = call.planning();
  const Plan plan(call.inputs, call.options, planning);
  const auto make_plan = [&] { Plan(call.inputs, call.options, planning); };
  const auto planned = [&] { call.forward(&plan); };
  const auto unplanned = [&] { call.forward(); };
  const auto backward = [&] { call.backward(&plan); };
  std::printf("%7lld sequences, us: a plan %.2f on the device, %.2f of the host\n",
              static_cast<long long>(sequences), device_time(stream, make_plan),
              host_time(stream, make_plan));
  if (sequences > 2000) return;  // the queue would fill, and the host wait
  std::printf(
      "        a call with it %.2f, %.2f; without %.2f, %.2f; backward with it %.2f, %.2f\n",
      device_time(stream, planned), host_time(stream, planned), device_time(stream, unplanned),
      host_time(stream, unplanned), device_time(stream, backward), host_time(stream, backward));
}

}  // namespace
}  // namespace jfa

int main() {
  if (const std::string why = jfa::why_no_gpu(); !why.empty()) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 77;
  }
  for (const std::int64_t sequences : {4, 1152, 10'000, 100'000}) {
    jfa::bench(sequences);
    std::fflush(stdout);
  }
  return 0;
}
