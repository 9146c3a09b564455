// The oracle against cases solved by hand and against its own numeric derivatives.
#include "reference/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "batch/batch.hpp"

namespace jfa {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

HostTensor indices(std::initializer_list<std::int64_t> values, DType dtype = DType::kI32) {
  HostTensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
  std::int64_t i = 0;
  for (const std::int64_t value : values) tensor.set(i++, static_cast<double>(value));
  return tensor;
}

/// Packed tensor of the values given, in memory order.
HostTensor tensor(std::vector<std::int64_t> shape, const std::vector<double>& values,
                  DType dtype = DType::kF32) {
  HostTensor t(dtype, std::move(shape));
  EXPECT_EQ(t.size(), static_cast<std::int64_t>(values.size()));
  for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, values[static_cast<std::size_t>(i)]);
  return t;
}

HostTensor filled(std::vector<std::int64_t> shape, double value) {
  HostTensor t(DType::kF32, std::move(shape));
  t.fill(value);
  return t;
}

/// Normal values rounded to a grid of 2^-12, so that steps of larger powers of two are exact.
HostTensor on_grid(std::vector<std::int64_t> shape, std::uint64_t seed) {
  HostTensor t = random_tensor(DType::kF32, std::move(shape), seed);
  for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, std::round(t.at(i) * 0x1p12) * 0x1p-12);
  return t;
}

Problem problem_of(const Batch& batch, Options options = {}) {
  options.mask = batch.mask();
  Problem problem;
  throw_if_failed(check_inputs(batch.inputs(), options, {}, problem));
  throw_if_failed(check_host_indices(problem));
  return problem;
}

/// One sequence, one head; q, k and v are on_grid unless replaced.
Batch one_sequence(std::int64_t q_length, std::int64_t kv_length, std::int64_t head_dim) {
  Batch batch;
  batch.q = on_grid({q_length, 1, head_dim}, 1);
  batch.k = on_grid({kv_length, 1, head_dim}, 2);
  batch.v = on_grid({kv_length, 1, head_dim}, 3);
  batch.q_offsets = indices({0, q_length});
  batch.kv_offsets = indices({0, kv_length});
  return batch;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    EXPECT_NEAR(a[i], b[i], tolerance) << "element " << i;
  }
}

// ---- loading ----

TEST(ReferenceLoad, DecodesEveryFormat) {
  const std::uint16_t bf16[] = {0x3f80, 0xc000, 0x0000, 0x7f80, 0x4049, 0x0001};
  const ConstTensorView b = packed(static_cast<const void*>(bf16), DType::kBf16, 6, 1, 1);
  EXPECT_EQ(reference::load(b, 0, 0, 0), 1);
  EXPECT_EQ(reference::load(b, 1, 0, 0), -2);
  EXPECT_EQ(reference::load(b, 2, 0, 0), 0);
  EXPECT_EQ(reference::load(b, 3, 0, 0), kInf);
  EXPECT_EQ(reference::load(b, 4, 0, 0), 3.140625);
  EXPECT_EQ(reference::load(b, 5, 0, 0), std::ldexp(1, -133));
  const std::uint16_t f16[] = {0x3c00, 0xc000, 0x8000, 0xfc00, 0x7bff, 0x0001, 0x7e00, 0x0400};
  const ConstTensorView h = packed(static_cast<const void*>(f16), DType::kF16, 8, 1, 1);
  EXPECT_EQ(reference::load(h, 0, 0, 0), 1);
  EXPECT_EQ(reference::load(h, 1, 0, 0), -2);
  EXPECT_TRUE(std::signbit(reference::load(h, 2, 0, 0)));
  EXPECT_EQ(reference::load(h, 3, 0, 0), -kInf);
  EXPECT_EQ(reference::load(h, 4, 0, 0), 65504);
  EXPECT_EQ(reference::load(h, 5, 0, 0), std::ldexp(1, -24));
  EXPECT_TRUE(std::isnan(reference::load(h, 6, 0, 0)));
  EXPECT_EQ(reference::load(h, 7, 0, 0), std::ldexp(1, -14));
}

TEST(ReferenceLoad, FollowsStrides) {
  std::vector<float> values(100);
  std::iota(values.begin(), values.end(), 0.F);
  const ConstTensorView view{values.data(), DType::kF32, 3, 2, 4, 30, 7};
  EXPECT_EQ(reference::load(view, 2, 1, 3), 70);
}

