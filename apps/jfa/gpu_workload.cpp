#include "gpu_workload.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/random_fill.hpp"
#include "sampled_error.hpp"

namespace jfa::tool {

GpuWorkload::GpuWorkload(const Case& c, const Execution& execution, const cuda::Card& card,
                         std::uint64_t seed)
    : batch_(make_unwritten_batch(c)), placement_(execution.device) {
  options_.mask = batch_.mask();
  if (options_.mask.block_sparse) {
    options_.mask.block_sparse->row_offsets.data = placement_.in(*batch_.block_row_offsets);
    options_.mask.block_sparse->columns.data = placement_.in(*batch_.block_columns);
  }
  const std::size_t count =
      copies_past_cache(work_of(batch_, Direction::kForward).bytes, card.l2_bytes);
  for (std::size_t i = 0; i < count; ++i) add_instance(c, execution, seed);
  placement_.wait();
}

ConstTensorView GpuWorkload::random_rows(const HostTensor& like, std::uint64_t seed) {
  ConstTensorView view = like.view();
  void* memory = placement_.scratch(like.bytes());
  cuda::fill_normal(memory, like.dtype(), like.size(), seed);
  view.data = memory;
  return view;
}

void GpuWorkload::add_instance(const Case& c, const Execution& execution, std::uint64_t seed) {
  auto instance = std::make_unique<Instance>();
  Inputs& inputs = instance->inputs;
  inputs = batch_.inputs();
  inputs.q = random_rows(batch_.q, 3 * seed);
  inputs.k = random_rows(batch_.k, 3 * seed + 1);
  inputs.v = random_rows(batch_.v, 3 * seed + 2);
  inputs.kv_offsets.data = placement_.in(batch_.kv_offsets);
  if (inputs.q_offsets) inputs.q_offsets->data = placement_.in(*batch_.q_offsets);
  const std::int64_t rows = batch_.out_rows();
  const auto elements = static_cast<std::size_t>(rows * c.heads_q);
  const auto out_bytes = elements * static_cast<std::size_t>(c.head_dim * element_size(c.dtype));
  instance->outputs = {
      packed(placement_.scratch(out_bytes), c.dtype, rows, c.heads_q, c.head_dim),
      {static_cast<float*>(placement_.scratch(elements * sizeof(float))), c.heads_q, rows, rows}};
  const WorkspaceSizes sizes = workspace_sizes(inputs, options_, execution);
  instance->execution = instance->planning = execution;
  instance->execution.workspace = placement_.scratch(sizes.forward);
  instance->execution.workspace_bytes = sizes.forward;
  instance->planning.workspace = placement_.scratch(sizes.plan);
  instance->planning.workspace_bytes = sizes.plan;
  instance->plan.emplace(inputs, options_, instance->planning);
  instances_.push_back(std::move(instance));
}

double GpuWorkload::call(std::size_t i) {
  using Clock = std::chrono::steady_clock;
  const Instance& at = *instances_[i % instances_.size()];
  const Clock::time_point begin = Clock::now();
  forward(at.inputs, options_, at.outputs, at.execution, &*at.plan);
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double GpuWorkload::time_plan() {
  constexpr int kRepeats = 5;
  const Instance& at = *instances_.front();
  cuda::Marks marks;
  marks.mark();
  for (int i = 0; i < kRepeats; ++i) {
    const Plan again(at.inputs, options_, at.planning);
    marks.mark();
  }
  return median(marks.between());
}

/// The thread's own time, with few calls in the queue: a full one would make it wait.
double GpuWorkload::time_host() {
  constexpr std::size_t kRounds = 10;
  constexpr std::size_t kCalls = 20;
  std::vector<double> times;
  for (std::size_t round = 0; round < kRounds; ++round) {
    placement_.wait();
    for (std::size_t i = 0; i < kCalls; ++i) times.push_back(call(i));
  }
  return median(times);
}

Timing GpuWorkload::time_forward(double seconds, double rest) {
  constexpr double kMinCalls = 10;
  constexpr double kMaxCalls = 400;  // so many fit the stream's queue
  const auto time_some = [&](double calls) {
    call(0);  // the next call is enqueued while this one runs
    cuda::Marks marks;
    marks.mark();
    for (std::size_t i = 1; i <= static_cast<std::size_t>(calls); ++i) {
      call(i);
      marks.mark();
    }
    return marks.between();
  };
  const double calls = std::clamp(1000 * seconds / median(time_some(3)), kMinCalls, kMaxCalls);
  time_some(calls / 5);
  const auto time_rested = [&](double count) {
    std::vector<double> all;
    while (static_cast<double>(all.size()) < count) {
      all.push_back(time_some(1).front());
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(rest * all.back()));
    }
    return all;
  };
  const std::vector<double> times = rest > 0 ? time_rested(calls) : time_some(calls);
  return {.median_ms = median(times),
          .min_ms = *std::min_element(times.begin(), times.end()),
          .repeats = times.size(),
          .host_us = time_host(),
          .plan_ms = time_plan()};
}

double GpuWorkload::sampled_error() const {
  const Instance& at = *instances_.front();
  return tool::sampled_error(batch_, at.inputs, at.outputs.out);
}

}  // namespace jfa::tool
