// What a window lets a tile reach. Shared by every planner and kernel, on host and device.
#pragma once

#include <algorithm>
#include <cstdint>

#include "jfa/mask.hpp"

namespace jfa {

/// Rows begin .. end - 1 of one sequence.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  constexpr bool empty() const noexcept { return begin >= end; }
  constexpr std::int64_t size() const noexcept { return empty() ? 0 : end - begin; }
};

/// The sides of one sequence, in rows in use.
struct Extent {
  std::int64_t q_length = 0;
  std::int64_t kv_length = 0;

  /// Key position of query 0 (bottom-right alignment); negative when there are more queries.
  constexpr std::int64_t shift() const noexcept { return kv_length - q_length; }
};

/// The keys that at least one of `queries` sees. `queries` is not empty.
constexpr Range visible_keys(Range queries, Extent extent, Window window) noexcept {
  Range keys{0, extent.kv_length};
  if (window.left >= 0) {
    keys.begin = std::max(keys.begin, queries.begin + extent.shift() - window.left);
  }
  if (window.right >= 0) {
    keys.end = std::min(keys.end, queries.end + extent.shift() + window.right);
  }
  return keys;
}

/// The keys that each of `queries` sees. `queries` is not empty.
constexpr Range common_keys(Range queries, Extent extent, Window window) noexcept {
  Range keys{0, extent.kv_length};
  if (window.left >= 0) {
    keys.begin = std::max(keys.begin, queries.end - 1 + extent.shift() - window.left);
  }
  if (window.right >= 0) {
    keys.end = std::min(keys.end, queries.begin + extent.shift() + window.right + 1);
  }
  return keys;
}

/// The queries that see at least one of `keys`. `keys` is not empty.
constexpr Range visible_queries(Range keys, Extent extent, Window window) noexcept {
  Range queries{0, extent.q_length};
  if (window.right >= 0) {
    queries.begin = std::max(queries.begin, keys.begin - extent.shift() - window.right);
  }
  if (window.left >= 0) {
    queries.end = std::min(queries.end, keys.end - extent.shift() + window.left);
  }
  return queries;
}

}  // namespace jfa