// ---- values known by hand ----

TEST(Reference, EqualScoresGiveTheMeanOfV) {
  Batch batch = one_sequence(1, 4, 2);
  batch.q = filled({1, 1, 2}, 0);
  batch.v = tensor({4, 1, 2}, {1, 10, 2, 20, 3, 30, 6, 60});
  const auto result = reference::forward(problem_of(batch));
  expect_near(result.out, {3, 30}, 1e-14);
  expect_near(result.lse, {std::log(4)}, 1e-14);
}

TEST(Reference, TwoScoresByHand) {
  Batch batch = one_sequence(1, 2, 1);
  batch.q = tensor({1, 1, 1}, {2});
  batch.k = tensor({2, 1, 1}, {1, 2});
  batch.v = tensor({2, 1, 1}, {10, -10});
  // Scores 2 and 4 (1 / sqrt(1) = 1): lse = 4 + log(1 + e^-2), P = 1 / (1 + e^2) and the rest.
  const auto result = reference::forward(problem_of(batch));
  expect_near(result.lse, {4.126928011042972}, 1e-14);
  expect_near(result.out, {-7.615941559557649}, 1e-13);
  // Softcapped at 4 they become 4 tanh(1/2) and 4 tanh(1).
  Options capped;
  capped.softcap = 4;
  expect_near(reference::forward(problem_of(batch, capped)).lse, {3.310143727943637}, 1e-14);
}

TEST(Reference, DefaultScaleIsOneOverSqrtHeadDim) {
  Batch batch = one_sequence(1, 1, 4);
  batch.q = filled({1, 1, 4}, 1);
  batch.k = filled({1, 1, 4}, 3);
  expect_near(reference::forward(problem_of(batch)).lse, {6}, 1e-14);
}

TEST(Reference, SingleKeyGivesItsValueAndNoGradientToTheScores) {
  const Batch batch = one_sequence(3, 1, 5);
  const Problem problem = problem_of(batch);
  const auto result = reference::forward(problem);
  for (std::int64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(result.out[static_cast<std::size_t>(i)], batch.v.at(i % 5));
  }
  const HostTensor dout = filled({3, 1, 5}, 2);
  const auto gradient = reference::backward(problem, dout.view(), nullptr);
  expect_near(gradient.dq, std::vector<double>(15), 1e-15);
  expect_near(gradient.dk, std::vector<double>(5), 1e-15);
  expect_near(gradient.dv, std::vector<double>(5, 6), 1e-14);
}

TEST(Reference, AFarHigherScoreTakesAll) {
  Batch batch = one_sequence(1, 3, 1);
  batch.q = tensor({1, 1, 1}, {1000});
  batch.k = tensor({3, 1, 1}, {-1, 5, 1});
  batch.v = tensor({3, 1, 1}, {7, 8, 9});
  const auto result = reference::forward(problem_of(batch));
  expect_near(result.out, {8}, 0);
  expect_near(result.lse, {5000}, 0);
}

TEST(Reference, ScaleMayBeZeroOrNegative) {
  Batch batch = one_sequence(2, 3, 4);
  Options options;
  options.softmax_scale = 0;
  const auto zero = reference::forward(problem_of(batch, options));
  expect_near(zero.lse, {std::log(3), std::log(3)}, 1e-14);
  options.softmax_scale = -0.75;
  const auto negative = reference::forward(problem_of(batch, options));
  for (std::int64_t i = 0; i < batch.q.size(); ++i) batch.q.set(i, -batch.q.at(i));
  options.softmax_scale = 0.75;
  const auto negated = reference::forward(problem_of(batch, options));
  expect_near(negative.out, negated.out, 1e-15);
  expect_near(negative.lse, negated.lse, 1e-15);
}

