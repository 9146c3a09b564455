// All ways of making a call give the same bits, one after another and at the same time.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "checks.hpp"
#include "engine.hpp"
#include "sanitizer.hpp"
#include "scenario.hpp"

namespace jfa::contract {
namespace {

constexpr std::uint64_t kSeeds = kSanitized ? 4 : 24;

class SameBits : public EngineTest {};

/// Everything that must not vary; without `deterministic`, dq may.
std::string results(const Engine& engine, const Data& data, const Way& way) {
  const Forward forward = run_forward(engine, data, way);
  const Trio gradients = run_backward(engine, data, forward, way);
  std::string bits = forward.bytes();
  const auto append = [&](const ConstTensorView& view) {
    for (std::int64_t row = 0; row < view.rows; ++row) bits += row_bytes(view, row);
  };
  append(gradients.k);
  append(gradients.v);
  if (data.scenario().deterministic) append(gradients.q);
  return bits;
}

void expect_same_bits(const Engine& engine, const Scenario& scenario) {
  SCOPED_TRACE(scenario.describe());
  const Data data(scenario);
  const std::vector<Way> ways = engine.ways();
  const std::string first = results(engine, data, ways[0]);
  for (const Way& way : ways) EXPECT_TRUE(results(engine, data, way) == first) << way.name;
}

TEST_P(SameBits, HoweverTheCallIsMade) {
  const bool slow = GetParam()->limits().slow;
  for (std::uint64_t seed = 0; seed < (slow ? 6 : kSeeds); ++seed) {
    Scenario scenario = draw_scenario(7000 + seed, GetParam()->limits(), slow ? 2e6 : 1e7);
    scenario.deterministic = seed % 2 == 0;
    expect_same_bits(*GetParam(), scenario);
  }
}

/// One sequence is most of the work, so that it is split.
TEST_P(SameBits, OfOneLongSequenceAmongShortOnes) {
  Scenario scenario;
  scenario.deterministic = true;
  scenario.dtype = DType::kBf16;
  scenario.sequences = {{{20, 30}, {}}, {{700, 1500}, {}}, {{9, 0}, {}}, {{64, 64}, {3, 3}}};
  for (const Window window : {Window{}, Window{500, 0}}) {
    scenario.window = window;
    for (const std::int64_t group_size : {1, 2}) {
      scenario.group_size = group_size;
      expect_same_bits(*GetParam(), scenario);
    }
  }
  scenario.broadcast_q = true;
  scenario.q_length = 150;
  for (Lengths& l : scenario.sequences) l = {{150, l.rows.kv}, {0, l.gap.kv}};
  expect_same_bits(*GetParam(), scenario);
}

TEST_P(SameBits, WhenCallsRunAtTheSameTime) {
  const Engine& engine = *GetParam();
  Scenario scenario;
  scenario.deterministic = true;
  scenario.dtype = DType::kBf16;
  scenario.head_dim = 32;
  scenario.heads_kv = 2;
  scenario.causal = true;
  scenario.sequences.assign(6, {{65, 130}, {}});
  const Data data(scenario);
  const std::vector<Way> ways = engine.ways();
  const std::string expected = results(engine, data, ways[0]);
  std::vector<std::string> seen(4);
  {
    std::vector<std::jthread> callers;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      callers.emplace_back([&, i] { seen[i] = results(engine, data, ways[i % ways.size()]); });
    }
  }
  for (const std::string& bits : seen) EXPECT_TRUE(bits == expected);
}

TEST_P(SameBits, WithAndWithoutLse) {
  const Engine& engine = *GetParam();
  Scenario scenario;
  scenario.dtype = DType::kBf16;
  scenario.sequences = {{{100, 70}, {3, 5}}, {{0, 9}, {}}, {{5, 0}, {}}};
  scenario.slack = {4, 4};
  const Data data(scenario);
  const Way way = engine.ways()[0];
  const Forward with = run_forward(engine, data, way);
  const Forward without(data);
  engine.forward(data.inputs(), data.options(), {without.out, {}}, way);
  EXPECT_TRUE(with.out_memory.bytes() == without.out_memory.bytes());
}

INSTANTIATE_TEST_SUITE_P(Engines, SameBits, testing::ValuesIn(engines()), engine_name);

}  // namespace
}  // namespace jfa::contract
