#include "reference/reference.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <thread>

namespace jfa::reference {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

using Vector = std::vector<double>;

std::size_t usize(std::int64_t n) { return static_cast<std::size_t>(n); }

double from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// IEEE binary16: 1 sign, 5 exponent (bias 15) and 10 fraction bits.
double from_f16(std::uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

std::int64_t entry(const IndexView& view, std::int64_t i) {
  if (view.dtype == DType::kI32) return static_cast<const std::int32_t*>(view.data)[i];
  return static_cast<const std::int64_t*>(view.data)[i];
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0);
}

/// to += factor * from
void add(std::span<double> to, double factor, std::span<const double> from) {
  for (std::size_t d = 0; d < to.size(); ++d) to[d] += factor * from[d];
}

void add_squares(std::span<double> to, double factor, std::span<const double> from) {
  for (std::size_t d = 0; d < to.size(); ++d) to[d] += factor * from[d] * factor * from[d];
}

/// The rows of one sequence.
struct Rows {
  std::int64_t q_begin = 0;    ///< of q and dq
  std::int64_t out_begin = 0;  ///< of out, lse and dout
  std::int64_t q_length = 0;
  std::int64_t kv_begin = 0;
  std::int64_t kv_length = 0;
  std::int64_t first_block = 0;  ///< number of its first query block; with block lists only
};

/// Rows in use of sequence b on the side that `offsets` and `lengths` describe.
std::int64_t length_of(const IndexView& offsets, const IndexView& lengths, std::int64_t b) {
  if (lengths.data != nullptr) return entry(lengths, b);
  return entry(offsets, b + 1) - entry(offsets, b);
}

std::vector<Rows> sequences(const Problem& p) {
  std::vector<Rows> all;
  std::int64_t blocks = 0;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    Rows rows;
    rows.kv_begin = entry(p.kv_offsets, b);
    rows.kv_length = length_of(p.kv_offsets, p.kv_lengths, b);
    rows.q_begin = p.broadcast_q ? 0 : entry(p.q_offsets, b);
    rows.q_length = p.broadcast_q ? p.q.rows : length_of(p.q_offsets, p.q_lengths, b);
    rows.out_begin = p.broadcast_q ? b * p.q.rows : rows.q_begin;
    rows.first_block = blocks;
    if (p.block_sparse) blocks += (rows.q_length + p.blocks.block_q - 1) / p.blocks.block_q;
    all.push_back(rows);
  }
  return all;
}

/// Whether the block lists let query i of head `head` see key j.
bool in_listed_block(const Problem& p, const Rows& rows, std::int64_t head, std::int64_t i,
                     std::int64_t j) {
  const std::int64_t entries_per_head = p.blocks.row_offsets.size / p.blocks.heads;
  const std::int64_t list =
      (p.blocks.heads == 1 ? 0 : head * entries_per_head) + rows.first_block + i / p.blocks.block_q;
  const std::int64_t end = entry(p.blocks.row_offsets, list + 1);
  for (std::int64_t c = entry(p.blocks.row_offsets, list); c < end; ++c) {
    if (entry(p.blocks.columns, c) == j / p.blocks.block_kv) return true;
  }
  return false;
}

/// Whether query i may attend to key j.
bool sees(const Problem& p, const Rows& rows, std::int64_t head, std::int64_t i, std::int64_t j) {
  const std::int64_t position = i + rows.kv_length - rows.q_length;
  if (p.window.left >= 0 && j < position - p.window.left) return false;
  if (p.window.right >= 0 && j > position + p.window.right) return false;
  return !p.block_sparse || in_listed_block(p, rows, head, i, j);
}

/// Rows begin .. begin + length - 1 of one head of a tensor.
class Matrix {
 public:
  Matrix(const ConstTensorView& view, std::int64_t begin, std::int64_t length, std::int64_t head)
      : columns_(usize(view.head_dim)) {
    values_.reserve(usize(length) * columns_);
    for (std::int64_t row = begin; row < begin + length; ++row) {
      for (std::int64_t d = 0; d < view.head_dim; ++d) {
        values_.push_back(load(view, row, head, d));
      }
    }
  }