TEST(Reference, ARowOfMinusInfinityScoresSeesNothing) {
  Batch batch = one_sequence(2, 2, 2);
  batch.q = tensor({2, 1, 2}, {1, 1, -1, 1});
  batch.k = tensor({2, 1, 2}, {-kInf, 1, -kInf, 2});
  const Problem problem = problem_of(batch);
  const auto result = reference::forward(problem);
  EXPECT_EQ(result.lse[0], -kInf);
  EXPECT_EQ(result.out[0], 0);
  EXPECT_EQ(result.out[1], 0);
  EXPECT_TRUE(std::isnan(result.lse[1]));  // its scores are +inf
  batch.q.set(2, 1);
  const HostTensor dout = filled({2, 1, 2}, 1);
  const auto gradient = reference::backward(problem_of(batch), dout.view(), nullptr);
  expect_near(gradient.dq, {0, 0, 0, 0}, 0);
  expect_near(gradient.dk, {0, 0, 0, 0}, 0);
  expect_near(gradient.dv, {0, 0, 0, 0}, 0);
}

// ---- masks ----

struct MaskCase {
  bool causal;
  Window window;
  std::vector<std::string> sees;  ///< a string a query, 'x' for each key it sees
};

/// With q = 0 and v the identity, row i of out is 1 / n at the n keys it sees.
std::vector<std::string> visible(const Batch& batch) {
  const auto result = reference::forward(problem_of(batch));
  const auto head_dim = static_cast<std::size_t>(batch.v.shape()[2]);
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < result.out.size(); ++i) {
    if (i % head_dim == 0) rows.emplace_back();
    rows.back() += result.out[i] != 0 ? 'x' : '.';
  }
  return rows;
}

TEST(ReferenceMask, CausalAndWindowsByTable) {
  const MaskCase cases[] = {
      {false, {}, {"xxx", "xxx"}},
      {true, {}, {"x..", "xx.", "xxx"}},
      {true, {}, {"xxx.", "xxxx"}},             // two queries more than a prefix of two keys
      {true, {}, {"..", "..", "x.", "xx"}},     // more queries than keys: the first see nothing
      {true, {-1, 3}, {"x..", "xx.", "xxx"}},   // the tighter of causal and right
      {false, {-1, 0}, {"x..", "xx.", "xxx"}},  // causal by another name
      {false, {-1, 1}, {"xx..", "xxx.", "xxxx", "xxxx"}},
      {false, {0, -1}, {"xxx", ".xx", "..x"}},
      {false, {1, -1}, {"xxxx", "xxxx", ".xxx", "..xx"}},
      {false, {0, 0}, {"x..", ".x.", "..x"}},
      {false, {1, 1}, {"xx...", "xxx..", ".xxx.", "..xxx", "...xx"}},
      {true, {2, 2}, {"x....", "xx...", "xxx..", ".xxx.", "..xxx"}},
      {false, {1, 0}, {".xx..", "..xx.", "...xx"}},          // queries at key positions 2, 3, 4
      {false, {0, 1}, {"...", "x..", "xx.", ".xx", "..x"}},  // at positions -2 .. 2
      {false, {1, 0}, {"...", "...", "x..", "xx.", ".xx"}},
      {false, {100, 100}, {"xx", "xx", "xx"}},
  };
  for (const MaskCase& c : cases) {
    const auto q_length = static_cast<std::int64_t>(c.sees.size());
    const auto kv_length = static_cast<std::int64_t>(c.sees[0].size());
    Batch batch = one_sequence(q_length, kv_length, kv_length);
    batch.q.fill(0);
    batch.v.fill(0);
    for (std::int64_t j = 0; j < kv_length; ++j) batch.v.set(j * kv_length + j, 1);
    batch.causal = c.causal;
    batch.window = c.window;
    EXPECT_EQ(visible(batch), c.sees)
        << "causal " << c.causal << " window " << c.window.left << ", " << c.window.right;
  }
}

