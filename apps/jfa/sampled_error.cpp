#include "sampled_error.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "cuda/device_memory.hpp"
#include "plan/host_plan.hpp"
#include "reference/reference.hpp"

namespace jfa::tool {
namespace {

/// Row `row` of sequence b, in one head.
struct Sample {
  std::int64_t b, row, head;
};

/// Rows `rows` of one head, one stretch behind the other.
HostTensor download(const ConstTensorView& view, const std::vector<Range>& rows,
                    std::int64_t head) {
  const std::int64_t element = element_size(view.dtype);
  std::int64_t total = 0;
  for (const Range& range : rows) total += range.size();
  HostTensor result(view.dtype, {total, 1, view.head_dim});
  std::byte* to = result.data();
  for (const Range& range : rows) {
    const auto* from = static_cast<const std::byte*>(view.data) +
                       (range.begin * view.row_stride + head * view.head_stride) * element;
    const auto row_bytes = static_cast<std::size_t>(view.head_dim * element);
    const auto count = static_cast<std::size_t>(range.size());
    cuda::download_rows(to, from, row_bytes, static_cast<std::size_t>(view.row_stride * element),
                        count);
    to += count * row_bytes;
  }
  return result;
}

/// The rows of k and v that a sample sees.
std::vector<Range> seen_rows(const HostPlan& plan, const Sample& sample) {
  const Sequence& s = plan.sequence(sample.b);
  const Range window =
      visible_keys({sample.row, sample.row + 1}, {s.q_length, s.kv_length}, plan.window);
  std::vector<Range> rows;
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    const Range range{std::max({begin, window.begin, std::int64_t{0}}),
                      std::min({end, window.end, s.kv_length})};
    if (!range.empty()) rows.push_back({s.kv_begin + range.begin, s.kv_begin + range.end});
  };
  if (!plan.block_sparse) {
    add(0, s.kv_length);
    return rows;
  }
  const BlockLists& blocks = plan.blocks;
  const std::int64_t block =
      blocks.first_row[static_cast<std::size_t>(sample.b)] + sample.row / blocks.block_q;
  for (const std::int64_t column : blocks.columns_of(sample.head, block)) {
    add(column * blocks.block_kv, (column + 1) * blocks.block_kv);
  }
  return rows;
}

/// One query and all the keys it sees, as a batch of its own.
Batch batch_of(const HostPlan& plan, const Inputs& inputs, const Sample& sample) {
  const std::int64_t q_row = plan.sequence(sample.b).q_begin + sample.row;
  const std::int64_t kv_head = sample.head / (plan.heads_q / plan.heads_kv);
  const std::vector<Range> rows = seen_rows(plan, sample);
  Batch batch;
  batch.q = download(inputs.q, {{q_row, q_row + 1}}, sample.head);
  batch.k = download(inputs.k, rows, kv_head);
  batch.v = download(inputs.v, rows, kv_head);
  batch.kv_offsets = HostTensor(DType::kI32, {2});
  batch.kv_offsets.set(0, 0);
  batch.kv_offsets.set(1, static_cast<double>(batch.k.shape()[0]));
  return batch;
}

Problem problem_of(const Batch& batch) {
  Options options;
  options.mask = batch.mask();
  Problem problem;
  throw_if_failed(check_inputs(batch.inputs(), options, {}, problem));
  return problem;
}

}  // namespace

double sampled_error(const Batch& batch, const Inputs& inputs, const ConstTensorView& out) {
  constexpr int kSamples = 32;
  const HostPlan plan = make_host_plan(problem_of(batch));
  std::mt19937_64 random(1);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  double error = 0;
  double size = 0;
  for (int i = 0; i < kSamples; ++i) {
    Sample sample{below(std::ssize(plan.sequences)), 0, below(plan.heads_q)};
    const Sequence& s = plan.sequence(sample.b);
    if (s.q_length == 0) continue;
    sample.row = below(s.q_length);
    const Batch alone = batch_of(plan, inputs, sample);
    const std::vector<double> expected = reference::forward(problem_of(alone)).out;
    const std::int64_t row = s.out_begin + sample.row;
    const HostTensor actual = download(out, {{row, row + 1}}, sample.head);
    for (std::size_t d = 0; d < expected.size(); ++d) {
      const double off = actual.at(static_cast<std::int64_t>(d)) - expected[d];
      error += off * off;
      size += expected[d] * expected[d];
    }
  }
  return size == 0 ? 0 : std::sqrt(error / size);
}

}  // namespace jfa::tool
