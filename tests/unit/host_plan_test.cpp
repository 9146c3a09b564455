// The host's plan: what it holds, and whether it notices that it was made for something else.
#include "plan/host_plan.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "problem/problem.hpp"

namespace jfa {
namespace {

/// Two sequences with gaps, slack and block lists; every field can be changed by a test.
struct Indices {
  std::vector<std::int32_t> q_offsets{0, 100, 300};
  std::vector<std::int32_t> q_lengths{100, 150};
  std::vector<std::int64_t> kv_offsets{0, 64, 264};
  std::vector<std::int64_t> kv_lengths{60, 200};
  std::vector<std::int32_t> row_offsets{0, 1, 1, 3, 5, 6, 99};
  std::vector<std::int64_t> columns{0, 1, 2, 0, 3, 2, 77};

  Problem problem() const {
    Problem p;
    p.q.rows = p.out_rows = 3000;
    p.k.rows = 264;
    p.batch = 2;
    p.heads_q = p.heads_kv = 1;
    p.head_dim = 8;
    p.q_offsets = view(q_offsets);
    p.kv_offsets = view(kv_offsets);
    p.q_lengths = view(q_lengths);
    p.kv_lengths = view(kv_lengths);
    p.block_sparse = true;
    p.blocks = {64, 64, 1, view(row_offsets), view(columns)};
    return p;
  }

