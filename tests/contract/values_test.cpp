// Values that break a softmax written carelessly.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "checks.hpp"
#include "engine.hpp"
#include "problem/problem.hpp"
#include "reference/reference.hpp"
#include "scenario.hpp"

namespace jfa::contract {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::int64_t kQueries = 70;
constexpr std::int64_t kKeys = 300;

class Values : public EngineTest {
 protected:
  /// One sequence of 70 queries and 300 keys, one head.
  static Scenario scenario() {
    Scenario s;
    s.dtype = DType::kBf16;
    s.sequences = {{{kQueries, kKeys}, {}}};
    return s;
  }

  static void check(const Data& data) {
    for (const Way& way : GetParam()->ways()) {
      SCOPED_TRACE(data.scenario().describe() + "; " + way.name);
      expect_contract(*GetParam(), data, way);
    }
  }

  static Forward forward(const Data& data) {
    return run_forward(*GetParam(), data, GetParam()->ways()[0]);
  }

  static Trio backward(const Data& data, const Forward& forward) {
    return run_backward(*GetParam(), data, forward, GetParam()->ways()[0]);
  }
};

/// Sets every query to 1 in dimension 0 and 0 elsewhere, so that key j's score is scale * k[j][0].
void score_by_first_dimension(Data& data) {
  for (std::int64_t i = 0; i < kQueries; ++i) {
    fill_row(data.qkv().q, i, 0);
    store(data.qkv().q, i, 0, 0, 1);
  }
}

TEST_P(Values, ScoresThatRiseOrFallAlongTheKeys) {
  Scenario s = scenario();
  s.scale = 0.5;
  for (const double slope : {1.0, -1.0}) {
    Data data(s);
    score_by_first_dimension(data);
    for (std::int64_t j = 0; j < kKeys; ++j) {
      store(data.qkv().k, j, 0, 0, slope * static_cast<double>(j));
    }
    check(data);
  }
}

TEST_P(Values, ScoresFarFromZero) {
  Scenario s = scenario();
  s.scale = 1;
  for (const double offset : {-4096.0, 4096.0}) {
    Data data(s);
    score_by_first_dimension(data);
    for (std::int64_t j = 0; j < kKeys; ++j) {
      store(data.qkv().k, j, 0, 0, offset + 32 * static_cast<double>(j % 2));
    }
    const Forward result = forward(data);
    for (std::int64_t i = 0; i < kQueries; ++i) {  // half of the keys share all the weight
      EXPECT_NEAR(result.lse.data[i], offset + 32 + std::log(150), 1e-3);
    }
    check(data);
  }
}

TEST_P(Values, OneKeyTakesAll) {
  Scenario s = scenario();
  s.scale = 1;
  for (const std::int64_t winner : {0, 63, 64, 150, 299}) {
    Data data(s);
    score_by_first_dimension(data);
    for (std::int64_t j = 0; j < kKeys; ++j) {
      store(data.qkv().k, j, 0, 0, j == winner ? 1000 : -1000);
    }
    const Forward result = forward(data);
    for (std::int64_t i = 0; i < kQueries; ++i) {
      EXPECT_NEAR(result.lse.data[i], 1000, 1000 * GetParam()->noise());
      EXPECT_EQ(row_bytes(result.out, i), row_bytes(data.qkv().v, winner));
    }
  }
}

TEST_P(Values, LargestScaleOfZeroScores) {
  Scenario s = scenario();
  for (const double scale :
       {std::numeric_limits<float>::max(), -std::numeric_limits<float>::max()}) {
    s.scale = scale;
    Data data(s);
    for (std::int64_t i = 0; i < kQueries; ++i) fill_row(data.qkv().q, i, 0);
    const Forward result = forward(data);
    for (std::int64_t i = 0; i < kQueries; ++i) {
      EXPECT_NEAR(result.lse.data[i], std::log(300), 1e-5);
    }
  }
}

TEST_P(Values, LargestFp16ValuesDoNotOverflow) {
  if (!GetParam()->limits().fp16) GTEST_SKIP() << "takes no fp16";
  Scenario s = scenario();
  s.dtype = DType::kF16;
  Data data(s);
  for (std::int64_t j = 0; j < kKeys; ++j) fill_row(data.qkv().v, j, 65504);
  const Forward result = forward(data);
  for (std::int64_t i = 0; i < kQueries; ++i) {
    EXPECT_EQ(row_bytes(result.out, i), row_bytes(data.qkv().v, 0));
  }
}

TEST_P(Values, SoftcapFarBelowAndAboveTheScores) {
  if (!GetParam()->limits().softcap) GTEST_SKIP() << "takes no softcap";
  for (const double cap : {1e-37, 1e-3, 1e4, 1e30}) {
    Scenario s = scenario();
    s.softcap = cap;
    check(Data(s));
  }
}

/// Keys of score -inf among others: they weigh nothing, wherever they stand.
TEST_P(Values, KeysOfMinusInfinityWeighNothing) {
  Scenario s = scenario();
  for (const std::int64_t end : {1, 64, 200, 299}) {
    for (const bool at_end : {false, true}) {
      Data data(s);
      score_by_first_dimension(data);
      for (std::int64_t j = 0; j < end; ++j) {
        store(data.qkv().k, at_end ? kKeys - 1 - j : j, 0, 0, -kInf);
      }
      SCOPED_TRACE(std::to_string(end) + (at_end ? " at the end" : " at the start"));
      // dq of dimension 0 is 0 * inf. All else is as the oracle has it.
      const Forward result = forward(data);
      Problem problem;
      throw_if_failed(check_inputs(data.inputs(), data.options(), {}, problem));
      const auto expected = reference::forward(problem);
      for (std::int64_t i = 0; i < kQueries; ++i) {
        ASSERT_NEAR(result.lse.data[i], expected.lse[static_cast<std::size_t>(i)], 1e-5);
        for (std::int64_t d = 0; d < s.head_dim; ++d) {
          ASSERT_NEAR(reference::load(result.out, i, 0, d),
                      expected.out[static_cast<std::size_t>(i * s.head_dim + d)], 0x1p-7);
        }
      }
      const Trio gradients = backward(data, result);
      for (std::int64_t j = 0; j < end; ++j) {
        const std::int64_t row = at_end ? kKeys - 1 - j : j;
        for (std::int64_t d = 0; d < s.head_dim; ++d) {
          ASSERT_EQ(reference::load(gradients.v, row, 0, d), 0) << "dv, row " << row;
          ASSERT_EQ(reference::load(gradients.k, row, 0, d), 0) << "dk, row " << row;
        }
      }
    }
  }
}

/// Rows whose every score is -inf count as rows that see nothing. The value that makes it so is in
/// q, so that it meets nothing but dS = 0 on its way into dk, where 0 * inf is left unspecified.
TEST_P(Values, RowsOfMinusInfinityAreRowsThatSeeNothing) {
  Scenario s = scenario();
  s.dlse = true;
  Data data(s);
  for (std::int64_t j = 0; j < kKeys; ++j) store(data.qkv().k, j, 0, 0, 1);
  for (std::int64_t i = 0; i < kQueries; i += 3) store(data.qkv().q, i, 0, 0, -kInf);
  const Forward result = forward(data);
  const Trio gradients = backward(data, result);
  Problem problem;
  throw_if_failed(check_inputs(data.inputs(), data.options(), {}, problem));
  const ConstLseView dlse = *data.dlse();
  const auto expected = reference::backward(problem, data.dout(), &dlse);
  for (std::int64_t i = 0; i < kQueries; ++i) {
    if (i % 3 != 0) {
      EXPECT_TRUE(std::isfinite(result.lse.data[i])) << "row " << i;
      continue;
    }
    EXPECT_EQ(result.lse.data[i], -kInf) << "row " << i;
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      EXPECT_EQ(reference::load(result.out, i, 0, d), 0) << "out, row " << i;
      EXPECT_EQ(reference::load(gradients.q, i, 0, d), 0) << "dq, row " << i;
    }
  }
  for (std::int64_t j = 0; j < kKeys; ++j) {
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      const auto n = static_cast<std::size_t>(j * s.head_dim + d);
      ASSERT_NEAR(reference::load(gradients.v, j, 0, d), expected.dv[n], 0.02) << "dv, row " << j;
      if (d == 0) continue;
      ASSERT_NEAR(reference::load(gradients.k, j, 0, d), expected.dk[n], 0.02) << "dk, row " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Values, testing::ValuesIn(engines()), engine_name);

}  // namespace
}  // namespace jfa::contract