/// Sequences of 130 x 70 and 64 x 200; blocks of 64 by 64; two heads.
Batch block_sparse_batch(bool by_head) {
  Batch batch;
  batch.q = filled({194, 2, 200}, 0);
  batch.k = filled({270, 1, 200}, 0);
  batch.v = filled({270, 1, 200}, 0);
  for (std::int64_t j = 0; j < 70; ++j) batch.v.set(j * 200 + j, 1);
  for (std::int64_t j = 0; j < 200; ++j) batch.v.set((70 + j) * 200 + j, 1);
  batch.q_offsets = indices({0, 130, 194});
  batch.kv_offsets = indices({0, 70, 270}, DType::kI64);
  batch.block_q = batch.block_kv = 64;
  // Head 0: {1}, {}, {0, 1} and {0, 3}. Head 1: {0}, {0, 1}, {} and {2}, then an unread entry.
  batch.block_columns = indices({1, 0, 1, 0, 3, 0, 0, 1, 2, 77});
  batch.block_row_offsets = by_head ? HostTensor(DType::kI64, {2, 6}) : indices({0, 1, 1, 3, 5});
  if (by_head) {
    const std::int64_t values[] = {0, 1, 1, 3, 5, -9, 5, 6, 8, 8, 9, -9};
    for (std::int64_t i = 0; i < 12; ++i) {
      batch.block_row_offsets->set(i, static_cast<double>(values[i]));
    }
  }
  return batch;
}

/// First key seen and number of keys seen of a row, from out as visible() explains.
std::pair<std::int64_t, std::int64_t> keys_of(const std::vector<double>& out, std::int64_t row,
                                              std::int64_t head) {
  std::int64_t first = -1;
  std::int64_t count = 0;
  for (std::int64_t j = 199; j >= 0; --j) {
    if (out[static_cast<std::size_t>((row * 2 + head) * 200 + j)] == 0) continue;
    first = j;
    ++count;
  }
  return {first, count};
}

TEST(ReferenceMask, BlockListsSharedAndByHead) {
  using Keys = std::pair<std::int64_t, std::int64_t>;
  for (const bool by_head : {false, true}) {
    const auto out = reference::forward(problem_of(block_sparse_batch(by_head))).out;
    const std::int64_t heads = by_head ? 1 : 2;  // heads that use the first lists
    for (std::int64_t head = 0; head < heads; ++head) {
      EXPECT_EQ(keys_of(out, 0, head), Keys(64, 6));
      EXPECT_EQ(keys_of(out, 63, head), Keys(64, 6));
      EXPECT_EQ(keys_of(out, 64, head), Keys(-1, 0));
      EXPECT_EQ(keys_of(out, 127, head), Keys(-1, 0));
      EXPECT_EQ(keys_of(out, 128, head), Keys(0, 70));
      EXPECT_EQ(keys_of(out, 129, head), Keys(0, 70));
      EXPECT_EQ(keys_of(out, 130, head), Keys(0, 72));
      EXPECT_EQ(keys_of(out, 193, head), Keys(0, 72));
    }
    if (!by_head) continue;
    EXPECT_EQ(keys_of(out, 63, 1), Keys(0, 64));
    EXPECT_EQ(keys_of(out, 64, 1), Keys(0, 70));
    EXPECT_EQ(keys_of(out, 129, 1), Keys(-1, 0));
    EXPECT_EQ(keys_of(out, 130, 1), Keys(128, 64));
  }
}

TEST(ReferenceMask, BlockListsCombineWithCausal) {
  Batch batch = block_sparse_batch(false);
  batch.causal = true;
  const auto out = reference::forward(problem_of(batch)).out;
  using Keys = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(keys_of(out, 63, 0), Keys(-1, 0));   // at key position 3: block 1 lies ahead
  EXPECT_EQ(keys_of(out, 128, 0), Keys(0, 69));  // at key position 68
  EXPECT_EQ(keys_of(out, 130, 1), Keys(0, 64));  // at key position 136: not yet block 3
  EXPECT_EQ(keys_of(out, 193, 1), Keys(0, 72));
}

// ---- packing ----

/// Two heads over one key head; rows in use of the sequences: 2 x 3, 0 x 2, 3 x 0, 1 x 4.
Batch dense_batch() {
  Batch batch;
  batch.q = on_grid({6, 2, 3}, 5);
  batch.k = on_grid({9, 1, 3}, 6);
  batch.v = on_grid({9, 1, 3}, 7);
  batch.q_offsets = indices({0, 2, 2, 5, 6}, DType::kI64);
  batch.kv_offsets = indices({0, 3, 5, 5, 9});
  batch.causal = true;
  return batch;
}

/// Where each row of dense_batch lies in gapped_batch.
constexpr std::int64_t kQueryRows[] = {0, 1, 4, 5, 6, 8};
constexpr std::int64_t kKeyRows[] = {0, 1, 2, 3, 4, 8, 9, 10, 11};

