// NaN and Inf inside some sequences change no bit of what belongs to the others.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "checks.hpp"
#include "engine.hpp"
#include "reference/reference.hpp"
#include "sanitizer.hpp"
#include "scenario.hpp"

namespace jfa::contract {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kSeeds = kSanitized ? 8 : 48;

class Isolation : public EngineTest {};

/// Both passes' results of one batch.
struct Results {
  Results(const Engine& engine, const Data& data, const Way& way)
      : forward(run_forward(engine, data, way)),
        gradients(run_backward(engine, data, forward, way)) {}

  Forward forward;
  Trio gradients;
};

/// Where the poison goes within a sequence.
enum class Place : std::uint8_t { kEveryRow, kFirstRow, kLastRow };

void poison_rows(const TensorView& view, std::int64_t begin, std::int64_t length, Place place,
                 double value) {
  for (std::int64_t i = 0; i < length; ++i) {
    const bool chosen = place == Place::kEveryRow || (place == Place::kFirstRow && i == 0) ||
                        (place == Place::kLastRow && i == length - 1);
    if (chosen) fill_row(view, begin + i, value);
  }
}

void poison(Data& data, std::size_t b, Place place, double value) {
  const Lengths& l = data.scenario().sequences[b];
  const Sides begin = data.begin(b);
  poison_rows(data.qkv().k, begin.kv, l.rows.kv, place, value);
  poison_rows(data.qkv().v, begin.kv, l.rows.kv, place, value);
  poison_rows(data.dout_memory(), begin.q, l.rows.q, place, value);
  if (!data.scenario().broadcast_q) {
    poison_rows(data.qkv().q, begin.q, l.rows.q, place, value);
  }
  if (!data.scenario().dlse) return;
  for (std::int64_t head = 0; head < data.scenario().heads_q(); ++head) {
    for (std::int64_t i = 0; i < l.rows.q; ++i) {
      data.dlse_memory().set(head * data.out_rows() + begin.q + i, value);
    }
  }
}

void expect_same_rows(const char* name, const ConstTensorView& a, const ConstTensorView& b,
                      std::int64_t begin, std::int64_t length) {
  for (std::int64_t row = begin; row < begin + length; ++row) {
    ASSERT_TRUE(row_bytes(a, row) == row_bytes(b, row)) << name << ", row " << row;
  }
}

/// Everything of sequence b and of the unused rows behind it.
void expect_same_sequence(const Data& data, std::size_t b, const Results& clean,
                          const Results& poisoned) {
  const Lengths& l = data.scenario().sequences[b];
  const Sides begin = data.begin(b);
  const std::int64_t queries = l.rows.q + l.gap.q;
  const std::int64_t keys = l.rows.kv + l.gap.kv;
  expect_same_rows("out", clean.forward.out, poisoned.forward.out, begin.q, queries);
  expect_same_rows("dk", clean.gradients.k, poisoned.gradients.k, begin.kv, keys);
  expect_same_rows("dv", clean.gradients.v, poisoned.gradients.v, begin.kv, keys);
  if (!data.scenario().broadcast_q) {
    expect_same_rows("dq", clean.gradients.q, poisoned.gradients.q, begin.q, queries);
  }
  const LseView& lse = clean.forward.lse;
  for (std::int64_t head = 0; head < lse.heads; ++head) {
    for (std::int64_t row = begin.q; row < begin.q + queries; ++row) {
      const std::int64_t i = head * lse.head_stride + row;
      ASSERT_EQ(lse.data[i], poisoned.forward.lse.data[i])
          << "lse, head " << head << ", row " << row;
    }
  }
}

/// Poisons about half of the sequences of a batch and counts the others, of which nothing differs.
int compare_poisoned(const Engine& engine, const Scenario& scenario, const Way& way, Draw& draw) {
  const auto place = draw.of({Place::kEveryRow, Place::kFirstRow, Place::kLastRow});
  const double value = draw.of({std::nan(""), kInf, -kInf});
  SCOPED_TRACE(scenario.describe() + "; " + way.name + "; " + std::to_string(value) + " in rows " +
               std::to_string(static_cast<int>(place)));
  const Results clean(engine, Data(scenario), way);
  Data data(scenario);
  std::vector<bool> poisoned;
  for (std::size_t b = 0; b < scenario.sequences.size(); ++b) {
    poisoned.push_back(draw.chance(50));
    if (poisoned.back()) poison(data, b, place, value);
  }
  const Results results(engine, data, way);
  int compared = 0;
  for (std::size_t b = 0; b < poisoned.size(); ++b) {
    if (poisoned[b]) continue;
    expect_same_sequence(data, b, clean, results);
    ++compared;
  }
  return compared;
}

TEST_P(Isolation, WhateverASequenceHoldsStaysThere) {
  const Engine& engine = *GetParam();
  const std::vector<Way> ways = engine.ways();
  const bool slow = engine.limits().slow;
  const std::uint64_t seeds = slow ? kSeeds / 4 : kSeeds;
  int compared = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Scenario scenario = draw_scenario(5000 + seed, engine.limits(), slow ? 2e6 : 1e7);
    scenario.deterministic = true;  // the same bits twice
    Draw draw(seed);
    compared += compare_poisoned(engine, scenario, ways[seed % ways.size()], draw);
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, static_cast<int>(seeds) / 2);
}

/// Tiles of which each sequence fills a part, and that are as large as several of them.
TEST_P(Isolation, OfSequencesOfFewQueries) {
  const Engine& engine = *GetParam();
  Scenario scenario;
  scenario.dtype = DType::kBf16;
  scenario.head_dim = 64;
  scenario.deterministic = true;
  scenario.sequences = {{{1, 600}, {}}, {{64, 557}, {}}, {{30, 600}, {}}, {{3, 800}, {}},
                        {{70, 65}, {}}, {{17, 570}, {}}, {{2, 600}, {}},  {{5, 590}, {}}};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Draw draw(seed);
    EXPECT_GT(compare_poisoned(engine, scenario, engine.ways()[0], draw), 0);
    if (HasFailure()) return;
  }
}

/// The counterpart: a NaN that a query sees must show in its result.
TEST_P(Isolation, WhatAQuerySeesShows) {
  const Engine& engine = *GetParam();
  for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32}) {
    if (!takes(engine.limits(), dtype)) continue;
    Scenario scenario;
    scenario.dtype = dtype;
    scenario.sequences = {{{130, 200}, {}}, {{70, 64}, {}}};
    for (const bool in_keys : {false, true}) {
      SCOPED_TRACE(scenario.describe() + (in_keys ? ", in k" : ", in v"));
      Data data(scenario);
      store(in_keys ? data.qkv().k : data.qkv().v, 131, 0, 5, std::nan(""));
      const Forward forward = run_forward(engine, data, engine.ways()[0]);
      for (std::int64_t row = 0; row < 130; ++row) {
        EXPECT_EQ(std::isnan(forward.lse.data[row]), in_keys) << "row " << row;
        EXPECT_TRUE(std::isnan(reference::load(forward.out, row, 0, 5))) << "row " << row;
      }
      EXPECT_FALSE(std::isnan(reference::load(forward.out, 130, 0, 5)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Isolation, testing::ValuesIn(engines()), engine_name);

}  // namespace
}  // namespace jfa::contract
