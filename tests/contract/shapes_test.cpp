// Shapes that random draws rarely meet: nothing at all, very long, very many.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "checks.hpp"
#include "engine.hpp"
#include "sanitizer.hpp"
#include "scenario.hpp"

namespace jfa::contract {
namespace {

class Shapes : public EngineTest {
 protected:
  static void check(const Scenario& scenario) {
    for (const Way& way : GetParam()->ways()) {
      SCOPED_TRACE(scenario.describe() + "; " + way.name);
      expect_contract(*GetParam(), Data(scenario), way);
    }
  }

  /// With all of the machine.
  static void check_once(const Scenario& scenario) {
    const Way way = GetParam()->ways().back();
    SCOPED_TRACE(scenario.describe() + "; " + way.name);
    expect_contract(*GetParam(), Data(scenario), way);
  }

  static Scenario of(std::vector<Lengths> sequences) {
    Scenario scenario;
    scenario.dtype = DType::kBf16;
    scenario.heads_kv = 2;
    scenario.group_size = 2;
    scenario.dlse = true;
    scenario.sequences = std::move(sequences);
    return scenario;
  }
};

TEST_P(Shapes, NoSequences) {
  Scenario scenario = of({});
  check(scenario);
  scenario.slack = {3, 70};
  check(scenario);
  if (!GetParam()->limits().block_sparse) return;
  scenario.blocks = BlockLists{};
  check(scenario);
}

TEST_P(Shapes, OnlyEmptySequences) {
  Scenario scenario = of({{}, {}, {}});
  check(scenario);
  scenario.causal = true;
  check(scenario);
  scenario.sequences[1].gap = {5, 70};
  check(scenario);
}

TEST_P(Shapes, OneSideEmpty) {
  for (const bool causal : {false, true}) {
    Scenario scenario = of({{{65, 0}, {}}, {{1, 0}, {2, 0}}});
    scenario.causal = causal;
    check(scenario);
    scenario.sequences = {{{0, 65}, {}}, {{0, 1}, {0, 2}}};
    check(scenario);
    scenario.sequences = {{{65, 0}, {}}, {{0, 65}, {}}, {{3, 4}, {}}, {{7, 0}, {}}};
    check(scenario);
  }
}

TEST_P(Shapes, BroadcastQueriesWithLittleElse) {
  Scenario scenario = of({});
  scenario.broadcast_q = true;
  scenario.q_length = 70;
  check(scenario);
  scenario.sequences = {{{70, 0}, {}}, {{70, 0}, {}}};
  check(scenario);
  scenario.sequences[1].rows.kv = 1;
  check(scenario);
  scenario.q_length = 0;
  for (Lengths& l : scenario.sequences) l.rows = {0, 5};
  check(scenario);
}

TEST_P(Shapes, EveryLengthAroundATile) {
  for (const bool causal : {false, true}) {
    Scenario scenario = of({});
    scenario.heads_kv = scenario.group_size = 1;
    scenario.causal = causal;
    for (const std::int64_t q : {1, 15, 16, 17, 63, 64, 65, 127, 128, 129}) {
      scenario.sequences.push_back({{q, 130 - q}, {}});
      scenario.sequences.push_back({{q, q}, {}});
    }
    check(scenario);
  }
}

TEST_P(Shapes, FewQueriesOfManyKeys) {
  Scenario scenario = of({{{1, 900}, {}},
                          {{128, 129}, {0, 2}},
                          {{17, 1300}, {3, 0}},
                          {{0, 64}, {}},
                          {{64, 665}, {}},
                          {{130, 200}, {}},
                          {{65, 0}, {}},
                          {{5, 1400}, {}}});
  scenario.group_size = 1;
  for (const std::int64_t head_dim : {64, 104}) {
    scenario.head_dim = head_dim;
    for (const bool causal : {false, true}) {
      scenario.causal = causal;
      check(scenario);
    }
  }
}

TEST_P(Shapes, BlocksLargerThanEverySequence) {
  if (!GetParam()->limits().block_sparse) GTEST_SKIP() << "takes no block-sparse masks";
  Scenario scenario = of({{{70, 130}, {}}, {{0, 5}, {}}, {{200, 3}, {1, 1}}, {{3, 0}, {}}});
  for (const bool broadcast_q : {false, true}) {
    if (broadcast_q) {
      scenario.broadcast_q = true;
      scenario.q_length = 70;
      for (Lengths& l : scenario.sequences) l = {{70, l.rows.kv}, {0, l.gap.kv}};
    }
    scenario.blocks = BlockLists{std::int64_t{1} << 56, std::int64_t{1} << 56, true, 60};
    check(scenario);
    scenario.blocks = BlockLists{192, std::int64_t{1} << 40, false, 100};
    scenario.causal = true;
    check(scenario);
  }
}

TEST_P(Shapes, ManyShortSequences) {
  Scenario scenario = of({});
  scenario.head_dim = 8;
  Draw draw(3);
  const int count = GetParam()->limits().slow ? 60 : kSanitized ? 300 : 3000;
  for (int b = 0; b < count; ++b) {
    scenario.sequences.push_back({{draw.below(4), draw.below(5)}, {draw.below(2), draw.below(2)}});
  }
  check(scenario);
  scenario.broadcast_q = true;
  scenario.q_length = 3;
  for (Lengths& l : scenario.sequences) {
    l.rows.q = 3;
    l.gap.q = 0;
  }
  check(scenario);
}

TEST_P(Shapes, LongKeysAndLongQueries) {
  if (kSanitized || GetParam()->limits().slow) GTEST_SKIP() << "long";
  Scenario scenario = of({{{33, 6000}, {}}, {{3000, 7}, {}}, {{1, 20000}, {}}});
  scenario.heads_kv = 1;
  check_once(scenario);
  scenario.causal = true;
  check_once(scenario);
  scenario.group_size = 1;
  scenario.head_dim = 128;  // a GPU's kernels for long sequences, here and below
  check_once(scenario);
  scenario.causal = false;
  scenario.sequences = {{{1700, 1600}, {}}};
  check_once(scenario);
  scenario.window = {300, 10};
  scenario.sequences = {{{5000, 5000}, {}}};
  scenario.head_dim = 16;
  check_once(scenario);
}

INSTANTIATE_TEST_SUITE_P(Engines, Shapes, testing::ValuesIn(engines()), engine_name);

}  // namespace
}  // namespace jfa::contract
