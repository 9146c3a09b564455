// Checks of the sample kernels against plain loops, for any machine.
//
// A Device runs kernels of its machine:
//   Device::M                                      the machine
//   T* upload(const std::vector<T>&)               a copy in device memory
//   T* poisoned<T>(count)                          device memory, every byte 0xFF (NaN)
//   T* zeroed<T>(count)                            device memory, every byte 0
//   void launch<K>(blocks, params)                 runs a kernel and waits for it
//   std::vector<T> download(const T*, count)
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/samples/attention_tile.hpp"
#include "kernels/samples/gemm.hpp"
#include "kernels/samples/mma_probe.hpp"
#include "kernels/samples/multicast_copy.hpp"
#include "kernels/samples/ring_copy.hpp"
#include "kernels/samples/softmax.hpp"
#include "numeric/half.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// Inputs: `Exact` are small integers, whose sums of products are exact in fp32 whatever the order,
/// so that every machine must give the same bits; `Spread` are reals rounded to the element type.
enum class Inputs { Exact, Spread };

template <class T>
inline constexpr HalfFormat kFormat =
    kElementType<T> == ElementType::Bf16 ? kBf16Format : kF16Format;

template <class T>
double value_of(T x) {
  return decode_half(x.bits, kFormat<T>);
}
inline double value_of(float x) { return x; }

template <class T>
std::vector<T> random_halves(std::size_t count, Inputs inputs, std::mt19937_64& random) {
  std::uniform_int_distribution<int> integers(-2, 2);
  std::uniform_real_distribution<double> reals(-1, 1);
  std::vector<T> values(count);
  for (T& x : values) {
    const double value = inputs == Inputs::Exact ? integers(random) : reals(random);
    x.bits = encode_half(value, kFormat<T>);
  }
  return values;
}

template <class T>
std::vector<float> values_of(const std::vector<T>& halves) {
  std::vector<float> values;
  for (const T& x : halves) values.push_back(static_cast<float>(value_of(x)));
  return values;
}

inline int random_between(int low, int high, std::mt19937_64& random) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

template <class T>
std::vector<std::uint16_t> bits_of(const std::vector<T>& values) {
  std::vector<std::uint16_t> bits;
  for (const T& x : values) bits.push_back(x.bits);
  return bits;
}

template <RingCopyConfig C, class Device>
void check_ring_copy(Device& device, int rows, int cols, int blocks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  const auto in = random_halves<bf16>(count, Inputs::Spread, random);
  bf16* out = device.template poisoned<bf16>(count);
  using Kernel = RingCopy<typename Device::M, C>;
  device.template launch<Kernel>(blocks, Kernel::make_params(device.upload(in), out, rows, cols));
  ASSERT_EQ(bits_of(device.download(out, count)), bits_of(in)) << rows << " x " << cols;
}

template <MulticastCopyConfig C, class Device>
void check_multicast_copy(Device& device, int rows, int cols, int clusters, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
  const auto in = random_halves<bf16>(count, Inputs::Spread, random);
  bf16* out = device.template poisoned<bf16>(2 * count);
  using Kernel = MulticastCopy<typename Device::M, C>;
  device.template launch<Kernel>(2 * clusters,
                                 Kernel::make_params(device.upload(in), out, rows, cols));
  ASSERT_EQ(bits_of(device.download(out, count)), bits_of(in)) << rows << " x " << cols;
  ASSERT_EQ(bits_of(device.download(out + count, count)), bits_of(in)) << rows << " x " << cols;
}

template <SoftmaxConfig C, class Device>
void check_softmax(Device& device, int rows, int blocks, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> reals(-8, 8);
  const std::size_t count = static_cast<std::size_t>(rows) * C.cols;
  std::vector<float> in(count);
  for (float& x : in) x = reals(random);
  const float scale = 0.5F;
  bf16* out = device.template poisoned<bf16>(count);
  using Kernel = Softmax<typename Device::M, C>;
  device.template launch<Kernel>(blocks, Kernel::make_params(device.upload(in), out, rows, scale));
  const auto got = device.download(out, count);
  for (std::size_t row = 0; row < count; row += C.cols) {
    double sum = 0;
    for (std::size_t i = row; i < row + C.cols; ++i) sum += std::exp(double{scale} * in[i]);
    for (std::size_t i = row; i < row + C.cols; ++i) {
      const double want = std::exp(double{scale} * in[i]) / sum;
      // Half a unit of bf16's last place, and what ex2.approx and fp32 sums add.
      ASSERT_NEAR(value_of(got[i]), want, want * 0.0045) << "element " << i;
    }
  }
}

/// The sum of products and of their magnitudes, for one element of A B^T.
struct Dot {
  double sum = 0;
  double magnitude = 0;

  void add(double product) {
    sum += product;
    magnitude += std::abs(product);
  }
};

/// `got` is `want` rounded to the output type, or near it when sums were rounded on the way.
template <class Output>
void expect_dot(Output got, const Dot& want, Inputs inputs, std::size_t element) {
  const bool half = sizeof(Output) == 2;
  if (inputs == Inputs::Exact) {
    const double exact =
        half ? decode_half(encode_half(want.sum, kBf16Format), kBf16Format) : want.sum;
    ASSERT_EQ(value_of(got), exact) << "element " << element;
  } else {
    const double rounding = half ? 0.0042 : 0;
    ASSERT_NEAR(value_of(got), want.sum, rounding * std::abs(want.sum) + 1e-6 * want.magnitude)
        << "element " << element;
  }
}

