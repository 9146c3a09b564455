// A batch's plan as kernels read it: sequences in cost order and where the work of each begins.
#pragma once

#include <algorithm>
#include <cstdint>

namespace jfa {

/// One sequence, offsets clamped to the tensors. A plan holds `batch` of them, most expensive work
/// first of those that lead, then of the others, and one more whose `first_item` is the number of
/// items of all and whose `items` is that of those that lead.
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

/// Whether a sequence has few queries, up to `most`, and is a kernel's that works on all its keys
/// in one block of the grid: more keys than this would keep it busy when the others are done.
inline constexpr int kMostKeysOfFew = 8192;
constexpr bool has_few(int most, int q_length, int kv_length) noexcept {
  return q_length > 0 && q_length <= most && kv_length <= kMostKeysOfFew;
}

/// How a kernel cuts a sequence's queries into tiles, and tiles into items of work. An item is a
/// run of tiles that share keys and values where these fit the kernel's buffers, else one tile.
struct ItemShape {
  static constexpr int kLeadingBuckets = 0;  // no sequence leads

  int tile_rows;        ///< queries a tile
  int block_keys;       ///< keys a block
  int resident_keys;    ///< keys that fit the buffers; 0: tiles share nothing
  int run_tiles;        ///< tiles of a run at most
  int few_queries = 0;  ///< sequences of up to so many queries are another kernel's: no items

  constexpr int tiles(int q_length) const noexcept {
    return q_length / tile_rows + (q_length % tile_rows != 0 ? 1 : 0);
  }
  constexpr int tiles_of_item(int kv_length) const noexcept {
    return resident_keys > 0 && kv_length <= resident_keys ? run_tiles : 1;
  }
  constexpr int items(int q_length, int kv_length) const noexcept {
    if (has_few(few_queries, q_length, kv_length)) return 0;
    const int run = tiles_of_item(kv_length);
    return (tiles(q_length) + run - 1) / run;
  }
  /// Work of one item, in blocks of keys.
  constexpr int cost(int q_length, int kv_length) const noexcept {
    if (has_few(few_queries, q_length, kv_length)) return 0;
    const int blocks = std::max(1, kv_length / block_keys + (kv_length % block_keys != 0 ? 1 : 0));
    return blocks * std::min(tiles(q_length), tiles_of_item(kv_length));
  }
  constexpr bool leads(int /*q_length*/, int /*kv_length*/) const noexcept { return false; }
};

/// How a kernel cuts a sequence's keys into blocks that visit tiles of queries. An item is one
/// block. Sequences of two, where pairs of blocks of the grid work on both at once, lead the plan;
/// or those of few queries do, an item each, where a kernel of their own takes them.
struct KeyShape {
  static constexpr int kLeadingBuckets = 14;  // of up to 90 tiles in order of cost

  int block_keys;       ///< keys a block
  int tile_rows;        ///< queries a tile
  int group;            ///< heads whose tiles one block of keys visits
  bool pairs;           ///< whether blocks of the grid work in pairs
  int few_queries = 0;  ///< up to so many are few; 0: no sequence has few

  constexpr int blocks(int kv_length) const noexcept {
    return kv_length / block_keys + (kv_length % block_keys != 0 ? 1 : 0);
  }
  constexpr std::int64_t tiles(int q_length) const noexcept {
    return std::int64_t{group} * (q_length / tile_rows + (q_length % tile_rows != 0 ? 1 : 0));
  }
  constexpr bool few(int q_length, int kv_length) const noexcept {
    return has_few(few_queries, q_length, kv_length);
  }
  /// Whether a pair works on the sequence.
  constexpr bool paired(int kv_length) const noexcept { return pairs && blocks(kv_length) == 2; }
  constexpr bool leads(int q_length, int kv_length) const noexcept {
    return few(q_length, kv_length) || paired(kv_length);
  }
  /// Whether any number of blocks of the grid add to the same queries.
  constexpr bool summed(int kv_length) const noexcept {
    return kv_length > block_keys && !paired(kv_length);
  }
  constexpr int items(int q_length, int kv_length) const noexcept {
    return few(q_length, kv_length) ? 1 : blocks(kv_length);
  }
  /// Work of one item, in visits of tiles; at least 1.
  constexpr int cost(int q_length, int kv_length) const noexcept {
    const std::int64_t visits = few(q_length, kv_length) ? blocks(kv_length) : tiles(q_length);
    return static_cast<int>(std::min<std::int64_t>(visits + 1, 1 << 30));
  }
};

}  // namespace jfa
