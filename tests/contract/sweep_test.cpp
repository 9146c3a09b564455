// Features in random combination against the oracle.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <tuple>

#include "checks.hpp"
#include "engine.hpp"
#include "sanitizer.hpp"
#include "scenario.hpp"

namespace jfa::contract {
namespace {

/// Seeds a test covers, so that a test takes about a second.
constexpr std::uint64_t kSeeds = 16;
constexpr int kQuickParts = kSanitized ? 2 : 24;
constexpr int kSlowParts = 60;

/// Multiplications of a pass over one scenario; the oracle takes about 1 ns each.
constexpr double kQuickBudget = 2e7;
constexpr double kSlowBudget = 2e8;
constexpr std::uint64_t kFirstSlowSeed = 1'000'000;

/// Engine, budget, first seed and number of the part.
using Part = std::tuple<const Engine*, double, std::uint64_t, int>;
class Sweep : public testing::TestWithParam<Part> {
 protected:
  void SetUp() override {
    const std::string why = std::get<0>(GetParam())->unavailable();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(Sweep, FeaturesInCombination) {
  const auto& [engine, full_budget, first, part] = GetParam();
  const double budget = engine->limits().slow ? full_budget / 10 : full_budget;
  const std::vector<Way> ways = engine->ways();
  const std::uint64_t begin = first + static_cast<std::uint64_t>(part) * kSeeds;
  for (std::uint64_t seed = begin; seed < begin + kSeeds; ++seed) {
    const Scenario scenario = draw_scenario(seed, engine->limits(), budget);
    const Way& way = ways[seed % ways.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + scenario.describe() + "; " + way.name);
    const Data data(scenario);
    expect_contract(*engine, data, way);
    if (HasFailure()) return;  // one scenario says enough
  }
}

std::string part_name(const testing::TestParamInfo<Part>& info) {
  return std::get<0>(info.param)->name() + std::to_string(std::get<3>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Quick, Sweep,
                         testing::Combine(testing::ValuesIn(engines()),
                                          testing::Values(kQuickBudget),
                                          testing::Values(std::uint64_t{0}),
                                          testing::Range(0, kQuickParts)),
                         part_name);
INSTANTIATE_TEST_SUITE_P(Slow, Sweep,
                         testing::Combine(testing::ValuesIn(engines()),
                                          testing::Values(kSlowBudget),
                                          testing::Values(kFirstSlowSeed),
                                          testing::Range(0, kSlowParts)),
                         part_name);

/// Whether the lengths are those of few queries beside many keys.
bool has_few_queries(const Scenario& s) {
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  for (const Lengths& l : s.sequences) {
    queries += l.rows.q;
    keys += l.rows.kv;
  }
  return s.sequences.size() > 1 && 4 * queries < keys;
}

TEST(SweepItself, DrawsEveryFeatureInTheQuickPart) {
  std::set<std::int64_t> head_dims;
  std::set<std::string> seen;
  const auto note = [&](bool condition, const char* what) {
    if (condition) seen.insert(what);
  };
  for (std::uint64_t seed = 0; seed < kSeeds * 24; ++seed) {
    const Scenario s = draw_scenario(seed, Limits{}, kQuickBudget);
    head_dims.insert(s.head_dim);
    note(s.dtype == DType::kBf16, "bf16");
    note(s.dtype == DType::kF16, "fp16");
    note(s.dtype == DType::kF32, "fp32");
    note(s.group_size > 1 && s.heads_kv > 1, "grouped heads");
    note(s.broadcast_q && s.sequences.size() > 1, "broadcast_q");
    note(has_few_queries(s) && !s.broadcast_q && s.group_size == 1, "few queries of many keys");
    note(s.broadcast_q && s.blocks && s.dlse, "broadcast_q with block lists and dlse");
    note(s.sequences.empty(), "no sequences");
    note(s.wide_q_offsets != s.wide_kv_offsets, "offsets of two types");
    note(s.causal && s.blocks, "causal with block lists");
    note(s.window.left >= 0 && s.window.right >= 0, "two-sided window");
    note(s.blocks && s.blocks->by_head, "block lists by head");
    note(s.scale && *s.scale == 0, "scale 0");
    note(s.scale && *s.scale < 0, "negative scale");
    note(s.softcap > 0 && s.scale && *s.scale < 0, "softcap with negative scale");
    note(s.dlse, "dlse");
    note(s.slack.q > 0 && s.slack.kv > 0, "slack");
    note(s.layout == Layout::kByHead && s.padding > 0, "padded interleaved layout");
    for (const Lengths& l : s.sequences) {
      note(l.gap.q > 0 && l.gap.kv > 0, "gaps");
      note(l.rows.q == 0 && l.rows.kv > 0, "keys without queries");
      note(l.rows.q > 0 && l.rows.kv == 0, "queries without keys");
      note(l.rows.q > l.rows.kv && s.causal && l.rows.kv > 0, "more queries than keys, causal");
      note(l.rows.kv > 256, "long keys");
    }
  }
  EXPECT_EQ(head_dims, (std::set<std::int64_t>{1, 3, 8, 33, 64, 96, 128, 200, 256}));
  EXPECT_EQ(seen.size(), 23U) << testing::PrintToString(seen);
}

}  // namespace
}  // namespace jfa::contract
