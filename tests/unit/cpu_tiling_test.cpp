// How the CPU engine cuts a batch: every query, key and item is met once, and no hidden tile is.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "cpu/panel.hpp"
#include "cpu/schedule.hpp"
#include "cpu/tiling.hpp"

namespace jfa::cpu {
namespace {

TEST(TileStride, IsAnOddNumberOfCacheLines) {
  for (std::int64_t head_dim = 1; head_dim <= 256; ++head_dim) {
    const std::int64_t stride = tile_stride(head_dim);
    EXPECT_GE(stride, head_dim);
    EXPECT_EQ(stride % kCacheLineFloats, 0);
    EXPECT_EQ(stride / kCacheLineFloats % 2, 1);
  }
}

Problem problem_with(std::int64_t heads_q, std::int64_t heads_kv, std::int64_t block_q) {
  Problem problem;
  problem.heads_q = heads_q;
  problem.heads_kv = heads_kv;
  problem.group_size = heads_q / heads_kv;
  problem.block_sparse = block_q > 0;
  problem.blocks.block_q = block_q;
  return problem;
}

TEST(Tiling, MeetsEveryQueryOnceAndKeepsToBlocks) {
  for (const std::int64_t group : {1, 2, 3, 7, 64, 71, 128}) {
    for (const std::int64_t block : {0, 64, 192, 256}) {
      const Tiling tiling = make_tiling(problem_with(2 * group, 2, block));
      EXPECT_EQ(tiling.packs * tiling.pack, 2 * group);
      EXPECT_EQ(tiling.packs_per_kv * tiling.pack, group);
      for (const std::int64_t length : {0, 1, 63, 64, 65, 300, 1000}) {
        std::int64_t next = 0;
        for (std::int64_t tile = 0; tile < tiling.tiles(length); ++tile) {
          const Range queries = tiling.queries(tile, length);
          ASSERT_EQ(queries.begin, next);
          ASSERT_FALSE(queries.empty());
          ASSERT_LE(queries.size() * tiling.pack, kQueryTile);
          ASSERT_EQ(tiling.tile_of(queries.begin), tile);
          ASSERT_EQ(tiling.tile_of(queries.end - 1), tile);
          if (block > 0) {
            ASSERT_EQ(queries.begin / block, (queries.end - 1) / block);
          }
          next = queries.end;
        }
        ASSERT_EQ(next, length);
      }
    }
  }
}

TEST(Tiling, HeadsWithTheirOwnListsDoNotShareATile) {
  Problem problem = problem_with(8, 2, 64);
  problem.blocks.heads = 8;
  EXPECT_EQ(make_tiling(problem).pack, 1);
}

/// A plan of one sequence whose query blocks list the columns given.
HostPlan plan_of(std::int64_t q_length, std::int64_t kv_length, Window window, std::int64_t block,
                 const std::vector<std::vector<std::int64_t>>& columns) {
  HostPlan plan;
  plan.sequences = {{0, q_length, 0, kv_length, 0}};
  plan.window = window;
  plan.block_sparse = block > 0;
  plan.blocks = {block, block, 1, {0, std::ssize(columns)}, {0}, {}};
  for (const auto& row : columns) {
    plan.blocks.columns.insert(plan.blocks.columns.end(), row.begin(), row.end());
    plan.blocks.row_offsets.push_back(std::ssize(plan.blocks.columns));
  }
  return plan;
}

/// Whether query i may attend to key j, by the contract's words.
bool visible(const HostPlan& plan, std::int64_t i, std::int64_t j) {
  const Sequence& s = plan.sequence(0);
  const std::int64_t position = i + s.kv_length - s.q_length;
  if (plan.window.left >= 0 && j < position - plan.window.left) return false;
  if (plan.window.right >= 0 && j > position + plan.window.right) return false;
  if (!plan.block_sparse) return true;
  for (const std::int64_t column : plan.blocks.columns_of(0, i / plan.blocks.block_q)) {
    if (column == j / plan.blocks.block_kv) return true;
  }
  return false;
}

/// Walks the tiles of `rows` and compares with visible(), key by key.
void check_key_tiles(const HostPlan& plan, const QueryRows& rows, Range within) {
  KeyTiles tiles(plan, 0, rows, within);
  std::set<std::int64_t> reached;
  std::int64_t previous = -1;
  for (Range keys; tiles.next(keys);) {
    ASSERT_GT(keys.begin, previous);
    ASSERT_FALSE(keys.empty());
    ASSERT_EQ(keys.begin / kKeyTile, (keys.end - 1) / kKeyTile);
    for (std::int64_t key = keys.begin; key < keys.end; ++key) reached.insert(key);
    previous = keys.end - 1;
  }
  for (std::int64_t key = within.begin; key < within.end; ++key) {
    bool seen = false;
    for (std::int64_t i = rows.queries.begin; i < rows.queries.end; ++i) {
      seen = seen || visible(plan, i, key);
    }
    ASSERT_TRUE(!seen || reached.contains(key)) << key;
  }
  // Keys in between that no query sees come only with far-apart windows, never outside their hull.
  for (const std::int64_t key : reached) {
    ASSERT_TRUE(within.begin <= key && key < within.end);
    bool listed = !plan.block_sparse;
    if (plan.block_sparse) {
      const auto row = plan.blocks.columns_of(0, rows.queries.begin / plan.blocks.block_q);
      for (const std::int64_t c : row) listed = listed || c == key / plan.blocks.block_kv;
    }
    ASSERT_TRUE(listed) << key;
  }
}

TEST(KeyTiles, ReachWhatTheMaskShowsAndNoUnlistedBlock) {
  std::mt19937 random(3);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  for (int trial = 0; trial < 400; ++trial) {
    const std::int64_t q_length = 1 + below(400);
    const std::int64_t kv_length = below(400);
    const std::int64_t block = std::int64_t{64} * below(3);
    const Window window{below(2) == 0 ? -1 : below(200), below(2) == 0 ? -1 : below(200)};
    std::vector<std::vector<std::int64_t>> columns;
    for (std::int64_t q = 0; block > 0 && q < q_length; q += block) {
      columns.emplace_back();
      for (std::int64_t j = 0; j * block < kv_length; ++j) {
        if (below(2) == 0) columns.back().push_back(j);
      }
    }
    const HostPlan plan = plan_of(q_length, kv_length, window, block, columns);
    Problem problem = problem_with(2, 1, block);
    const Tiling tiling = make_tiling(problem);
    for (std::int64_t tile = 0; tile < tiling.tiles(q_length); ++tile) {
      const QueryRows rows = tiling.rows(plan.sequence(0), 0, tile);
      check_key_tiles(plan, rows, {0, kv_length});
      check_key_tiles(plan, rows, {kv_length / 3, kv_length / 2});
    }
  }
}

TEST(Panel, LimitsAgreeWithVisibility) {
  const HostPlan plan = plan_of(150, 200, {20, 3}, 0, {});
  const QueryRows rows{{150, 200}, {10, 90}, 0, 2};
  for (std::int64_t row = 0; row < rows.size(); row += kPanel) {
    const Panel panel = panel_at(rows, row, plan.window);
    LaneLimits limits;
    const std::int64_t first = 64;
    set_lane_limits(rows, panel, plan.window, first, limits);
    for (std::int64_t lane = 0; lane < kPanel; ++lane) {
      for (std::int64_t key = 0; key < kKeyTile; ++key) {
        const bool inside = limits.begin[lane] <= static_cast<float>(key) &&
                            static_cast<float>(key) < limits.end[lane];
        const bool expected =
            lane < panel.rows() && visible(plan, rows.query(row + lane), first + key);
        ASSERT_EQ(inside, expected) << "row " << row + lane << " key " << first + key;
        if (expected) {
          ASSERT_TRUE(covers(panel.keys.any, {first + key, first + key + 1}));
        } else if (lane < panel.rows()) {
          ASSERT_FALSE(covers(panel.keys.all, {first + key, first + key + 1}));
        }
      }
    }
  }
}

TEST(Schedule, MeetsEveryItemOnce) {
  std::mt19937 random(5);
  for (const std::int64_t batch : {0, 1, 2, 50}) {
    HostPlan plan;
    std::vector<std::int64_t> items;
    plan.work_before = {0};
    for (std::int64_t b = 0; b < batch; ++b) {
      const bool giant = random() % 10 == 0;
      const auto count = static_cast<std::int64_t>(random() % (giant ? 1000 : 4));
      items.push_back(count);
      plan.sequences.emplace_back();
      // Sequences with items have work; those without may or may not.
      const double work = static_cast<double>(count == 0 ? random() % 2 : random() % 100 + 1);
      plan.work_before.push_back(plan.work_before.back() + work);
    }
    for (const std::int64_t shares : {1, 2, 7, 64, 1000}) {
      std::map<std::pair<std::int64_t, std::int64_t>, int> met;
      for (std::int64_t share = 0; share < shares; ++share) {
        for_each_item(
            plan, share, shares, [&](std::int64_t b) { return items[static_cast<std::size_t>(b)]; },
            [&](std::int64_t b, std::int64_t item) {
              ++met[{b, item}];
            });
      }
      std::size_t expected = 0;
      for (const std::int64_t count : items) expected += static_cast<std::size_t>(count);
      EXPECT_EQ(met.size(), expected) << batch << " sequences, " << shares << " shares";
      for (const auto& [item, times] : met) EXPECT_EQ(times, 1);
    }
  }
}

TEST(Schedule, SharesAGiantSequence) {
  HostPlan plan;
  plan.work_before = {0};
  std::vector<std::int64_t> items;
  for (int b = 0; b < 100; ++b) {
    items.push_back(b == 40 ? 400 : 1);
    plan.sequences.emplace_back();
    plan.work_before.push_back(plan.work_before.back() + (b == 40 ? 400.0 : 1.0));
  }
  for (std::int64_t share = 0; share < 10; ++share) {
    int count = 0;
    for_each_item(
        plan, share, 10, [&](std::int64_t b) { return items[static_cast<std::size_t>(b)]; },
        [&](std::int64_t, std::int64_t) { ++count; });
    EXPECT_NEAR(count, 50, 2) << "share " << share;
  }
}

}  // namespace
}  // namespace jfa::cpu