  std::span<const double> row(std::int64_t i) const {
    return {values_.data() + usize(i) * columns_, columns_};
  }

 private:
  std::size_t columns_;
  Vector values_;
};

/// A row of a packed `[rows, heads, head_dim]` result.
std::span<double> row_of(Vector& result, std::int64_t heads, std::int64_t head_dim,
                         std::int64_t row, std::int64_t head) {
  return {result.data() + usize((row * heads + head) * head_dim), usize(head_dim)};
}

/// One query row after softmax: the keys it sees and, for each, the probability.
struct Attention {
  std::vector<std::int64_t> keys;
  Vector scores;  ///< scaled and softcapped
  Vector probabilities;
  double lse = kMinusInfinity;

  /// Sees no key, or only keys whose score is -inf.
  bool sees_nothing() const { return lse == kMinusInfinity; }
};

Attention attend(const Problem& p, const Rows& rows, std::int64_t head, std::int64_t i,
                 std::span<const double> query, const Matrix& k) {
  Attention a;
  double max = kMinusInfinity;
  for (std::int64_t j = 0; j < rows.kv_length; ++j) {
    if (!sees(p, rows, head, i, j)) continue;
    double score = p.softmax_scale * dot(query, k.row(j));
    if (p.softcap > 0) score = p.softcap * std::tanh(score / p.softcap);
    a.keys.push_back(j);
    a.scores.push_back(score);
    if (score > max || std::isnan(score)) max = score;
  }
  if (max == kMinusInfinity) return a;
  double sum = 0;
  for (const double score : a.scores) sum += std::exp(score - max);
  a.lse = max + std::log(sum);
  for (const double score : a.scores) a.probabilities.push_back(std::exp(score - a.lse));
  return a;
}

/// P v of one row; zero where it sees nothing.
Vector weighted_sum(const Attention& a, const Matrix& v, std::int64_t head_dim) {
  Vector out(usize(head_dim));
  if (a.sees_nothing()) return out;
  for (std::size_t n = 0; n < a.keys.size(); ++n) {
    add(out, a.probabilities[n], v.row(a.keys[n]));
  }
  return out;
}

/// Calls work(g) for each key/value head, on all cores unless the problem is too small to gain. No
/// two heads write the same element.
template <typename Work>
void for_each_kv_head(const Problem& p, Work&& work) {
  std::atomic<std::int64_t> next{0};
  const auto loop = [&] {
    for (std::int64_t g = next++; g < p.heads_kv; g = next++) work(g);
  };
  constexpr std::int64_t small_rows = 64;
  const bool small = p.out_rows + p.k.rows < small_rows;
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  std::vector<std::jthread> helpers;
  for (std::int64_t t = 1; !small && t < std::min(cores, p.heads_kv); ++t) {
    helpers.emplace_back(loop);
  }
  loop();
}

/// Calls work(head) for each query head that shares key/value head g.
template <typename Work>
void for_each_query_head(const Problem& p, std::int64_t g, Work&& work) {
  for (std::int64_t head = g * p.group_size; head < (g + 1) * p.group_size; ++head) work(head);
}

/// Adds what query i of a sequence gives to the gradients.
struct RowGradient {
  const Problem& p;
  const Rows& rows;
  std::int64_t head, i;
  std::span<const double> query, dout;
  double dlse;

