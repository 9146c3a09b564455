// Configurations of the forward kernel, the same for every engine. The measurements behind them are
// in docs/kernels/forward.md.
#pragma once

#include "kernels/forward/forward.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// What tiles are for.
enum class Tiles {
  Wide,   // three warpgroups: long keys, each block of which is loaded for as many rows as can be
  Short,  // two: keys that stay in shared memory while several tiles of queries pass
};

/// For tensors of up to `head_dim` columns: 64, 128 or 256.
constexpr ForwardConfig forward_config(int head_dim, Tiles tiles, bool half) {
  if (head_dim == 64 && tiles == Tiles::Short) {
    return {.head_dim = 64, .keys = 128, .kv_slots = 8, .half = half};
  }
  if (head_dim == 64) {
    return {.head_dim = 64, .groups = 3, .keys = 128, .kv_slots = 8, .turns = true, .half = half};
  }
  if (head_dim == 256) {
    return {.head_dim = 256, .keys = 80, .q_slots = 1, .kv_slots = 4, .half = half};
  }
  if (tiles == Tiles::Short) return {.head_dim = 128, .keys = 128, .half = half};
  return {.head_dim = 128, .groups = 3, .keys = 80, .q_slots = 2, .kv_slots = 6, .half = half};
}

}  // namespace JFA_BACKEND
}  // namespace jfa