HostTensor spread(const HostTensor& dense, std::span<const std::int64_t> to, std::int64_t rows) {
  HostTensor t = filled({rows, dense.shape()[1], dense.shape()[2]}, kNan);
  const std::int64_t width = dense.shape()[1] * dense.shape()[2];
  for (std::size_t r = 0; r < to.size(); ++r) {
    for (std::int64_t d = 0; d < width; ++d) {
      t.set(to[r] * width + d, dense.at(static_cast<std::int64_t>(r) * width + d));
    }
  }
  return t;
}

/// dense_batch with gaps and slack of NaN.
Batch gapped_batch() {
  const Batch dense = dense_batch();
  Batch batch;
  batch.q = spread(dense.q, kQueryRows, 11);
  batch.k = spread(dense.k, kKeyRows, 15);
  batch.v = spread(dense.v, kKeyRows, 15);
  batch.q_offsets = indices({0, 3, 4, 8, 10});
  batch.q_lengths = indices({2, 0, 3, 1});
  batch.kv_offsets = indices({0, 3, 5, 8, 13});
  batch.kv_lengths = indices({3, 2, 0, 4}, DType::kI64);
  batch.causal = true;
  return batch;
}

/// Rows `from` of a packed `[rows, width]` result; every other row must be zero.
std::vector<double> gather(const std::vector<double>& all, std::span<const std::int64_t> from,
                           std::size_t width) {
  std::vector<double> rest = all;
  std::vector<double> rows;
  for (const std::int64_t row : from) {
    for (std::size_t d = 0; d < width; ++d) {
      double& value = rest[static_cast<std::size_t>(row) * width + d];
      rows.push_back(value);
      value = 0;
    }
  }
  for (const double value : rest) EXPECT_EQ(value, 0);
  return rows;
}

TEST(ReferencePacking, GapsAndSlackAreNeverRead) {
  const Batch dense = dense_batch();
  const Batch gapped = gapped_batch();
  const auto expected = reference::forward(problem_of(dense));
  const auto result = reference::forward(problem_of(gapped));
  EXPECT_EQ(gather(result.out, kQueryRows, 6), expected.out);
  std::vector<double> lse(22, -kInf);
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t r = 0; r < 6; ++r) {
      lse[head * 11 + static_cast<std::size_t>(kQueryRows[r])] = expected.lse[head * 6 + r];
    }
  }
  EXPECT_EQ(result.lse, lse);
  const HostTensor dout = on_grid({6, 2, 3}, 8);
  const auto dense_gradient = reference::backward(problem_of(dense), dout.view(), nullptr);
  const HostTensor gapped_dout = spread(dout, kQueryRows, 11);
  const auto gradient = reference::backward(problem_of(gapped), gapped_dout.view(), nullptr);
  EXPECT_EQ(gather(gradient.dq, kQueryRows, 6), dense_gradient.dq);
  EXPECT_EQ(gather(gradient.dk, kKeyRows, 3), dense_gradient.dk);
  EXPECT_EQ(gather(gradient.dv, kKeyRows, 3), dense_gradient.dv);
}

TEST(ReferencePacking, QueriesWithoutKeysSeeNothing) {
  const auto result = reference::forward(problem_of(dense_batch()));
  for (const std::size_t row : {2U, 3U, 4U}) {
    EXPECT_EQ(result.lse[row], -kInf);
    EXPECT_EQ(result.lse[6 + row], -kInf);
    for (std::size_t d = 0; d < 6; ++d) EXPECT_EQ(result.out[row * 6 + d], 0);
  }
}

TEST(ReferencePacking, NoSequences) {
  Batch batch;
  batch.q = filled({2, 1, 3}, kNan);
  batch.k = filled({0, 1, 3}, 0);
  batch.v = filled({0, 1, 3}, 0);
  batch.q_offsets = indices({0});
  batch.kv_offsets = indices({0});
  const auto result = reference::forward(problem_of(batch));
  EXPECT_EQ(result.out, std::vector<double>(6));
  EXPECT_EQ(result.lse, std::vector<double>(2, -kInf));
  batch.q_offsets.reset();
  const auto broadcast = reference::forward(problem_of(batch));
  EXPECT_TRUE(broadcast.out.empty());
  const HostTensor dout = filled({0, 1, 3}, 0);
  const auto gradient = reference::backward(problem_of(batch), dout.view(), nullptr);
  EXPECT_EQ(gradient.dq, std::vector<double>(6));
}

