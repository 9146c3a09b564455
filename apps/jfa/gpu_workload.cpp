#include "gpu_workload.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/random_fill.hpp"
#include "sampled_error.hpp"

namespace jfa::tool {

GpuWorkload::GpuWorkload(const Case& c, const Execution& execution, const cuda::Card& card,
                         bool backward, bool deterministic, std::uint64_t seed)
    : batch_(make_unwritten_batch(c)), placement_(execution.device) {
  options_.mask = batch_.mask();
  options_.deterministic = deterministic;
  if (options_.mask.block_sparse) {
    options_.mask.block_sparse->row_offsets.data = placement_.in(*batch_.block_row_offsets);
    options_.mask.block_sparse->columns.data = placement_.in(*batch_.block_columns);
  }
  const std::size_t count =
      copies_past_cache(work_of(batch_, Direction::kForward).bytes, card.l2_bytes);
  for (std::size_t i = 0; i < count; ++i) add_instance(c, execution, seed);
  add_workspace(execution, backward);
  for (std::size_t i = 0; backward && i < count; ++i) {
    add_gradients(c, *instances_[i], seed);
    call(Direction::kForward, i);
  }
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
  const std::int64_t heads = c.heads_q;
  ConstTensorView out = batch_.q.view();
  out.rows = rows;
  const auto lse_bytes = static_cast<std::size_t>(rows * heads) * sizeof(float);
  instance->outputs = {room_like(out),
                       {static_cast<float*>(placement_.scratch(lse_bytes)), heads, rows, rows}};
  const std::size_t bytes = workspace_sizes(inputs, options_, execution).plan;
  instance->planning = execution;
  instance->planning.workspace = placement_.scratch(bytes);
  instance->planning.workspace_bytes = bytes;
  instance->plan.emplace(inputs, options_, instance->planning);
  instances_.push_back(std::move(instance));
}

TensorView GpuWorkload::room_like(const ConstTensorView& view) {
  const auto elements = static_cast<std::size_t>(view.rows * view.heads * view.head_dim);
  void* memory = placement_.scratch(elements * static_cast<std::size_t>(element_size(view.dtype)));
  return packed(memory, view.dtype, view.rows, view.heads, view.head_dim);
}

void GpuWorkload::add_gradients(const Case& c, Instance& instance, std::uint64_t seed) {
  const TensorView dout = room_like(instance.outputs.out);
  cuda::fill_normal(dout.data, c.dtype, dout.rows * dout.heads * dout.head_dim, ~seed);
  instance.given = {dout, instance.outputs.out, instance.outputs.lse, std::nullopt};
  instance.gradients = {room_like(instance.inputs.q), room_like(instance.inputs.k),
                        room_like(instance.inputs.v)};
}

void GpuWorkload::add_workspace(const Execution& execution, bool backward) {
  const WorkspaceSizes sizes = workspace_sizes(instances_.front()->inputs, options_, execution);
  execution_ = execution;
  execution_.workspace_bytes = backward ? std::max(sizes.forward, sizes.backward) : sizes.forward;
  execution_.workspace = placement_.scratch(execution_.workspace_bytes);
}

double GpuWorkload::call(Direction direction, std::size_t i) {
  using Clock = std::chrono::steady_clock;
  const Instance& at = *instances_[i % instances_.size()];
  const Clock::time_point begin = Clock::now();
  if (direction == Direction::kForward) {
    forward(at.inputs, options_, at.outputs, execution_, &*at.plan);
  } else {
    backward(at.inputs, options_, at.given, at.gradients, execution_, &*at.plan);
  }
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
double GpuWorkload::time_host(Direction direction, double call_ms) {
  constexpr double kMaxRounds = 10;
  constexpr std::size_t kCalls = 20;
  const auto rounds = static_cast<int>(std::clamp(5 / call_ms, 1.0, kMaxRounds));
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    placement_.wait();
    for (std::size_t i = 0; i < kCalls; ++i) times.push_back(call(direction, i));
  }
  return median(times);
}

Timing GpuWorkload::time(Direction direction, double seconds, double rest) {
  constexpr double kMinCalls = 10;
  constexpr double kMaxCalls = 400;  // so many fit the stream's queue
  const auto time_some = [&](double calls) {
    call(direction, 0);  // the next call is enqueued while this one runs
    cuda::Marks marks;
    marks.mark();
    for (std::size_t i = 1; i <= static_cast<std::size_t>(calls); ++i) {
      call(direction, i);
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
          .host_us = time_host(direction, median(times)),
          .plan_ms = time_plan()};
}

double GpuWorkload::sampled_error(Direction direction) const {
  const Instance& at = *instances_.front();
  if (direction == Direction::kForward) {
    return tool::sampled_error(batch_, at.inputs, at.outputs.out);
  }
  return sampled_gradient_error(batch_, at.inputs, at.given, at.gradients);
}

}  // namespace jfa::tool
