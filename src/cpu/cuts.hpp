// How the backward pass without broadcast_q is cut into pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/kernels.hpp"
#include "cpu/tiling.hpp"

namespace jfa::cpu {

/// Keys of a piece that does not give dq as a whole: their dk and dv, added to once a query tile,
/// stay in the second-level cache.
inline constexpr std::int64_t kSplitKeys = 512;

/// How the work of a sequence is cut in the backward pass without broadcast_q.
///
/// Whole: one piece a key/value head gives all three gradients and computes each score once. Split:
/// pieces along the keys give dk and dv, pieces along the queries dq, and scores are computed
/// twice; for sequences that would keep one thread busy while others have run out of work, or whose
/// dk and dv do not fit in scratch. Every element is the same sum in the same order either way.
class BackwardCuts {
 public:
  BackwardCuts(const BackwardCall& call, int threads)
      : call_(call),
        most_keys_(piece_keys(call.problem)),
        most_work_(threads == 1 ? std::numeric_limits<double>::infinity()
                                : call.plan.work_before.back() *
                                      static_cast<double>(call.problem.heads_kv) / (2 * threads)) {}

  bool is_whole(std::int64_t b) const {
    return call_.plan.sequence(b).kv_length <= most_keys_ && call_.plan.work(b) <= most_work_;
  }
  bool any_split() const {
    for (std::int64_t b = 0; b < call_.problem.batch; ++b) {
      if (!is_whole(b)) return true;
    }
    return false;
  }

  /// Pieces that give dk and dv, and dq too where the sequence is whole.
  std::int64_t key_pieces(std::int64_t b) const {
    return call_.problem.heads_kv * pieces_a_head(b);
  }
  Piece key_piece(std::int64_t b, std::int64_t item) const {
    const Tiling& tiling = call_.tiling;
    const Sequence& s = call_.plan.sequence(b);
    const std::int64_t head = item / pieces_a_head(b);
    Piece piece{.b = b,
                .packs = {head * tiling.packs_per_kv, (head + 1) * tiling.packs_per_kv},
                .tiles = {0, tiling.tiles(s.q_length)},
                .keys = {0, s.kv_length},
                .dq = true,
                .dk_dv = true};
    if (is_whole(b)) return piece;
    const std::int64_t key = item % pieces_a_head(b) * kSplitKeys;
    piece.keys = {key, std::min(key + kSplitKeys, s.kv_length)};
    piece.dq = false;
    const Range queries = visible_queries(piece.keys, {s.q_length, s.kv_length}, call_.plan.window);
    piece.tiles = queries.empty()
                      ? Range{}
                      : Range{tiling.tile_of(queries.begin), tiling.tile_of(queries.end - 1) + 1};
    return piece;
  }

  /// Pieces that give dq of split sequences: one a query tile.
  std::int64_t query_pieces(std::int64_t b) const {
    return is_whole(b) ? 0 : call_.tiling.packs * call_.tiling.tiles(q_length(b));
  }
  Piece query_piece(std::int64_t b, std::int64_t item) const {
    const std::int64_t tiles = call_.tiling.tiles(q_length(b));
    const std::int64_t pack = item / tiles;
    const std::int64_t tile = item % tiles;
    return {.b = b,
            .packs = {pack, pack + 1},
            .tiles = {tile, tile + 1},
            .keys = {0, call_.plan.sequence(b).kv_length},
            .dq = true};
  }

 private:
  std::int64_t q_length(std::int64_t b) const { return call_.plan.sequence(b).q_length; }
  std::int64_t pieces_a_head(std::int64_t b) const {
    return is_whole(b) ? 1 : divide_up(call_.plan.sequence(b).kv_length, kSplitKeys);
  }

  const BackwardCall& call_;
  std::int64_t most_keys_;
  double most_work_;  ///< of a whole sequence, a head
};

}  // namespace jfa::cpu