  template <typename T>
  static IndexView view(const std::vector<T>& values) {
    return {values.data(), std::ssize(values)};
  }
};

std::vector<std::int64_t> rows_of(const Gaps& gaps) {
  std::vector<std::int64_t> rows;
  for (std::int64_t piece = 0; piece < gaps.size(); ++piece) {
    const Range range = gaps[piece];
    EXPECT_LE(range.size(), 1024);
    for (std::int64_t row = range.begin; row < range.end; ++row) rows.push_back(row);
  }
  return rows;
}

std::vector<std::int64_t> consecutive(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> rows;
  for (; begin < end; ++begin) rows.push_back(begin);
  return rows;
}

TEST(HostPlan, HoldsSequencesGapsAndLists) {
  const HostPlan plan = make_host_plan(Indices().problem());
  ASSERT_EQ(plan.sequences.size(), 2u);
  EXPECT_EQ(plan.sequence(1).q_begin, 100);
  EXPECT_EQ(plan.sequence(1).q_length, 150);
  EXPECT_EQ(plan.sequence(1).kv_begin, 64);
  EXPECT_EQ(plan.sequence(1).kv_length, 200);
  EXPECT_EQ(rows_of(plan.q_gaps), consecutive(250, 3000));
  EXPECT_EQ(rows_of(plan.kv_gaps), consecutive(60, 64));
  EXPECT_EQ(plan.blocks.first_row, (std::vector<std::int64_t>{0, 2, 5}));
  EXPECT_EQ(plan.blocks.columns_of(0, 2).size(), 2u);
  EXPECT_EQ(plan.blocks.columns_of(0, 3)[1], 3);
  EXPECT_EQ(plan.blocks.columns.size(), 6u) << "capacity is not copied";
}

TEST(HostPlan, GapsBetweenSequencesAndAtTheEnd) {
  Indices indices;
  indices.q_lengths = {0, 199};
  const HostPlan plan = make_host_plan(indices.problem());
  std::vector<std::int64_t> expected = consecutive(0, 100);
  for (const std::int64_t row : consecutive(299, 3000)) expected.push_back(row);
  EXPECT_EQ(rows_of(plan.q_gaps), expected);
}

TEST(HostPlan, CapacityTakesNoMemory) {
  Indices indices;
  Problem problem = indices.problem();
  problem.k.rows = problem.v.rows = std::int64_t{1} << 55;  // of stride 0
  const Gaps gaps = make_host_plan(problem).kv_gaps;
  EXPECT_EQ(gaps[gaps.size() - 1].end, problem.k.rows);
  EXPECT_EQ(gaps[1].begin, 264);
  EXPECT_EQ(gaps[2].begin, 264 + 1024);
}

TEST(HostPlan, WorkFollowsTheMask) {
  Indices indices;
  Problem problem = indices.problem();
  problem.block_sparse = false;
  const HostPlan dense = make_host_plan(problem);
  constexpr double kRow = 32;
  EXPECT_EQ(dense.work(0), 100 * 60 + kRow * 160);
  EXPECT_EQ(dense.work(1), 150 * 200 + kRow * 350);
  EXPECT_EQ(dense.work_before.back(), dense.work(0) + dense.work(1));
  problem.window = {10, 0};
  const HostPlan narrow = make_host_plan(problem);
  EXPECT_LT(narrow.work(1), 0.6 * dense.work(1));
  EXPECT_GE(narrow.work(1), 150 * 11);
  problem.window = {};
  problem.block_sparse = true;
  const HostPlan listed = make_host_plan(problem);
  EXPECT_EQ(listed.work(0), 1 * 64 * 64 + kRow * 160);
  EXPECT_EQ(listed.work(1), 5 * 64 * 64 + kRow * 350);
}

TEST(HostPlan, RowsTakeNoTime) {
  Indices indices;
  const std::int64_t rows = std::int64_t{1} << 50;
  const std::vector<std::int64_t> offsets{0, rows, 2 * rows}, lengths{rows, rows / 2};
  Problem problem = indices.problem();
  problem.q.rows = problem.out_rows = problem.k.rows = 2 * rows;  // of stride 0
  problem.q_offsets = problem.kv_offsets = Indices::view(offsets);
  problem.q_lengths = problem.kv_lengths = Indices::view(lengths);
  problem.block_sparse = false;
  problem.window.right = 0;
  const HostPlan plan = make_host_plan(problem);
  const double triangle = static_cast<double>(rows) / 2 * static_cast<double>(rows);
  EXPECT_NEAR(plan.work(0) / triangle, 1, 0.01);
  EXPECT_NEAR(plan.work(1) / triangle, 0.25, 0.01);
}

TEST(HostPlan, ServesTheProblemItWasMadeFor) {
  const Indices indices;
  const HostPlan plan = make_host_plan(indices.problem());
  EXPECT_TRUE(check_plan(plan, indices.problem()).ok());
  const Indices copy = indices;
  EXPECT_TRUE(check_plan(plan, copy.problem()).ok()) << "equal values elsewhere in memory";
}

struct Change {
  const char* name;
  std::function<void(Indices&)> of_indices = [](Indices&) {};
  std::function<void(Problem&)> of_problem = [](Problem&) {};
  const char* message;
};

TEST(HostPlan, RefusesAnotherProblem) {
  const HostPlan plan = make_host_plan(Indices().problem());
  const Change changes[] = {
      {"offset", [](Indices& i) { i.q_offsets[1] = 101; }, {}, "sequence 1"},
      {"q length", [](Indices& i) { i.q_lengths[0] = 99; }, {}, "sequence 0"},
      {"kv length", [](Indices& i) { i.kv_lengths[1] = 199; }, {}, "sequence 1"},
      {"column", [](Indices& i) { i.columns[4] = 2; }, {}, "block lists"},
      {"row offset", [](Indices& i) { i.row_offsets[1] = 0; }, {}, "block lists"},
      {"q rows", {}, [](Problem& p) { p.q.rows = 3001; }, "q.rows = 3000"},
      {"kv rows", {}, [](Problem& p) { p.k.rows = 265; }, "k.rows = 264"},
      {"query heads", {}, [](Problem& p) { p.heads_q = 2; }, "q.heads = 1"},
      {"head_dim", {}, [](Problem& p) { p.head_dim = 16; }, "head_dim = 8"},
      {"batch", {}, [](Problem& p) { p.batch = 1; }, "B = 2"},
      {"window", {}, [](Problem& p) { p.window.right = 0; }, "mask.window.right = -1"},
      {"no blocks", {}, [](Problem& p) { p.block_sparse = false; }, "block-sparse"},
      {"block size", {}, [](Problem& p) { p.blocks.block_kv = 128; }, "block_kv = 64"},
      {"list heads", {}, [](Problem& p) { p.blocks.heads = 7; }, "heads = 1"},
  };
  for (const Change& change : changes) {
    SCOPED_TRACE(change.name);
    Indices indices;
    if (change.of_indices) change.of_indices(indices);
    Problem problem = indices.problem();
    if (change.of_problem) change.of_problem(problem);
    const Status status = check_plan(plan, problem);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(status.message().find(change.message), std::string::npos) << status.message();
  }
}

TEST(HostPlan, EmptyBatch) {
  Indices indices;
  indices.q_offsets = {0};
  indices.kv_offsets = {0};
  Problem problem = indices.problem();
  problem.batch = 0;
  problem.q_lengths = problem.kv_lengths = {};
  problem.block_sparse = false;
  const HostPlan plan = make_host_plan(problem);
  EXPECT_EQ(plan.work_before, std::vector<double>{0});
  EXPECT_EQ(rows_of(plan.kv_gaps), consecutive(0, 264));
}

}  // namespace
}  // namespace jfa
