// The planner in the emulator against plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/planner_checks.hpp"
#include "machine/emulated_device.hpp"

namespace jfa {
inline namespace emulated {
namespace {

constexpr ItemShape kShape = {
    .tile_rows = 128, .block_keys = 128, .resident_keys = 256, .run_tiles = 8};
constexpr KeyShape kKeyShape = {.block_keys = 128, .tile_rows = 64, .group = 2, .pairs = true};

template <int Threads = 64, class Index, class Shape>
void check(const PlannedBatch<Index>& batch, const Shape& shape, std::uint64_t seed) {
  on_turn("plan", seed, [&](EmulatedDevice& device) { check_plan<Threads>(device, batch, shape); });
}

TEST(Planner, HalfOctaves) {
  for (int x = 1; x < 100'000; ++x) {
    // No power of the square root of 2 that is no integer comes near one.
    ASSERT_EQ(half_octaves(x), static_cast<int>(std::floor(2 * std::log2(x) + 1e-9))) << x;
  }
  EXPECT_EQ(half_octaves((1 << 30) + 1), 60);
  EXPECT_EQ(half_octaves(2'147'483'647), 61);
}

TEST(Planner, RandomBatches) {
  for (const int batch : {0, 1, 2, 31, 300, 1000}) {
    const auto seed = static_cast<std::uint64_t>(batch);
    check(random_batch<std::int32_t>(batch, 2000, seed), kShape, seed);
    check<1024>(random_batch<std::int64_t>(batch, 2000, seed), kKeyShape, seed + 1);
    if (HasFatalFailure()) return;
  }
}

/// Around the edges of tiles, which the end of the plan may have to itself.
TEST(Planner, BatchesOfSeveralTiles) {
  for (const int batch : {kPlannedTile - 1, kPlannedTile, 2 * kPlannedTile - 1, 5000}) {
    const auto seed = static_cast<std::uint64_t>(batch);
    check<256>(random_batch<std::int32_t>(batch, 2000, seed), kShape, seed);
    if (HasFatalFailure()) return;
  }
  check(random_batch<std::int64_t>(70'000, 30, 7), kShape, 6);  // more tiles than lanes
  check(random_batch<std::int64_t>(9000, 400, 8), kKeyShape, 7);
  check(random_batch<std::int64_t>(2 * kPlannedTile, 400, 9), kKeyShape, 8);
}

TEST(Planner, BroadcastQueries) {
  auto batch = random_batch<std::int32_t>(500, 2000, 8);
  batch.q_offsets.clear();
  batch.q_rows = 300;
  check(batch, kShape, 8);
  check(batch, kKeyShape, 9);
}

/// Sequences of few queries are one item of the kernel by keys, and lead; the kernel by queries has
/// nothing of them.
TEST(Planner, FewQueries) {
  constexpr KeyShape kKeys = {
      .block_keys = 128, .tile_rows = 64, .group = 1, .pairs = false, .few_queries = 128};
  static_assert(kKeys.items(128, 1000) == 1 && kKeys.items(1, 0) == 1);
  static_assert(kKeys.items(129, 1000) == 8 && kKeys.items(0, 1000) == 8);
  static_assert(kKeys.leads(128, 1000) && !kKeys.leads(129, 1000) && !kKeys.leads(0, 1000));
  static_assert(kKeys.leads(1, 8192) && !kKeys.leads(1, 8193));  // one block works on all of them
  ItemShape rows = kShape;
  rows.few_queries = 128;
  EXPECT_EQ(rows.items(128, 1000), 0);
  EXPECT_EQ(rows.items(129, 1000), 2);
  EXPECT_EQ(rows.items(128, 8193), 1);
  const auto batch = random_batch<std::int32_t>(3000, 300, 5);
  check(batch, kKeys, 10);
  check(batch, rows, 11);
}

TEST(Planner, OneGiantAmongTinyAndEmptyOnes) {
  std::vector<std::int64_t> q, kv;
  for (std::int64_t b = 0; b < 3000; ++b) {
    q.push_back(b == 777 ? 1'000'000 : b % 3);
    kv.push_back(b == 777 ? 900'000 : b % 5);
  }
  check(batch_of<std::int32_t>(q, kv), kShape, 1);
}

/// Offsets that leave the tensors or fall are clamped: no row outside them is ever named.
TEST(Planner, ClampsWrongOffsets) {
  const std::vector<std::int32_t> wrong = {-5, 70, 30, 2'000'000'000, 40};
  check(PlannedBatch<std::int32_t>{wrong, wrong, 100, 90}, kShape, 3);
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
