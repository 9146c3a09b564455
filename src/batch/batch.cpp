#include "batch/batch.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "cpu/run_tasks.hpp"
#include "plan/mask_bounds.hpp"
#include "problem/problem.hpp"

namespace jfa {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014) as a counter-based generator: value i of a stream.
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) noexcept {
  std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// Two standard normal values (Box-Muller) from values 2i and 2i + 1 of the stream.
std::pair<double, double> normal_pair(std::uint64_t seed, std::uint64_t i) noexcept {
  constexpr double kUnit = 0x1p-53;
  const double u = (static_cast<double>(random_bits(seed, 2 * i) >> 11) + 0.5) * kUnit;
  const double w = static_cast<double>(random_bits(seed, 2 * i + 1) >> 11) * kUnit;
  const double radius = std::sqrt(-2 * std::log(u));
  const double angle = 2 * std::numbers::pi * w;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

HostTensor offsets_of(const std::vector<std::int64_t>& lengths) {
  HostTensor offsets(DType::kI32, {static_cast<std::int64_t>(lengths.size()) + 1});
  std::int64_t total = 0;
  offsets.set(0, 0);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) throw std::invalid_argument("a length is negative");
    total += lengths[i];
    offsets.set(static_cast<std::int64_t>(i) + 1, static_cast<double>(total));
  }
  if (total > INT32_MAX) throw std::length_error("a batch of over 2^31 - 1 rows needs int64");
  return offsets;
}

std::int64_t blocks_of(std::int64_t rows, std::int64_t block) { return (rows + block - 1) / block; }

/// Appends the key blocks that query block i sees by the pattern.
void append_blocks(const BlockPattern& pattern, std::int64_t i, std::int64_t nq, std::int64_t nk,
                   std::vector<std::int64_t>& columns) {
  const std::int64_t diagonal = i + nk - nq;
  for (std::int64_t j = 0; j < nk; ++j) {
    if (std::abs(diagonal - j) <= pattern.local || j < pattern.global) columns.push_back(j);
  }
}

HostTensor index_tensor(const std::vector<std::int64_t>& values) {
  HostTensor tensor(DType::kI32, {static_cast<std::int64_t>(values.size())});
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, static_cast<double>(values[static_cast<std::size_t>(i)]));
  }
  return tensor;
}

void add_block_lists(const BlockPattern& pattern, const std::vector<std::int64_t>& q_lengths,
                     const std::vector<std::int64_t>& kv_lengths, Batch& batch) {
  std::vector<std::int64_t> row_offsets{0};
  std::vector<std::int64_t> columns;
  for (std::size_t b = 0; b < kv_lengths.size(); ++b) {
    const std::int64_t nq = blocks_of(q_lengths[b], pattern.block_q);
    const std::int64_t nk = blocks_of(kv_lengths[b], pattern.block_kv);
    for (std::int64_t i = 0; i < nq; ++i) {
      append_blocks(pattern, i, nq, nk, columns);
      row_offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
  }
  batch.block_q = pattern.block_q;
  batch.block_kv = pattern.block_kv;
  batch.block_row_offsets = index_tensor(row_offsets);
  batch.block_columns = index_tensor(columns);
}

/// Keys that query i sees among `keys`.
std::int64_t keys_in(Range keys, std::int64_t i, Extent extent, Window window) {
  const Range seen = visible_keys({i, i + 1}, extent, window);
  return Range{std::max(seen.begin, keys.begin), std::min(seen.end, keys.end)}.size();
}

double sequence_pairs(const Sequence& s, Window window) {
  const Extent extent{s.q_length, s.kv_length};
  if (window.left < 0 && window.right < 0) {
    return static_cast<double>(s.q_length) * static_cast<double>(s.kv_length);
  }
  std::int64_t pairs = 0;
  for (std::int64_t i = 0; i < s.q_length; ++i) {
    pairs += keys_in({0, s.kv_length}, i, extent, window);
  }
  return static_cast<double>(pairs);
}

/// Pairs of one sequence whose query blocks' lists start at `entry` of row_offsets; moves `entry`.
double sequence_block_pairs(const Problem& problem, const Sequence& s, std::int64_t& entry) {
  const BlockSparse& blocks = problem.blocks;
  std::int64_t pairs = 0;
  for (std::int64_t first = 0; first < s.q_length; first += blocks.block_q, ++entry) {
    const std::int64_t end = index_at(blocks.row_offsets, entry + 1);
    for (std::int64_t c = index_at(blocks.row_offsets, entry); c < end; ++c) {
      const std::int64_t key = index_at(blocks.columns, c) * blocks.block_kv;
      const Range keys{key, std::min(key + blocks.block_kv, s.kv_length)};
      for (std::int64_t i = first; i < std::min(first + blocks.block_q, s.q_length); ++i) {
        pairs += keys_in(keys, i, {s.q_length, s.kv_length}, problem.window);
      }
    }
  }
  return static_cast<double>(pairs);
}

}  // namespace

