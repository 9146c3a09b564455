#include "workload.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "machine.hpp"

namespace jfa::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBackwardFlops = 2.5;  // of the forward pass's

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

HostTensor clone(const HostTensor& tensor) {
  HostTensor copy(tensor.dtype(), tensor.shape());
  std::memcpy(copy.data(), tensor.data(), tensor.bytes());
  return copy;
}

std::optional<HostTensor> clone(const std::optional<HostTensor>& tensor) {
  if (!tensor) return std::nullopt;
  return clone(*tensor);
}

Batch clone(const Batch& batch) {
  Batch copy;
  copy.q = clone(batch.q);
  copy.k = clone(batch.k);
  copy.v = clone(batch.v);
  copy.kv_offsets = clone(batch.kv_offsets);
  copy.q_offsets = clone(batch.q_offsets);
  copy.block_row_offsets = clone(batch.block_row_offsets);
  copy.block_columns = clone(batch.block_columns);
  copy.block_q = batch.block_q;
  copy.block_kv = batch.block_kv;
  copy.causal = batch.causal;
  copy.window = batch.window;
  return copy;
}

double index_bytes(const Batch& batch) {
  std::size_t bytes = batch.kv_offsets.bytes();
  for (const auto* tensor : {&batch.q_offsets, &batch.block_row_offsets, &batch.block_columns}) {
    if (*tensor) bytes += (*tensor)->bytes();
  }
  return static_cast<double>(bytes);
}

}  // namespace

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  return times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

std::size_t copies_past_cache(double bytes, std::size_t cache_bytes) {
  constexpr std::size_t kMaxCopies = 64;
  const double wanted = 2 * static_cast<double>(cache_bytes) / std::max(bytes, 1.0);
  return std::clamp<std::size_t>(static_cast<std::size_t>(wanted) + 1, 1, kMaxCopies);
}

const char* name_of(Direction direction) {
  return direction == Direction::kForward ? "fwd" : "bwd";
}

Work work_of(const Batch& batch, Direction direction) {
  const auto heads = static_cast<double>(batch.q.shape().at(1));
  const auto head_dim = static_cast<double>(batch.q.shape().at(2));
  const auto rows = static_cast<double>(batch.out_rows());
  const double out = rows * heads * head_dim * static_cast<double>(element_size(batch.q.dtype()));
  const double lse = rows * heads * sizeof(float);
  const auto inputs = static_cast<double>(batch.q.bytes() + batch.k.bytes() + batch.v.bytes());
  Work work;
  work.flops = 4 * unmasked_pairs(batch) * heads * head_dim;
  work.bytes = inputs + out + lse + index_bytes(batch);
  if (direction == Direction::kBackward) {
    work.flops *= kBackwardFlops;
    work.bytes += inputs + out;  // dq, dk, dv and dout
  }
  return work;
}

Workload::Workload(const Case& c, const Execution& execution, bool backward, std::uint64_t seed) {
  const Batch batch = make_batch(c, seed);
  Gradients gradients;
  if (backward) gradients = random_gradients(batch, false, ~seed);
  // What the lighter pass touches decides.
  const std::size_t count =
      copies_past_cache(work_of(batch, Direction::kForward).bytes, last_cache_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    auto instance = std::make_unique<Instance>();
    instance->batch = clone(batch);
    if (backward) instance->gradients.dout = clone(gradients.dout);
    Options options;
    options.mask = instance->batch.mask();
    instance->computation = std::make_unique<Computation>(
        instance->batch, options, execution, backward ? &instance->gradients : nullptr);
    instance->computation->forward();  // backward reads its results
    instances_.push_back(std::move(instance));
  }
}

void Workload::call(Direction direction, std::size_t i) {
  Computation& computation = *instances_[i % instances_.size()]->computation;
  if (direction == Direction::kForward) {
    computation.forward();
  } else {
    computation.backward();
  }
}

Timing time_calls(const std::function<void(std::size_t)>& call, double seconds) {
  constexpr std::size_t kMinRepeats = 3;
  const double budget_ms = 1000 * seconds;
  std::size_t i = 0;
  const Clock::time_point warm_up = Clock::now();
  do call(i++);
  while (milliseconds_since(warm_up) < budget_ms / 5);

  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  while (times.size() < kMinRepeats || milliseconds_since(begin) < budget_ms) {
    const Clock::time_point start = Clock::now();
    call(i++);
    times.push_back(milliseconds_since(start));
  }
  return {.median_ms = median(times),
          .min_ms = *std::min_element(times.begin(), times.end()),
          .repeats = times.size()};
}

}  // namespace jfa::tool