/// `Kernel` is a Gemm of some kind.
template <class Kernel, class Device>
void check_product(Device& device, int m, int n, int k, int blocks, Inputs inputs,
                   std::uint64_t seed) {
  using Output = typename Kernel::Output;
  std::mt19937_64 random(seed);
  const auto rows = static_cast<std::size_t>(m);
  const auto cols = static_cast<std::size_t>(n);
  const auto depth = static_cast<std::size_t>(k);
  const auto a = random_halves<bf16>(rows * depth, inputs, random);
  const auto b = random_halves<bf16>(cols * depth, inputs, random);
  Output* c = sizeof(Output) == 2 ? device.template poisoned<Output>(rows * cols)
                                  : device.template zeroed<Output>(rows * cols);
  device.template launch<Kernel>(
      blocks, Kernel::make_params(device.upload(a), device.upload(b), c, m, n, k));
  const auto got = device.download(c, rows * cols);
  const std::vector<float> x = values_of(a);
  const std::vector<float> y = values_of(b);
  for (std::size_t i = 0; i < rows * cols; ++i) {
    Dot want;
    for (std::size_t l = 0; l < depth; ++l) {
      want.add(double{x[i / cols * depth + l]} * y[i % cols * depth + l]);
    }
    ASSERT_NO_FATAL_FAILURE(expect_dot(got[i], want, inputs, i));
  }
}

template <GemmConfig C, class Device>
void check_gemm(Device& device, int m, int n, int k, int blocks, Inputs inputs,
                std::uint64_t seed) {
  check_product<Gemm<typename Device::M, C>>(device, m, n, k, blocks, inputs, seed);
}

template <AttentionTileConfig C, class Device>
void check_attention_tile(Device& device, std::uint64_t seed) {
  using Kernel = AttentionTile<typename Device::M, C>;
  std::mt19937_64 random(seed);
  constexpr std::size_t kRows = Kernel::kQueries;
  constexpr std::size_t kKeys = C.keys;
  constexpr std::size_t kDepth = C.depth;
  const auto q = random_halves<bf16>(kRows * kDepth, Inputs::Spread, random);
  const auto k = random_halves<bf16>(kKeys * kDepth, Inputs::Spread, random);
  const auto v = random_halves<bf16>(kKeys * kDepth, Inputs::Spread, random);
  const float scale = 0.25F;
  bf16* out = device.template poisoned<bf16>(kRows * kDepth);
  device.template launch<Kernel>(
      1, Kernel::make_params(device.upload(q), device.upload(k), device.upload(v), out, scale));
  const auto got = device.download(out, kRows * kDepth);
  const auto x = values_of(q);
  const auto y = values_of(k);
  const auto z = values_of(v);
  for (std::size_t row = 0; row < kRows; ++row) {
    std::vector<double> weights(kKeys);
    double sum = 0;
    for (std::size_t key = 0; key < kKeys; ++key) {
      double score = 0;
      for (std::size_t l = 0; l < kDepth; ++l) {
        score += double{x[row * kDepth + l]} * y[key * kDepth + l];
      }
      weights[key] = std::exp(scale * score);
      sum += weights[key];
    }
    for (std::size_t col = 0; col < kDepth; ++col) {
      Dot want;
      for (std::size_t key = 0; key < kKeys; ++key) {
        want.add(weights[key] / sum * z[key * kDepth + col]);
      }
      // P is rounded to bf16 before it is summed up, the result after.
      ASSERT_NEAR(value_of(got[row * kDepth + col]), want.sum,
                  0.0042 * (std::abs(want.sum) + want.magnitude))
          << "row " << row << ", column " << col;
    }
  }
}

template <MmaProbeConfig C, class Device>
void check_mma(Device& device, Inputs inputs, std::uint64_t seed) {
  using Kernel = MmaProbe<typename Device::M, C>;
  using Element = typename Kernel::Element;
  std::mt19937_64 random(seed);
  constexpr std::size_t kRows = 64;
  constexpr std::size_t kCols = C.n;
  constexpr std::size_t kDepth = C.k;
  const auto a = random_halves<Element>(kRows * kDepth, inputs, random);
  const auto b = random_halves<Element>(kCols * kDepth, inputs, random);
  float* d = device.template poisoned<float>(kRows * kCols);
  device.template launch<Kernel>(C.blocks,
                                 Kernel::make_params(device.upload(a), device.upload(b), d));
  const auto got = device.download(d, kRows * kCols);
  for (std::size_t i = 0; i < kRows * kCols; ++i) {
    const std::size_t row = i / kCols;
    const std::size_t col = i % kCols;
    Dot want;
    for (std::size_t l = 0; l < kDepth; ++l) {
      const Element x = C.a_transposed ? a[l * kRows + row] : a[row * kDepth + l];
      const Element y = C.b_transposed ? b[l * kCols + col] : b[col * kDepth + l];
      want.add(value_of(x) * value_of(y));
    }
    ASSERT_NO_FATAL_FAILURE(expect_dot(got[i], want, inputs, i));
  }
}

}  // namespace JFA_BACKEND
}  // namespace jfa
