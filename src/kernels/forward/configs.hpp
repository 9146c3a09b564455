// Configurations of the forward kernel by head_dim, the same for every engine.
#pragma once

#include "kernels/forward/forward.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// For a tile of `head_dim` columns: 64 or 128.
constexpr ForwardConfig forward_config(int head_dim, bool half) {
  if (head_dim == 64) return {.head_dim = 64, .kv_slots = 4, .half = half};
  return {.head_dim = head_dim, .half = half};
}

}  // namespace JFA_BACKEND
}  // namespace jfa