TEST(ReferencePacking, BroadcastQueriesAreRepeatedQueries) {
  Batch shared = dense_batch();
  shared.q = on_grid({2, 2, 3}, 5);
  shared.q_offsets.reset();
  Batch repeated = dense_batch();
  repeated.q = HostTensor(DType::kF32, {8, 2, 3});
  for (std::int64_t i = 0; i < 48; ++i) repeated.q.set(i, shared.q.at(i % 12));
  repeated.q_offsets = indices({0, 2, 4, 6, 8});
  const auto a = reference::forward(problem_of(shared));
  const auto b = reference::forward(problem_of(repeated));
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(a.lse, b.lse);
  const HostTensor dout = on_grid({8, 2, 3}, 8);
  const auto da = reference::backward(problem_of(shared), dout.view(), nullptr);
  const auto db = reference::backward(problem_of(repeated), dout.view(), nullptr);
  EXPECT_EQ(da.dk, db.dk);
  EXPECT_EQ(da.dv, db.dv);
  std::vector<double> sum(12);
  for (std::size_t i = 0; i < 48; ++i) sum[i % 12] += db.dq[i];
  expect_near(da.dq, sum, 1e-14);
}

TEST(ReferencePacking, GroupedHeadsAreRepeatedKeyHeads) {
  const Batch grouped = dense_batch();
  Batch repeated = dense_batch();
  repeated.k = HostTensor(DType::kF32, {9, 2, 3});
  repeated.v = HostTensor(DType::kF32, {9, 2, 3});
  for (std::int64_t i = 0; i < 54; ++i) {
    repeated.k.set(i, grouped.k.at(i / 6 * 3 + i % 3));
    repeated.v.set(i, grouped.v.at(i / 6 * 3 + i % 3));
  }
  EXPECT_EQ(reference::forward(problem_of(grouped)).out,
            reference::forward(problem_of(repeated)).out);
  const HostTensor dout = on_grid({6, 2, 3}, 8);
  const auto da = reference::backward(problem_of(grouped), dout.view(), nullptr);
  const auto db = reference::backward(problem_of(repeated), dout.view(), nullptr);
  EXPECT_EQ(da.dq, db.dq);
  std::vector<double> dk(27);
  std::vector<double> dv(27);
  for (std::size_t i = 0; i < 54; ++i) {
    dk[i / 6 * 3 + i % 3] += db.dk[i];
    dv[i / 6 * 3 + i % 3] += db.dv[i];
  }
  expect_near(da.dk, dk, 1e-14);
  expect_near(da.dv, dv, 1e-14);
}

TEST(ReferencePacking, NanStaysInItsSequence) {
  Batch batch = dense_batch();
  const auto clean = reference::forward(problem_of(batch));
  batch.k.set(0, kNan);
  batch.v.set(1, kInf);
  const auto result = reference::forward(problem_of(batch));
  EXPECT_TRUE(std::isnan(result.lse[0]));
  EXPECT_TRUE(std::isnan(result.out[0]));
  for (std::size_t i = 12; i < 36; ++i) EXPECT_EQ(result.out[i], clean.out[i]);
}

// ---- derivatives ----

struct Loss {
  HostTensor dout;
  HostTensor dlse;
  bool with_dlse = false;

  /// sum(out * dout) + sum(lse * dlse) over the rows that see something
  double of(const Problem& problem) const {
    const auto result = reference::forward(problem);
    double sum = 0;
    for (std::size_t i = 0; i < result.out.size(); ++i) {
      sum += result.out[i] * dout.at(static_cast<std::int64_t>(i));
    }
    for (std::size_t i = 0; with_dlse && i < result.lse.size(); ++i) {
      if (result.lse[i] != -kInf) sum += result.lse[i] * dlse.at(static_cast<std::int64_t>(i));
    }
    return sum;
  }
};

/// Fourth-order central difference of f by x's element i.
double derivative(HostTensor& x, std::int64_t i, const std::function<double()>& f) {
  constexpr double step = 0x1p-8;
  const double middle = x.at(i);
  const auto at = [&](double steps) {
    x.set(i, middle + steps * step);
    return f();
  };
  const double slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step);
  x.set(i, middle);
  return slope;
}