HostTensor random_tensor(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed) {
  HostTensor tensor(dtype, std::move(shape));
  const std::int64_t pairs = (tensor.size() + 1) / 2;
  constexpr std::int64_t kTaskPairs = 4096;
  const std::int64_t tasks = (pairs + kTaskPairs - 1) / kTaskPairs;
  cpu::run_tasks(cpu::thread_count(0), tasks, [&](std::int64_t task, int) {
    const std::int64_t end = std::min(pairs, (task + 1) * kTaskPairs);
    for (std::int64_t i = task * kTaskPairs; i < end; ++i) {
      const auto [a, b] = normal_pair(seed, static_cast<std::uint64_t>(i));
      tensor.set(2 * i, a);
      if (2 * i + 1 < tensor.size()) tensor.set(2 * i + 1, b);
    }
  });
  return tensor;
}

Batch make_unwritten_batch(const Case& c) {
  const std::vector<std::int64_t> q_lengths =
      c.broadcast_q         ? std::vector<std::int64_t>(c.kv_lengths.size(), c.q_length)
      : c.q_lengths.empty() ? c.kv_lengths
                            : c.q_lengths;
  if (q_lengths.size() != c.kv_lengths.size()) {
    throw std::invalid_argument("q_lengths and kv_lengths differ in size");
  }
  const auto total = [](const auto& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  };
  Batch batch;
  batch.kv_offsets = offsets_of(c.kv_lengths);
  if (!c.broadcast_q) batch.q_offsets = offsets_of(q_lengths);
  const std::int64_t q_rows = c.broadcast_q ? c.q_length : total(q_lengths);
  const std::int64_t kv_rows = total(c.kv_lengths);
  batch.q = HostTensor(c.dtype, {q_rows, c.heads_q, c.head_dim});
  batch.k = HostTensor(c.dtype, {kv_rows, c.heads_kv, c.head_dim});
  batch.v = HostTensor(c.dtype, {kv_rows, c.heads_kv, c.head_dim});
  batch.causal = c.causal;
  batch.window = c.window;
  if (c.block_sparse) add_block_lists(*c.block_sparse, q_lengths, c.kv_lengths, batch);
  return batch;
}

Batch make_batch(const Case& c, std::uint64_t seed) {
  Batch batch = make_unwritten_batch(c);
  std::uint64_t i = 0;
  for (HostTensor* tensor : {&batch.q, &batch.k, &batch.v}) {
    *tensor = random_tensor(tensor->dtype(), tensor->shape(), random_bits(seed, i++));
  }
  return batch;
}

Inputs Batch::inputs() const {
  Inputs inputs;
  inputs.q = q.view();
  inputs.k = k.view();
  inputs.v = v.view();
  inputs.kv_offsets = kv_offsets.index_view();
  if (q_offsets) inputs.q_offsets = q_offsets->index_view();
  if (q_lengths) inputs.q_lengths = q_lengths->index_view();
  if (kv_lengths) inputs.kv_lengths = kv_lengths->index_view();
  return inputs;
}

Mask Batch::mask() const {
  Mask mask{causal, window, std::nullopt};
  if (block_row_offsets) {
    const bool by_head = block_row_offsets->shape().size() == 2;
    mask.block_sparse = BlockSparse{block_q, block_kv, by_head ? block_row_offsets->shape()[0] : 1,
                                    block_row_offsets->index_view(), block_columns->index_view()};
  }
  return mask;
}

std::int64_t Batch::out_rows() const {
  const std::int64_t rows = q.shape().at(0);
  return q_offsets ? rows : rows * (kv_offsets.size() - 1);
}

double unmasked_pairs(const Batch& batch) {
  Options options;
  options.mask = batch.mask();
  Problem problem;
  throw_if_failed(check_inputs(batch.inputs(), options, {}, problem));
  throw_if_failed(check_host_indices(problem));
  const std::int64_t heads = problem.block_sparse ? problem.blocks.heads : 1;
  double pairs = 0;
  for (std::int64_t head = 0; head < heads; ++head) {
    std::int64_t entry =
        problem.block_sparse ? head * (problem.blocks.row_offsets.size / heads) : 0;
    for (std::int64_t b = 0; b < problem.batch; ++b) {
      const Sequence s = sequence(problem, b);
      pairs += problem.block_sparse ? sequence_block_pairs(problem, s, entry)
                                    : sequence_pairs(s, problem.window);
    }
  }
  return pairs / static_cast<double>(heads);
}

}  // namespace jfa
