// Which keys a query may attend to. All positions are relative to the sequence and aligned at the
// bottom right: query i of a sequence with Lq queries and Lk keys stands at key position
// i + Lk - Lq, as in FlashAttention 2.1 and later.
#pragma once

#include <cstdint>
#include <optional>

#include "jfa/tensor.hpp"

namespace jfa {

/// Query at key position p sees keys p - left .. p + right; -1 leaves that side unbounded.
struct Window {
  std::int64_t left = -1;
  std::int64_t right = -1;
};

/// Lists, for each block of queries, the blocks of keys it sees.
///
/// Query blocks are counted from row 0 of each sequence, sequences in order, so that there are
/// n = sum over b of ceil(Lq(b) / block_q), and with broadcast_q n = B * ceil(Lq / block_q).
/// Query block i of head h sees the key blocks
/// `columns[row_offsets[h][i]] .. columns[row_offsets[h][i + 1] - 1]`, which are relative to the
/// sequence and strictly increasing.
struct BlockSparse {
  std::int64_t block_q = 0;   ///< queries a block, a positive multiple of 64
  std::int64_t block_kv = 0;  ///< keys a block, a positive multiple of 64
  std::int64_t heads = 1;     ///< 1 (every head alike) or heads_q
  /// `[heads, row_offsets.size / heads]`, head-major; each head needs n + 1 entries and may have
  /// more (capacity), which are not read.
  IndexView row_offsets;
  IndexView columns;  ///< key-block numbers; capacity past the last row's end is not read
};

/// The conjunction of its parts; the default masks nothing.
struct Mask {
  bool causal = false;  ///< the same as window.right = 0
  Window window = {};
  std::optional<BlockSparse> block_sparse = std::nullopt;
};

}  // namespace jfa
