// A panel: the part of a query tile whose scores are worked on at once.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/tiling.hpp"

namespace jfa::cpu {

/// Rows `begin .. end - 1` of a query tile, and the keys they see.
struct Panel {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  Visibility keys;

  std::int64_t rows() const noexcept { return end - begin; }
};

inline Panel panel_at(const QueryRows& tile, std::int64_t begin, Window window) noexcept {
  const std::int64_t end = std::min(begin + kPanel, tile.size());
  return {begin, end, visibility(tile, begin, end, window)};
}

/// The keys each query of a panel sees, counted from a tile's first key, as floats for the vector
/// compare; lanes past the panel's rows see none.
struct LaneLimits {
  alignas(64) float begin[kPanel];
  alignas(64) float end[kPanel];
};

inline void set_lane_limits(const QueryRows& tile, const Panel& panel, Window window,
                            std::int64_t first_key, LaneLimits& limits) noexcept {
  const auto relative = [first_key](std::int64_t key) {
    return static_cast<float>(std::clamp<std::int64_t>(key - first_key, 0, kKeyTile));
  };
  for (std::int64_t lane = 0; lane < kPanel; ++lane) {
    Range keys{first_key, first_key};
    if (lane < panel.rows()) {
      const std::int64_t query = tile.query(panel.begin + lane);
      keys = visible_keys({query, query + 1}, tile.extent, window);
    }
    limits.begin[lane] = relative(keys.begin);
    limits.end[lane] = relative(keys.end);
  }
}

}  // namespace jfa::cpu
