#include "kernels/samples/emulated_samples.hpp"

#include <cmath>

#include "kernels/samples/attention_tile.hpp"
#include "kernels/samples/gemm.hpp"
#include "kernels/samples/multicast_copy.hpp"
#include "kernels/samples/pair_gemm.hpp"
#include "kernels/samples/ring_copy.hpp"
#include "kernels/samples/softmax.hpp"
#include "kernels/samples/tmem_gemm.hpp"
#include "machine/emulator/buffers.hpp"
#include "machine/emulator/emulated_blackwell.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using M = EmulatedHopper;
using emulator::Buffers;
using emulator::Outcome;
using emulator::RunOptions;
using emulator::Subject;

// Small integers: sums of products are exact whatever their order.
template <class T>
std::vector<T> integers(std::size_t count, unsigned salt) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int value = static_cast<int>((i * 2654435761U + std::size_t{salt} * 97U) >> 7 & 7U) - 3;
    if constexpr (sizeof(T) == 2) {
      values[i].bits = encode_half(value, kBf16Format);
    } else {
      values[i] = static_cast<T>(value);
    }
  }
  return values;
}

// What a kernel should give, computed once for all runs.
template <class Fn>
std::vector<double> expected(std::size_t count, Fn fn) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = fn(i);
  return values;
}

// Empty, or where `got` differs from `want` by more than `tolerance` (absolute and relative).
template <class T>
std::string compare(const T* got, double tolerance, const std::vector<double>& want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double value = M::to_float(got[i]);
    if (std::abs(value - want[i]) <= tolerance * (1 + std::abs(want[i]))) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(value) + ", not " +
           std::to_string(want[i]);
  }
  return "";
}

// sum over l of x[row][l] y[col][l]
double dot(const std::vector<bf16>& x, const std::vector<bf16>& y, std::size_t row, std::size_t col,
           std::size_t depth) {
  double sum = 0;
  for (std::size_t l = 0; l < depth; ++l) {
    sum += double{M::to_float(x[row * depth + l])} * M::to_float(y[col * depth + l]);
  }
  return sum;
}

constexpr double kExact = 0;
constexpr double kHalfRounding = 0.0045;

Outcome ring_copy(const RunOptions& options) {
  using Kernel = RingCopy<M, RingCopyConfig{.tile_rows = 8, .slots = 2}>;
  constexpr int kRows = 43, kCols = 136;
  const auto in = integers<bf16>(std::size_t{kRows} * kCols, 1);
  Buffers buffers;
  bf16* from = buffers.input("in", in);
  bf16* to = buffers.output<bf16>("out", in.size());
  Outcome outcome;
  outcome.result =
      launch<Kernel>(buffers.device(), options, 2, Kernel::make_params(from, to, kRows, kCols));
  static const auto want = expected(in.size(), [&](std::size_t i) { return M::to_float(in[i]); });
  outcome.wrong = compare(to, kExact, want);
  return outcome;
}

Outcome multicast_copy(const RunOptions& options) {
  using Kernel = MulticastCopy<M, MulticastCopyConfig{.tile_rows = 16, .slots = 2}>;
  constexpr int kRows = 83, kCols = 72;
  const auto in = integers<bf16>(std::size_t{kRows} * kCols, 2);
  Buffers buffers;
  bf16* from = buffers.input("in", in);
  bf16* to = buffers.output<bf16>("out", 2 * in.size());
  Outcome outcome;
  outcome.result =
      launch<Kernel>(buffers.device(), options, 2, Kernel::make_params(from, to, kRows, kCols));
  static const auto want =
      expected(2 * in.size(), [&](std::size_t i) { return M::to_float(in[i % in.size()]); });
  outcome.wrong = compare(to, kExact, want);
  return outcome;
}

Outcome softmax(const RunOptions& options) {
  constexpr SoftmaxConfig kConfig{.cols = 64};
  using Kernel = Softmax<M, kConfig>;
  constexpr int kRows = 200;
  constexpr std::size_t kCols = kConfig.cols;
  const auto in = integers<float>(kRows * kCols, 3);
  Buffers buffers;
  float* from = buffers.input("in", in);
  bf16* to = buffers.output<bf16>("out", in.size());
  Outcome outcome;
  outcome.result =
      launch<Kernel>(buffers.device(), options, 1, Kernel::make_params(from, to, kRows, 0.5F));
  static const auto want = expected(in.size(), [&](std::size_t i) {
    double sum = 0;
    for (std::size_t c = 0; c < kCols; ++c) sum += std::exp(0.5 * in[i / kCols * kCols + c]);
    return std::exp(0.5 * in[i]) / sum;
  });
  outcome.wrong = compare(to, kHalfRounding, want);
  return outcome;
}

