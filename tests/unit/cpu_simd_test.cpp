// The building blocks of the CPU engine's kernels, on every SIMD target this machine runs.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "batch/batch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu_simd_test.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/gemm-inl.hpp"
#include "cpu/math-inl.hpp"
#include "cpu/rows-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace jfa::cpu::HWY_NAMESPACE {
namespace {

void exponentials(const float* x, std::int64_t count, float* result) {
  const Floats d;
  for (std::int64_t i = 0; i < count; i += kLanes)
    hn::StoreU(exp(hn::LoadU(d, x + i)), d, result + i);
}

void product(int form, Stored stored, ConstTile a, ConstTile b, Tile c, std::int64_t rows,
             std::int64_t columns, std::int64_t depth, const float* factors) {
  const auto run = [&]<Stored kStored, typename Form>(Form f) {
    multiply(Product<kStored, Form>{a, b, c, rows, divide_up(columns, kLanes), depth, f});
  };
  const auto run_form = [&]<Stored kStored>() {
    if (form == 0) return run.template operator()<kStored>(Scaled{factors[0]});
    if (form == 1) return run.template operator()<kStored>(Added{});
    run.template operator()<kStored>(Rescaled{factors});
  };
  if (stored == Stored::kAsIs) return run_form.template operator()<Stored::kAsIs>();
  run_form.template operator()<Stored::kTransposed>();
}

void round_trip(DType dtype, const float* values, std::int64_t count, std::byte* stored,
                float* loaded) {
  const std::int64_t bytes = count * element_size(dtype);
  store_rows(dtype, values, count, count, RowsView<std::byte>{stored, 1, 1, bytes, 0},
             [](std::int64_t) { return 1.0f; });
  load_rows(dtype, RowsView<const std::byte>{stored, 1, 1, bytes, 0}, count, loaded, count);
}

void transpose_tile(const float* tile, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                    float* to, std::int64_t to_stride) {
  transpose(tile, stride, rows, columns, to, to_stride);
}

}  // namespace
}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jfa::cpu {
namespace {

HWY_EXPORT(exponentials);
HWY_EXPORT(round_trip);
HWY_EXPORT(transpose_tile);
HWY_EXPORT(product);

class Simd : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

std::vector<std::int64_t> targets() {
  std::vector<std::int64_t> found;
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
    found.push_back(left & -left);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(All, Simd, testing::ValuesIn(targets()),
                         [](const auto& test) { return hwy::TargetName(test.param); });

TEST_P(Simd, ExponentialErrsNoMoreThanItsArgument) {
  std::vector<float> x, result;
  for (int i = 0; i < 1 << 20; ++i) x.push_back(-87.0f * static_cast<float>(i) / (1 << 20));
  result.resize(x.size());
  HWY_DYNAMIC_DISPATCH(exponentials)(x.data(), std::ssize(x), result.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    const double limit = 0x1p-22 + std::abs(static_cast<double>(x[i])) * 0x1p-24;
    ASSERT_LE(std::abs(result[i] - exact), limit * exact) << x[i];
  }
}

TEST_P(Simd, ExponentialOfSpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto all_ones = std::bit_cast<float>(0xFFFFFFFFu);  // a NaN whose every bit is set
  const std::vector<float> x{0.0f,     -0.0f, -infinity, -87.1f, -1e30f, nan, -1e-40f, 0.5f,
                             all_ones, 0,     0,         0,      0,      0,   0,       0};
  std::vector<float> y(x.size());
  HWY_DYNAMIC_DISPATCH(exponentials)(x.data(), std::ssize(x), y.data());
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 0);
  EXPECT_EQ(y[4], 0);
  EXPECT_TRUE(std::isnan(y[5]));
  EXPECT_EQ(y[6], 1);
  EXPECT_NEAR(y[7], std::exp(0.5), 2e-7);
  EXPECT_TRUE(std::isnan(y[8]));
}

/// Every value a bf16 or fp16 can hold survives, and what lies between rounds as HostTensor does,
/// which is tested by itself.
TEST_P(Simd, RowsRoundToNearestEven) {
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    std::vector<float> values;
    for (std::uint32_t bits = 0; bits < 1u << 16; ++bits) {
      // The upper half of a float, and three continuations: down, tie, up.
      for (const std::uint32_t low : {0x0000u, 0x7fffu, 0x8000u, 0x8001u}) {
        values.push_back(std::bit_cast<float>(bits << 16 | low));
      }
      // Halves lie 2^13 apart.
      if (bits % 2 == 0) values.push_back(std::bit_cast<float>(0x38000000u + (bits << 11)));
    }
    while (values.size() % 16 != 5) values.push_back(1.0f);
    const auto count = std::ssize(values);
    HostTensor padded(DType::kF32, {count + 16});
    std::memcpy(padded.data(), values.data(), values.size() * sizeof(float));
    HostTensor stored(dtype, {count});
    HostTensor loaded(DType::kF32, {count + 16});
    HWY_DYNAMIC_DISPATCH(round_trip)
    (dtype, reinterpret_cast<const float*>(padded.data()), count, stored.data(),
     reinterpret_cast<float*>(loaded.data()));
    HostTensor expected(dtype, {count});
    for (std::int64_t i = 0; i < count; ++i) {
      expected.set(i, static_cast<double>(values[static_cast<std::size_t>(i)]));
      if (std::isnan(expected.at(i))) {
        ASSERT_TRUE(std::isnan(loaded.at(i))) << values[static_cast<std::size_t>(i)];
      } else {
        ASSERT_EQ(loaded.at(i), expected.at(i)) << values[static_cast<std::size_t>(i)];
      }
    }
    for (std::int64_t i = count; i % 16 != 0; ++i) ASSERT_EQ(loaded.at(i), 0) << "padding";
  }
}

TEST_P(Simd, TransposeMovesEveryElement) {
  HostTensor tile(DType::kF32, {64 * 48});
  HostTensor to(DType::kF32, {48 * 64});
  for (std::int64_t i = 0; i < tile.size(); ++i) tile.set(i, static_cast<double>(i));
  HWY_DYNAMIC_DISPATCH(transpose_tile)
  (reinterpret_cast<const float*>(tile.data()), 48, 64, 20, reinterpret_cast<float*>(to.data()),
   64);
  for (std::int64_t r = 0; r < 64; ++r) {
    for (std::int64_t c = 0; c < 20; ++c) ASSERT_EQ(to.at(c * 64 + r), tile.at(r * 48 + c));
  }
}

/// Small integers, so that every order of adding gives the same sum.
TEST_P(Simd, ProductsOfEveryBlockShape) {
  constexpr std::int64_t kStride = 160;
  const auto integers = [](std::uint64_t seed) {
    HostTensor t = random_tensor(DType::kF32, {kStride * kStride}, seed);
    for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, std::round(4 * t.at(i)));
    return t;
  };
  const HostTensor a = integers(1), b = integers(2), start = integers(3), factors = integers(4);
  const auto floats = [](const HostTensor& t) { return reinterpret_cast<const float*>(t.data()); };
  for (const Stored stored : {Stored::kAsIs, Stored::kTransposed}) {
    for (int form = 0; form < 3; ++form) {
      for (const std::int64_t columns : {1, 8, 16, 17, 24, 48, 64, 80, 112, 144}) {
        for (std::int64_t rows = 0; rows <= 30; ++rows) {
          const std::int64_t depth = (rows * 5 + columns) % 9;
          HostTensor c = integers(3);
          HWY_DYNAMIC_DISPATCH(product)
          (form, stored, {floats(a), kStride}, {floats(b), kStride},
           {reinterpret_cast<float*>(c.data()), kStride}, rows, columns, depth, floats(factors));
          for (std::int64_t r = 0; r < 30; ++r) {
            for (std::int64_t column = 0; column < columns; ++column) {
              double sum = 0;
              for (std::int64_t k = 0; k < depth; ++k) {
                const std::int64_t at = stored == Stored::kAsIs ? r * kStride + k : k * kStride + r;
                sum += a.at(at) * b.at(k * kStride + column);
              }
              const double old = start.at(r * kStride + column);
              const double expected = r >= rows   ? old
                                      : form == 0 ? sum * factors.at(0)
                                      : form == 1 ? old + sum
                                                  : old * factors.at(r) + sum;
              ASSERT_EQ(c.at(r * kStride + column), expected)
                  << form << " " << rows << " x " << columns << " x " << depth;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace jfa::cpu
#endif