/// Compares `samples` elements (0: all) of each gradient with the numeric derivative.
void check_gradients(Batch& batch, const Options& options, bool with_dlse,
                     std::int64_t samples = 0) {
  const std::int64_t rows = batch.out_rows();
  const auto& shape = batch.q.shape();
  const Loss loss{on_grid({rows, shape[1], shape[2]}, 11), on_grid({shape[1], rows}, 12),
                  with_dlse};
  const Problem problem = problem_of(batch, options);
  const ConstLseView dlse = loss.dlse.lse_view();
  const auto gradient = reference::backward(problem, loss.dout.view(), with_dlse ? &dlse : nullptr);
  const auto compare = [&](const char* name, HostTensor& x, const std::vector<double>& dx) {
    ASSERT_EQ(x.size(), static_cast<std::int64_t>(dx.size()));
    std::minstd_rand random;
    for (std::int64_t n = 0; n < (samples > 0 ? samples : x.size()); ++n) {
      const std::int64_t i = samples > 0 ? static_cast<std::int64_t>(random()) % x.size() : n;
      const double expected = derivative(x, i, [&] { return loss.of(problem); });
      EXPECT_NEAR(dx[static_cast<std::size_t>(i)], expected, 1e-8) << name << " element " << i;
    }
  };
  compare("dq", batch.q, gradient.dq);
  compare("dk", batch.k, gradient.dk);
  compare("dv", batch.v, gradient.dv);
}

/// Four heads over two; rows in use 3 x 4, 0 x 2, 2 x 0, 4 x 2, with gaps and slack where asked.
Batch gradient_batch(bool broadcast_q, bool gaps, bool grouped) {
  Batch batch;
  const std::int64_t heads_kv = grouped ? 1 : 2;
  batch.q = on_grid({broadcast_q ? 3 : 12, 2, 3}, 21);
  batch.k = on_grid({11, heads_kv, 3}, 22);
  batch.v = on_grid({11, heads_kv, 3}, 23);
  batch.kv_offsets = indices({0, 4, 6, 6 + (gaps ? 1 : 0), 8 + (gaps ? 2 : 0)});
  if (gaps) batch.kv_lengths = indices({4, 2, 0, 2});
  if (broadcast_q) return batch;
  batch.q_offsets = indices({0, 3, 3 + (gaps ? 1 : 0), 5 + (gaps ? 2 : 0), 9 + (gaps ? 2 : 0)});
  if (gaps) batch.q_lengths = indices({3, 0, 2, 4});
  return batch;
}

TEST(ReferenceGradient, EveryCombinationOfFeatures) {
  const Window windows[] = {{}, {1, -1}, {1, 1}, {0, 2}};
  const std::optional<double> scales[] = {std::nullopt, -0.7, 0.0};
  int combination = 0;
  for (int flags = 0; flags < 32; ++flags) {
    for (const Window& window : windows) {
      const bool broadcast_q = (flags & 1) != 0;
      Batch batch = gradient_batch(broadcast_q, (flags & 2) != 0, (flags & 4) != 0);
      batch.causal = (flags & 8) != 0;
      batch.window = window;
      Options options;
      options.softcap = (flags & 16) != 0 ? 1.5 : 0;
      // Both vary against the rest instead of multiplying it.
      options.softmax_scale = scales[combination % 3];
      const bool with_dlse = combination % 5 < 3;
      SCOPED_TRACE("flags " + std::to_string(flags) + " window " + std::to_string(window.left) +
                   ", " + std::to_string(window.right) + " combination " +
                   std::to_string(combination));
      check_gradients(batch, options, with_dlse);
      ++combination;
    }
  }
}

TEST(ReferenceGradient, BlockLists) {
  for (const bool by_head : {false, true}) {
    Batch batch = block_sparse_batch(by_head);
    batch.q = on_grid({194, 2, 2}, 31);
    batch.k = on_grid({270, 1, 2}, 32);
    batch.v = on_grid({270, 1, 2}, 33);
    batch.window = {90, 30};
    check_gradients(batch, {}, true, 12);
  }
}

}  // namespace
}  // namespace jfa