template <class Kernel>
Outcome gemm(const RunOptions& options) {
  constexpr int kM = 150, kN = 136, kK = 200;
  const auto a = integers<bf16>(std::size_t{kM} * kK, 4);
  const auto b = integers<bf16>(std::size_t{kN} * kK, 5);
  Buffers buffers;
  bf16* left = buffers.input("a", a);
  bf16* right = buffers.input("b", b);
  constexpr std::size_t kCount = std::size_t{kM} * kN;
  using Output = typename Kernel::Output;
  Output* to = sizeof(Output) == 2 ? buffers.output<Output>("c", kCount)
                                   : buffers.zeros<Output>("c", kCount);
  Outcome outcome;
  outcome.result = launch<Kernel>(buffers.device(), options, 2,
                                  Kernel::make_params(left, right, to, kM, kN, kK));
  static const auto want =
      expected(kCount, [&](std::size_t i) { return dot(a, b, i / kN, i % kN, kK); });
  outcome.wrong = compare(to, sizeof(Output) == 2 ? kHalfRounding : kExact, want);
  return outcome;
}

Outcome attention_tile(const RunOptions& options) {
  constexpr AttentionTileConfig kConfig{.keys = 64, .depth = 64};
  using Kernel = AttentionTile<M, kConfig>;
  constexpr std::size_t kKeys = kConfig.keys, kDepth = kConfig.depth;
  const auto q = integers<bf16>(Kernel::kQueries * kDepth, 6);
  const auto k = integers<bf16>(kKeys * kDepth, 7);
  const auto v = integers<bf16>(kKeys * kDepth, 8);
  constexpr float kScale = 0.02F;
  Buffers buffers;
  bf16* queries = buffers.input("q", q);
  bf16* keys = buffers.input("k", k);
  bf16* values = buffers.input("v", v);
  bf16* to = buffers.output<bf16>("out", q.size());
  Outcome outcome;
  outcome.result = launch<Kernel>(buffers.device(), options, 1,
                                  Kernel::make_params(queries, keys, values, to, kScale));
  static const auto want = expected(q.size(), [&](std::size_t i) {
    double sum = 0, weights = 0;
    for (std::size_t key = 0; key < kKeys; ++key) {
      const double weight = std::exp(kScale * dot(q, k, i / kDepth, key, kDepth));
      weights += weight;
      sum += weight * M::to_float(v[key * kDepth + i % kDepth]);
    }
    return sum / weights;
  });
  outcome.wrong = compare(to, 2 * kHalfRounding, want);
  return outcome;
}

constexpr GemmConfig kSmallGemm{.tile_n = 64, .tile_k = 64, .stages = 2, .band = 2};
constexpr GemmConfig kSplitGemm{.tile_n = 64, .tile_k = 64, .stages = 2, .splits = 2, .band = 2};

// Values of a run that ended early mean nothing.
Subject subject(std::string name, Outcome (*run)(const RunOptions&)) {
  return {std::move(name), [run](const RunOptions& options) {
            Outcome outcome = run(options);
            if (outcome.result.finding.found()) outcome.wrong.clear();
            return outcome;
          }};
}

}  // namespace
}  // namespace emulated

std::vector<emulator::Subject> sample_subjects() {
  return {subject("ring_copy", ring_copy),
          subject("multicast_copy", multicast_copy),
          subject("softmax", softmax),
          subject("gemm", gemm<Gemm<M, kSmallGemm>>),
          subject("split_gemm", gemm<Gemm<M, kSplitGemm>>),
          subject("tmem_gemm", gemm<TmemGemm<EmulatedBlackwell, kSmallGemm>>),
          subject("pair_gemm", gemm<PairGemm<EmulatedBlackwell, kSmallGemm>>),
          subject("attention_tile", attention_tile)};
}

}  // namespace jfa
