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

/// The rows of q that see row `sample.row` of k and v in head `sample.head`, counted from the
/// sequence's first.
std::vector<Range> seeing_rows(const HostPlan& plan, const Sample& sample) {
  const Sequence& s = plan.sequence(sample.b);
  const Range window =
      visible_queries({sample.row, sample.row + 1}, {s.q_length, s.kv_length}, plan.window);
  const Range within{std::max<std::int64_t>(window.begin, 0), std::min(window.end, s.q_length)};
  if (within.empty()) return {};
  if (!plan.block_sparse) return {within};
  const BlockLists& blocks = plan.blocks;
  std::vector<Range> rows;
  for (std::int64_t first = 0; first < s.q_length; first += blocks.block_q) {
    const auto columns = blocks.columns_of(
        sample.head, blocks.first_row[static_cast<std::size_t>(sample.b)] + first / blocks.block_q);
    if (std::ranges::find(columns, sample.row / blocks.block_kv) == columns.end()) continue;
    const Range range{std::max(first, within.begin), std::min(first + blocks.block_q, within.end)};
    if (!range.empty()) rows.push_back(range);
  }
  return rows;
}

std::vector<Range> shifted(std::vector<Range> rows, std::int64_t by) {
  for (Range& range : rows) range = {range.begin + by, range.end + by};
  return rows;
}