  void add_to(BackwardResult& result, BackwardResult* squares, const Matrix& k,
              const Matrix& v) const {
    const Attention a = attend(p, rows, head, i, query, k);
    if (a.sees_nothing()) return;
    const std::int64_t g = head / p.group_size;
    const double delta = dot(dout, weighted_sum(a, v, p.head_dim));
    const auto row = [&](Vector& of, std::int64_t key_row) {
      return row_of(of, p.heads_kv, p.head_dim, key_row, g);
    };
    const auto query_row = [&](Vector& of) {
      return row_of(of, p.heads_q, p.head_dim, rows.q_begin + i, head);
    };
    for (std::size_t n = 0; n < a.keys.size(); ++n) {
      const std::int64_t key_row = rows.kv_begin + a.keys[n];
      double ds = a.probabilities[n] * (dot(dout, v.row(a.keys[n])) - delta + dlse);
      if (p.softcap > 0) ds *= 1 - std::pow(a.scores[n] / p.softcap, 2);  // 1 - tanh^2
      ds *= p.softmax_scale;
      add(query_row(result.dq), ds, k.row(a.keys[n]));
      add(row(result.dk, key_row), ds, query);
      add(row(result.dv, key_row), a.probabilities[n], dout);
      if (squares == nullptr) continue;
      add_squares(query_row(squares->dq), ds, k.row(a.keys[n]));
      add_squares(row(squares->dk, key_row), ds, query);
      add_squares(row(squares->dv, key_row), a.probabilities[n], dout);
    }
  }
};

}  // namespace

double load(const ConstTensorView& view, std::int64_t row, std::int64_t head, std::int64_t d) {
  const std::int64_t i = row * view.row_stride + head * view.head_stride + d;
  if (view.dtype == DType::kBf16) {
    return from_bf16(static_cast<const std::uint16_t*>(view.data)[i]);
  }
  if (view.dtype == DType::kF16) return from_f16(static_cast<const std::uint16_t*>(view.data)[i]);
  return static_cast<const float*>(view.data)[i];
}

ForwardResult forward(const Problem& p) {
  ForwardResult result;
  result.out.assign(usize(p.out_rows * p.heads_q * p.head_dim), 0);
  result.lse.assign(usize(p.heads_q * p.out_rows), kMinusInfinity);
  const std::vector<Rows> batch = sequences(p);
  for_each_kv_head(p, [&](std::int64_t g) {
    for (const Rows& rows : batch) {
      const Matrix k(p.k, rows.kv_begin, rows.kv_length, g);
      const Matrix v(p.v, rows.kv_begin, rows.kv_length, g);
      for_each_query_head(p, g, [&](std::int64_t head) {
        const Matrix q(p.q, rows.q_begin, rows.q_length, head);
        for (std::int64_t i = 0; i < rows.q_length; ++i) {
          const Attention a = attend(p, rows, head, i, q.row(i), k);
          std::ranges::copy(
              weighted_sum(a, v, p.head_dim),
              row_of(result.out, p.heads_q, p.head_dim, rows.out_begin + i, head).begin());
          result.lse[usize(head * p.out_rows + rows.out_begin + i)] = a.lse;
        }
      });
    }
  });
  return result;
}

BackwardResult backward(const Problem& p, const ConstTensorView& dout, const ConstLseView* dlse,
                        BackwardResult* squares) {
  BackwardResult result;
  result.dq.assign(usize(p.q.rows * p.heads_q * p.head_dim), 0);
  result.dk.assign(usize(p.k.rows * p.heads_kv * p.head_dim), 0);
  result.dv = result.dk;
  if (squares != nullptr) *squares = result;
  const std::vector<Rows> batch = sequences(p);
  for_each_kv_head(p, [&](std::int64_t g) {
    for (const Rows& rows : batch) {
      const Matrix k(p.k, rows.kv_begin, rows.kv_length, g);
      const Matrix v(p.v, rows.kv_begin, rows.kv_length, g);
      for_each_query_head(p, g, [&](std::int64_t head) {
        const Matrix q(p.q, rows.q_begin, rows.q_length, head);
        const Matrix douts(dout, rows.out_begin, rows.q_length, head);
        for (std::int64_t i = 0; i < rows.q_length; ++i) {
          const std::int64_t out_row = rows.out_begin + i;
          const double row_dlse =
              dlse != nullptr ? dlse->data[head * dlse->head_stride + out_row] : 0.0;
          const RowGradient gradient{p, rows, head, i, q.row(i), douts.row(i), row_dlse};
          gradient.add_to(result, squares, k, v);
        }
      });
    }
  });
  return result;
}

}  // namespace jfa::reference
