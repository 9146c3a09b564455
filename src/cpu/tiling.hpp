// How the CPU engine cuts attention into tiles: sizes, heads that share a tile, keys a tile
// reaches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "plan/host_plan.hpp"
#include "problem/problem.hpp"

namespace jfa::cpu {

// Sizes are the same on every SIMD target, so that scratch is too.
inline constexpr std::int64_t kCacheLineFloats = 16;
/// Query rows whose scores against one key tile are computed, exponentiated and used while they are
/// in the first-level cache: 64 x 64 scores are 16 KiB.
inline constexpr std::int64_t kPanel = 64;
/// Query rows for which a key tile is loaded once.
inline constexpr std::int64_t kQueryTile = 4 * kPanel;
/// Key tiles begin at multiples of this, counted from the sequence's first key: how a row's sum is
/// rounded does not depend on the tile the row is in. Divides every block size of a block mask.
inline constexpr std::int64_t kKeyTile = 64;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) noexcept {
  return a / b + (a % b != 0);
}
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) noexcept {
  return divide_up(a, b) * b;
}

/// Floats from one row of a scratch tile to the next: an odd number of cache lines, so that a
/// column of a tile spreads over all sets of the cache.
constexpr std::int64_t tile_stride(std::int64_t head_dim) noexcept {
  return (divide_up(head_dim, kCacheLineFloats) | 1) * kCacheLineFloats;
}

/// Query rows of some heads of one sequence: row r is query `queries.begin + r / heads` of head
/// `first_head + r % heads`.
struct QueryRows {
  Extent extent;  ///< of the sequence
  Range queries;
  std::int64_t first_head = 0;
  std::int64_t heads = 1;

  std::int64_t size() const noexcept { return queries.size() * heads; }
  std::int64_t query(std::int64_t row) const noexcept { return queries.begin + row / heads; }
};

/// Cuts the query rows of one sequence. The rows of `pack` heads that share a key/value head go
/// into one tile, query by query and head by head, so that short queries fill it; a tile never
/// crosses a block of a block mask.
struct Tiling {
  std::int64_t pack = 1;          ///< query heads a tile
  std::int64_t packs = 1;         ///< tiles side by side, over all heads
  std::int64_t packs_per_kv = 1;  ///< of which share a key/value head
  std::int64_t tile_queries = 1;  ///< queries a tile, each `pack` rows
  std::int64_t block = 0;         ///< queries a mask block; 0: no blocks
  std::int64_t tiles_per_block = 0;

  std::int64_t tiles(std::int64_t q_length) const noexcept {
    if (block == 0) return divide_up(q_length, tile_queries);
    return q_length / block * tiles_per_block + divide_up(q_length % block, tile_queries);
  }
  Range queries(std::int64_t tile, std::int64_t q_length) const noexcept {
    if (block == 0) return {tile * tile_queries, std::min((tile + 1) * tile_queries, q_length)};
    const std::int64_t begin = tile / tiles_per_block * block;
    const std::int64_t first = begin + tile % tiles_per_block * tile_queries;
    return {first, std::min({first + tile_queries, begin + block, q_length})};
  }
  QueryRows rows(const Sequence& s, std::int64_t pack_index, std::int64_t tile) const noexcept {
    return {{s.q_length, s.kv_length}, queries(tile, s.q_length), pack_index * pack, pack};
  }
  /// The tile that holds a query.
  std::int64_t tile_of(std::int64_t query) const noexcept {
    if (block == 0) return query / tile_queries;
    return query / block * tiles_per_block + query % block / tile_queries;
  }
};

inline Tiling make_tiling(const Problem& problem) noexcept {
  Tiling tiling;
  if (!problem.block_sparse || problem.blocks.heads == 1) {
    tiling.pack = std::min(problem.group_size, kPanel);
    while (problem.group_size % tiling.pack != 0) --tiling.pack;
  }
  tiling.packs = problem.heads_q / tiling.pack;
  tiling.packs_per_kv = problem.group_size / tiling.pack;
  tiling.tile_queries = kQueryTile / tiling.pack;
  if (problem.block_sparse) {
    tiling.block = problem.blocks.block_q;
    tiling.tiles_per_block = divide_up(tiling.block, tiling.tile_queries);
  }
  return tiling;
}

/// Keys that rows `[begin, end)` see by the window: those that any of them sees, and those that all
/// see. Both are right for every row in between, since a window's bounds ascend with the query.
struct Visibility {
  Range any;
  Range all;
};
inline Visibility visibility(const QueryRows& rows, std::int64_t begin, std::int64_t end,
                             Window window) noexcept {
  const std::int64_t first = rows.query(begin);
  const std::int64_t last = rows.query(end - 1);
  const Range of_first = visible_keys({first, first + 1}, rows.extent, window);
  const Range of_last = visible_keys({last, last + 1}, rows.extent, window);
  return {{of_first.begin, of_last.end}, {of_last.begin, of_first.end}};
}

constexpr Range intersect(Range a, Range b) noexcept {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

constexpr bool covers(Range outer, Range inner) noexcept {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// Walks, in ascending order, the key tiles within `keys` that a query tile reaches.
class KeyTiles {
 public:
  KeyTiles(const HostPlan& plan, std::int64_t b, const QueryRows& rows, Range keys)
      : keys_(intersect(keys, visible_keys(rows.queries, rows.extent, plan.window))),
        next_(keys_.begin) {
    if (!plan.block_sparse) return;
    const BlockLists& lists = plan.blocks;
    const std::int64_t row =
        lists.first_row[static_cast<std::size_t>(b)] + rows.queries.begin / lists.block_q;
    listed_ = true;
    block_kv_ = lists.block_kv;
    columns_ = lists.columns_of(rows.first_head, row);
    const auto first = std::lower_bound(columns_.begin(), columns_.end(), next_ / block_kv_);
    columns_ = columns_.subspan(static_cast<std::size_t>(first - columns_.begin()));
  }

  /// The next tile, at most kKeyTile keys; false when there is none.
  bool next(Range& tile) noexcept {
    if (listed_ && !enter_listed_block()) return false;
    if (next_ >= keys_.end) return false;
    tile = {next_, std::min((next_ / kKeyTile + 1) * kKeyTile, keys_.end)};
    next_ = tile.end;
    return true;
  }

 private:
  /// Moves on to the listed block that holds next_ or comes after it.
  bool enter_listed_block() noexcept {
    if (!columns_.empty() && next_ >= (columns_.front() + 1) * block_kv_) {
      columns_ = columns_.subspan(1);
    }
    if (columns_.empty()) return false;
    next_ = std::max(next_, columns_.front() * block_kv_);
    return true;
  }

  Range keys_;
  std::int64_t next_;
  bool listed_ = false;
  std::int64_t block_kv_ = 0;
  std::span<const std::int64_t> columns_;
};

}  // namespace jfa::cpu