/// Values of one head, one stretch of rows behind the other.
std::vector<float> download(const ConstLseView& view, const std::vector<Range>& rows,
                            std::int64_t head) {
  std::vector<float> result;
  for (const Range& range : rows) {
    const auto count = static_cast<std::size_t>(range.size());
    result.resize(result.size() + count);
    cuda::download_rows(&result[result.size() - count],
                        view.data + head * view.head_stride + range.begin, count * sizeof(float),
                        count * sizeof(float), 1);
  }
  return result;
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

namespace {

double dot(const HostTensor& a, std::int64_t a_row, const HostTensor& b, std::int64_t b_row) {
  const std::int64_t dim = a.shape()[2];
  double sum = 0;
  for (std::int64_t d = 0; d < dim; ++d) sum += a.at(a_row * dim + d) * b.at(b_row * dim + d);
  return sum;
}

/// Some queries of one head with what flows into them, and some keys and values.
struct Neighbours {
  HostTensor q, dout, out, k, v;
  std::vector<float> lse;

  Neighbours(const Inputs& inputs, const BackwardInputs& given, const std::vector<Range>& q_rows,
             const std::vector<Range>& out_rows, std::int64_t head,
             const std::vector<Range>& kv_rows)
      : q(download(inputs.q, q_rows, head)),
        dout(download(given.dout, out_rows, head)),
        out(download(given.out, out_rows, head)) {
    const std::int64_t kv_head = head / (inputs.q.heads / inputs.k.heads);
    k = download(inputs.k, kv_rows, kv_head);
    v = download(inputs.v, kv_rows, kv_head);
    lse = download(given.lse, out_rows, head);
  }

  std::int64_t queries() const { return q.shape()[0]; }
  std::int64_t keys() const { return k.shape()[0]; }

  double probability(std::int64_t i, std::int64_t j) const {
    const double scale = 1 / std::sqrt(static_cast<double>(q.shape()[2]));
    return std::exp(scale * dot(q, i, k, j) - lse[static_cast<std::size_t>(i)]);
  }
  /// dS, times the scale.
  double slope(std::int64_t i, std::int64_t j) const {
    const double scale = 1 / std::sqrt(static_cast<double>(q.shape()[2]));
    return scale * probability(i, j) * (dot(dout, i, v, j) - dot(dout, i, out, i));
  }
};

void add(std::vector<double>& to, double factor, const HostTensor& from, std::int64_t row) {
  const auto dim = static_cast<std::int64_t>(to.size());
  for (std::int64_t d = 0; d < dim; ++d) {
    to[static_cast<std::size_t>(d)] += factor * from.at(row * dim + d);
  }
}

/// Sums of squares over samples of a result.
struct ErrorSum {
  double error = 0;
  double size = 0;

  void add(const ConstTensorView& result, std::int64_t row, std::int64_t head,
           const std::vector<double>& expected) {
    const HostTensor actual = download(result, {{row, row + 1}}, head);
    for (std::size_t d = 0; d < expected.size(); ++d) {
      const double off = actual.at(static_cast<std::int64_t>(d)) - expected[d];
      error += off * off;
      size += expected[d] * expected[d];
    }
  }
  double relative() const { return size == 0 ? std::sqrt(error) : std::sqrt(error / size); }
};

/// Draws samples of a batch on the GPU and sums errors up.
class GradientSamples {
 public:
  GradientSamples(const HostPlan& plan, const Inputs& inputs, const BackwardInputs& given,
                  const BackwardOutputs& gradients)
      : plan_(plan), inputs_(inputs), given_(given), gradients_(gradients) {}

  void of_queries() {
    Sample sample{below(std::ssize(plan_.sequences)), 0, below(plan_.heads_q)};
    if (plan_.sequence(sample.b).q_length == 0) return;
    sample.row = below(plan_.sequence(sample.b).q_length);
    const std::int64_t row = plan_.sequence(sample.b).q_begin + sample.row;
    std::vector<double> dq(static_cast<std::size_t>(plan_.head_dim));
    if (inputs_.q_offsets) {
      add_query(sample, dq);
    } else {
      for (sample.b = 0; sample.b < std::ssize(plan_.sequences); ++sample.b) add_query(sample, dq);
    }
    dq_.add(gradients_.dq, row, sample.head, dq);
  }

  void of_keys() {
    Sample sample{below(std::ssize(plan_.sequences)), 0, 0};
    const std::int64_t head = below(plan_.heads_kv);
    const std::int64_t group = plan_.heads_q / plan_.heads_kv;
    const Sequence& s = plan_.sequence(sample.b);
    if (s.kv_length == 0) return;
    sample.row = below(s.kv_length);
    const std::int64_t row = s.kv_begin + sample.row;
    std::vector<double> dk(static_cast<std::size_t>(plan_.head_dim));
    std::vector<double> dv = dk;
    for (sample.head = head * group; sample.head < (head + 1) * group; ++sample.head) {
      const std::vector<Range> rows = seeing_rows(plan_, sample);
      const Neighbours n(inputs_, given_, shifted(rows, s.q_begin), shifted(rows, s.out_begin),
                         sample.head, {{row, row + 1}});
      for (std::int64_t i = 0; i < n.queries(); ++i) {
        tool::add(dk, n.slope(i, 0), n.q, i);
        tool::add(dv, n.probability(i, 0), n.dout, i);
      }
    }
    dk_.add(gradients_.dk, row, head, dk);
    dv_.add(gradients_.dv, row, head, dv);
  }

  double worst() const { return std::max({dq_.relative(), dk_.relative(), dv_.relative()}); }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n));
  }

  void add_query(const Sample& sample, std::vector<double>& dq) const {
    const Sequence& s = plan_.sequence(sample.b);
    const auto row_from = [&](std::int64_t begin) {
      return std::vector<Range>{{begin + sample.row, begin + sample.row + 1}};
    };
    const Neighbours n(inputs_, given_, row_from(s.q_begin), row_from(s.out_begin), sample.head,
                       seen_rows(plan_, sample));
    for (std::int64_t j = 0; j < n.keys(); ++j) tool::add(dq, n.slope(0, j), n.k, j);
  }

  const HostPlan& plan_;
  const Inputs& inputs_;
  const BackwardInputs& given_;
  const BackwardOutputs& gradients_;
  std::mt19937_64 random_{1};
  ErrorSum dq_, dk_, dv_;
};

}  // namespace

double sampled_gradient_error(const Batch& batch, const Inputs& inputs, const BackwardInputs& given,
                              const BackwardOutputs& gradients) {
  constexpr int kSamples = 32;
  const HostPlan plan = make_host_plan(problem_of(batch));
  if (plan.sequences.empty()) return 0;
  GradientSamples samples(plan, inputs, given, gradients);
  // With broadcast_q one row of dq is a sum over the batch.
  for (int i = 0; i < (inputs.q_offsets ? kSamples : 1); ++i) samples.of_queries();
  for (int i = 0; i < kSamples; ++i) samples.of_keys();
  return samples.worst();
}

}  // namespace jfa::tool
