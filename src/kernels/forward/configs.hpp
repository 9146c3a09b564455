// Configurations of the forward kernel, the same for every engine. The measurements behind them are
// in docs/kernels/forward.md.
#pragma once

#include "kernels/forward/forward.hpp"

namespace jfa::inline JFA_BACKEND {

/// What tiles are for.
enum class Tiles {
  Wide,    // long keys, each block of which is loaded for as many rows as can be
  Short,   // keys that stay in shared memory while several tiles of queries pass
  Narrow,  // block-sparse masks, narrow windows: small blocks of keys, to skip more of them
  Small,   // the same with registers to spare, for more math on scores
  Tiny     // sequences of few rows and keys, of which a multiprocessor has several at once
};

/// For tensors of up to `head_dim` columns: 64, 128 or 256.
constexpr ForwardConfig forward_config(int head_dim, Tiles tiles, bool half) {
  ForwardConfig c{.head_dim = head_dim, .half = half};
  const bool of_lists = tiles == Tiles::Narrow || tiles == Tiles::Small;
  if (head_dim == 256) {
    c.keys = of_lists ? 64 : 80;
    c.q_slots = 1;
    return c;
  }
  if (tiles == Tiles::Tiny) {
    c.groups = 1;
    c.keys = 64;
    c.q_slots = head_dim == 64 ? 3 : 2;
    c.blocks = head_dim == 64 ? 3 : 2;
    return c;
  }
  if (tiles == Tiles::Wide || tiles == Tiles::Narrow) c.groups = 3;
  c.draws_late = tiles == Tiles::Wide;
  if (of_lists) c.keys = 64;
  if (of_lists || head_dim == 64) c.kv_slots = 8;
  if (head_dim == 64) {
    c.turns = tiles == Tiles::Wide;
  } else if (tiles == Tiles::Wide) {
    c.keys = 80;
    c.q_slots = 2;
    c.kv_slots = 6;
  } else if (tiles == Tiles::Narrow) {
    c.q_slots = 2;
  }
  return c;
}

/// Of Blackwell's kernel, for tensors of up to `head_dim` columns: 64 or 128; with lists, whose
/// blocks are multiples of 64.
constexpr ForwardConfig blackwell_forward_config(int head_dim, bool half, bool lists) {
  return {.head_dim = head_dim,
          .keys = lists ? 64 : 128,
          .q_slots = 1,
          .kv_slots = (head_dim == 64 ? 8 : 3) * (lists ? 2 : 1),
          .half = half,
          .shares_keys = false,
          .polynomial = 4};
}

}  // namespace jfa::inline JFA_BACKEND
