// A batch's plan as kernels read it: sequences in cost order and where the work of each begins.
#pragma once

#include <algorithm>
#include <cstdint>

namespace jfa {

/// One sequence, offsets clamped to the tensors. A plan holds `batch` of them, most expensive work
/// first, and one more without items whose `first_item` is the number of items of all.
struct alignas(32) PlannedSequence {
  int q_begin;     ///< row of q
  int q_length;    ///< rows in use
  int kv_begin;    ///< row of k and v
  int kv_length;   ///< rows in use
  int out_begin;   ///< row of out and lse
  int first_item;  ///< items of the sequences before, for one head
  int items;       ///< its own, for one head
  int index;       ///< the sequence's place in the batch
};

/// Sequences (the end is one) that one block of the planner sorts, and the buckets it sorts by.
inline constexpr int kPlannedTile = 2048;
inline constexpr int kPlannedBuckets = 32;

constexpr int planned_tiles(std::int64_t batch) noexcept {
  return static_cast<int>(batch / kPlannedTile + 1);
}

/// Where in a tile of sequences a bucket starts. Of the tile's end: also its blocks of queries.
struct alignas(16) BucketStart {
  int place;
  int item;
  int block_row;
};

/// The length of a plan's memory, in records: sequences, the end, and behind it what the planner's
/// blocks tell each other.
constexpr std::int64_t plan_records(std::int64_t batch) noexcept {
  constexpr std::int64_t kOfTile = (kPlannedBuckets + 1) * sizeof(BucketStart);
  const std::int64_t told = batch < kPlannedTile ? 0 : kOfTile * planned_tiles(batch);
  constexpr std::int64_t kRecord = sizeof(PlannedSequence);
  return batch + 1 + (told + kRecord - 1) / kRecord;
}

/// By how many half octaves `x`, which is positive, is above 1.
constexpr int half_octaves(int x) noexcept {
  int octaves = 0;
  for (int step = 16; step > 0; step /= 2) {
    if (x >> octaves >> step != 0) octaves += step;
  }
  return 2 * octaves + static_cast<int>(std::int64_t{x} * x >> (2 * octaves + 1));
}

/// The end's words before `first_item` are tickets: counters that kernels draw items from. They
/// hold 0 when no kernel runs that draws from them.
inline constexpr int kPlanTickets = 5;

/// How a kernel cuts a sequence's queries into tiles, and tiles into items of work. An item is a
/// run of tiles that share keys and values where these fit the kernel's buffers, else one tile.
struct ItemShape {
  int tile_rows;      ///< queries a tile
  int block_keys;     ///< keys a block
  int resident_keys;  ///< keys that fit the buffers; 0: tiles share nothing
  int run_tiles;      ///< tiles of a run at most

  constexpr int tiles(int q_length) const noexcept {
    return q_length / tile_rows + (q_length % tile_rows != 0 ? 1 : 0);
  }
  constexpr int tiles_of_item(int kv_length) const noexcept {
    return resident_keys > 0 && kv_length <= resident_keys ? run_tiles : 1;
  }
  constexpr int items(int q_length, int kv_length) const noexcept {
    const int run = tiles_of_item(kv_length);
    return (tiles(q_length) + run - 1) / run;
  }
  /// Work of one item, in blocks of keys.
  constexpr int cost(int q_length, int kv_length) const noexcept {
    const int blocks = std::max(1, kv_length / block_keys + (kv_length % block_keys != 0 ? 1 : 0));
    return blocks * std::min(tiles(q_length), tiles_of_item(kv_length));
  }
};

/// How a kernel cuts a sequence's keys into blocks that visit tiles of queries. An item is one
/// block, or all blocks of a short sequence.
struct KeyShape {
  int block_keys;    ///< keys a block
  int tile_rows;     ///< queries a tile
  int group;         ///< heads whose tiles one block of keys visits
  int kept_tiles;    ///< that a whole sequence may have at most, over the group
  int whole_blocks;  ///< and blocks

  constexpr int blocks(int kv_length) const noexcept {
    return kv_length / block_keys + (kv_length % block_keys != 0 ? 1 : 0);
  }
  constexpr std::int64_t tiles(int q_length) const noexcept {
    return std::int64_t{group} * (q_length / tile_rows + (q_length % tile_rows != 0 ? 1 : 0));
  }
  /// Whether an item is a sequence of several blocks.
  constexpr bool whole(int q_length, int kv_length) const noexcept {
    return kv_length > block_keys && tiles(q_length) <= kept_tiles &&
           blocks(kv_length) <= whole_blocks;
  }
  /// Whether several items add to the same queries.
  constexpr bool summed(int q_length, int kv_length) const noexcept {
    return kv_length > block_keys && !whole(q_length, kv_length);
  }
  constexpr int items(int q_length, int kv_length) const noexcept {
    return whole(q_length, kv_length) ? 1 : blocks(kv_length);
  }
  /// Work of one item, in visits of tiles; at least 1.
  constexpr int cost(int q_length, int kv_length) const noexcept {
    const std::int64_t visits =
        tiles(q_length) * (whole(q_length, kv_length) ? blocks(kv_length) : 1);
    return static_cast<int>(std::min<std::int64_t>(visits + 1, 1 << 30));
  }
};

}  // namespace jfa
