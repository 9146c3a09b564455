// The backward pass over a rectangle of one sequence's scores.
//
//   for each query tile:   delta = rowsum(dout * out) - dlse
//     for each key tile:   S = scale * K Q^T,  P = exp(S - lse)     [keys, queries]: one lane a
//     query
//                          dP = V dO^T,        dS = P * (dP - delta)
//                          dV += P dO,  dK += dS Q,  dQ += dS^T K
//   at the end:            dQ and dK times scale
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/kernels.hpp"
#include "cpu/panel.hpp"
#include "cpu/rows.hpp"
#include "cpu/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/backward.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/gemm-inl.hpp"
#include "cpu/keys-inl.hpp"
#include "cpu/prefetch-inl.hpp"
#include "cpu/rows-inl.hpp"
#include "cpu/scores-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace jfa::cpu::HWY_NAMESPACE {
namespace {

struct BackwardScratch {
  BackwardScratch(Carver carver, const Problem& problem)
      : stride(tile_stride(problem.head_dim)),
        depth(round_up(problem.head_dim, 4)),
        q(carver.floats(kQueryTile * stride)),
        dout(carver.floats(kQueryTile * stride)),
        dq(carver.floats(kQueryTile * stride)),
        q_panels(carver.floats(kQueryTile * depth)),
        dout_panels(carver.floats(kQueryTile * depth)),
        lse(carver.floats(kQueryTile)),
        delta(carver.floats(kQueryTile)),
        keys(carver, stride),
        scores(carver.floats(kKeyTile * kPanel)),
        gradients(carver.floats(kKeyTile * kPanel)),
        dk(carver.floats(piece_keys(problem) * stride)),
        dv(carver.floats(piece_keys(problem) * stride)),
        bytes(carver.used()) {}

  std::int64_t stride;  ///< of q, dout, dq, dk, dv
  std::int64_t depth;
  float* q;
  float* dout;
  float* dq;        ///< holds out until delta is known
  float* q_panels;  ///< the transposes, panel after panel, `[depth, kPanel]` each
  float* dout_panels;
  float* lse;
  float* delta;
  KeyRows keys;
  float* scores;     ///< S, then P
  float* gradients;  ///< dP, then dS
  float* dk;         ///< of the piece's keys
  float* dv;
  std::size_t bytes;
};

/// One piece on its way through its query tiles, each through the keys it reaches.
class BackwardPiece {
 public:
  BackwardPiece(const BackwardCall& call, const Piece& piece, std::byte* scratch)
      : call_(call),
        problem_(call.problem),
        piece_(piece),
        sequence_(call.plan.sequence(piece.b)),
        kv_head_(piece.packs.begin / call.tiling.packs_per_kv),
        scratch_(Carver(scratch), problem_),
        vectors_(divide_up(problem_.head_dim, kLanes)) {}

  void run() {
    if (piece_.dk_dv) {
      std::fill_n(scratch_.dk, piece_.keys.size() * scratch_.stride, 0.0f);
      std::fill_n(scratch_.dv, piece_.keys.size() * scratch_.stride, 0.0f);
    }
    for (std::int64_t pack = piece_.packs.begin; pack < piece_.packs.end; ++pack) {
      for (std::int64_t tile = piece_.tiles.begin; tile < piece_.tiles.end; ++tile) {
        run_tile(pack, tile);
      }
    }
    if (piece_.dk_dv) {
      store_keys(call_.outputs.dk, scratch_.dk, static_cast<float>(problem_.softmax_scale));
      store_keys(call_.outputs.dv, scratch_.dv, 1.0f);
    }
  }

 private:
  void run_tile(std::int64_t pack, std::int64_t tile) {
    rows_ = call_.tiling.rows(sequence_, pack, tile);
    KeyTiles key_tiles(call_.plan, piece_.b, rows_, piece_.keys);
    Range keys;
    const bool reached = key_tiles.next(keys);
    if (reached) load_queries();
    start_dq(pack);
    for (bool more = reached; more; more = key_tiles.next(keys)) {
      load_keys(problem_, sequence_, keys, kv_head_, scratch_.keys);
      for (std::int64_t row = 0; row < rows_.size(); row += kPanel) {
        run_panel(panel_at(rows_, row, problem_.window), keys);
      }
    }
    if (piece_.dq) store_dq();
  }

  void load_queries() {
    const BackwardScratch& s = scratch_;
    const DType dtype = problem_.q.dtype;
    const std::int64_t dim = problem_.head_dim;
    load_rows(dtype, rows_of(problem_.q, sequence_.q_begin, rows_), dim, s.q, s.stride);
    load_rows(dtype, rows_of(call_.given.dout, sequence_.out_begin, rows_), dim, s.dout, s.stride);
    load_rows(dtype, rows_of(call_.given.out, sequence_.out_begin, rows_), dim, s.dq, s.stride);
    for (std::int64_t row = 0; row < rows_.size(); ++row) load_statistics(row);
    transpose_panels(s.q, s.stride, rows_.size(), s.depth, s.q_panels);
    transpose_panels(s.dout, s.stride, rows_.size(), s.depth, s.dout_panels);
  }

  /// lse and delta of a row. One without any score above -inf contributes nothing, whatever its
  /// dout holds: exp(S - inf) = 0 and dout = 0.
  void load_statistics(std::int64_t row) {
    const BackwardScratch& s = scratch_;
    const std::int64_t head = rows_.first_head + row % rows_.heads;
    const std::int64_t at = sequence_.out_begin + rows_.query(row);
    const ConstLseView& lse = call_.given.lse;
    s.lse[row] = lse.data[head * lse.head_stride + at];
    float* dout = s.dout + row * s.stride;
    if (s.lse[row] == -kInfinity) {
      s.lse[row] = kInfinity;
      s.delta[row] = 0;
      std::fill_n(dout, s.stride, 0.0f);
      return;
    }
    s.delta[row] = dot(dout, s.dq + row * s.stride, vectors_);
    if (const auto& dlse = call_.given.dlse) {
      s.delta[row] -= dlse->data[head * dlse->head_stride + at];
    }
  }

  /// Points dq_ at the sums of this tile's rows.
  void start_dq(std::int64_t pack) {
    if (piece_.dq_sum != nullptr) {
      const std::int64_t row = (pack * sequence_.q_length + rows_.queries.begin) * rows_.heads;
      dq_ = piece_.dq_sum + row * scratch_.stride;
      return;
    }
    dq_ = scratch_.dq;
    std::fill_n(dq_, rows_.size() * scratch_.stride, 0.0f);
  }

  void run_panel(const Panel& panel, Range tile) {
    const BackwardScratch& s = scratch_;
    const Range keys = intersect(tile, panel.keys.any);
    if (keys.empty()) return;
    const std::int64_t first = keys.begin - tile.begin;
    const std::int64_t lanes = divide_up(panel.rows(), kLanes);
    const Scores scores{s.scores, keys.size(), lanes};
    const Scores gradients{s.gradients, keys.size(), lanes};
    compute_scores(problem_, s.keys.k_from(first), s.q_panels + panel.begin * s.depth, scores);
    if (!covers(panel.keys.all, keys)) mask_scores(scores, rows_, panel, problem_.window, keys);
    multiply_scores(s.keys.v_from(first), s.dout_panels + panel.begin * s.depth, problem_.head_dim,
                    1.0f, gradients);
    differentiate(scores, gradients, s.lse + panel.begin, s.delta + panel.begin,
                  static_cast<float>(problem_.softcap));
    if (piece_.dk_dv) add_to_keys(panel, keys);
    if (piece_.dq || piece_.dq_sum != nullptr) add_to_queries(panel, keys, s.keys.k_from(first));
  }

  /// dV += P dO, dK += dS Q.
  void add_to_keys(const Panel& panel, Range keys) {
    const BackwardScratch& s = scratch_;
    const std::int64_t row = (keys.begin - piece_.keys.begin) * s.stride;
    Product<Stored::kAsIs, Added> product{.a = {s.scores, kPanel},
                                          .b = {s.dout + panel.begin * s.stride, s.stride},
                                          .c = {s.dv + row, s.stride},
                                          .rows = keys.size(),
                                          .vectors = vectors_,
                                          .depth = panel.rows(),
                                          .form = {}};
    multiply(product);
    product.a.data = s.gradients;
    product.b.data = s.q + panel.begin * s.stride;
    product.c.data = s.dk + row;
    multiply(product);
  }

  /// dQ += dS^T K.
  void add_to_queries(const Panel& panel, Range keys, ConstTile k) {
    const BackwardScratch& s = scratch_;
    multiply(Product<Stored::kTransposed, Added>{.a = {s.gradients, kPanel},
                                                 .b = k,
                                                 .c = {dq_ + panel.begin * s.stride, s.stride},
                                                 .rows = panel.rows(),
                                                 .vectors = vectors_,
                                                 .depth = keys.size(),
                                                 .form = {}});
  }

  void store_dq() {
    store_rows(
        call_.outputs.dq.dtype, dq_, scratch_.stride, problem_.head_dim,
        rows_of(call_.outputs.dq, sequence_.q_begin, rows_),
        [scale = static_cast<float>(problem_.softmax_scale)](std::int64_t) { return scale; });
  }

  void store_keys(const TensorView& tensor, const float* sums, float factor) {
    const Range rows{sequence_.kv_begin + piece_.keys.begin, sequence_.kv_begin + piece_.keys.end};
    store_rows(tensor.dtype, sums, scratch_.stride, problem_.head_dim,
               rows_of<std::byte>(tensor, rows, kv_head_, 1),
               [factor](std::int64_t) { return factor; });
  }

  const BackwardCall& call_;
  const Problem& problem_;
  const Piece& piece_;
  const Sequence& sequence_;
  std::int64_t kv_head_;
  BackwardScratch scratch_;
  std::int64_t vectors_;
  QueryRows rows_;       ///< of the tile at hand
  float* dq_ = nullptr;  ///< its sums
};

/// Rows of the query side that only the backward pass reads.
HWY_INLINE void prefetch_gradients(const BackwardCall& call, std::int64_t b, std::int64_t head) {
  if (head == call.problem.heads_q) {
    head = 0;
    ++b;
  }
  if (b >= call.problem.batch) return;
  const Sequence& s = call.plan.sequence(b);
  prefetch_rows(call.given.dout, s.out_begin, s.q_length, head, call.tiling.pack);
  prefetch_rows(call.given.out, s.out_begin, s.q_length, head, call.tiling.pack);
}

void backpropagate_piece(const BackwardCall& call, const Piece& piece, std::byte* scratch) {
  const std::int64_t next_head = piece.packs.end * call.tiling.pack;
  prefetch_heads(call.problem, call.plan, piece.b, next_head, call.tiling.pack);
  prefetch_gradients(call, piece.b, next_head);
  BackwardPiece(call, piece, scratch).run();
}

std::size_t backpropagate_piece_scratch(const Problem& problem) {
  return BackwardScratch(Carver(), problem).bytes;
}

void add_dq_sum_rows(const BackwardCall& call, const float* sums, std::int64_t chunks,
                     Range queries) {
  const Problem& problem = call.problem;
  const std::int64_t stride = tile_stride(problem.head_dim);
  const std::int64_t q_length = problem.q.rows;
  const auto scale = static_cast<float>(problem.softmax_scale);
  HWY_ALIGN float total[tile_stride(256)];
  for (std::int64_t head = 0; head < problem.heads_q; ++head) {
    const std::int64_t pack = call.tiling.pack;
    for (std::int64_t query = queries.begin; query < queries.end; ++query) {
      const std::int64_t row = (head / pack * q_length + query) * pack + head % pack;
      std::fill_n(total, stride, 0.0f);
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const std::int64_t first = chunk * problem.heads_q * q_length;
        add_row(sums + (first + row) * stride, divide_up(problem.head_dim, kLanes), total);
      }
      store_rows(call.outputs.dq.dtype, total, stride, problem.head_dim,
                 rows_of<std::byte>(call.outputs.dq, {query, query + 1}, head, 1),
                 [scale](std::int64_t) { return scale; });
    }
  }
}

}  // namespace
}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jfa::cpu {

HWY_EXPORT(backpropagate_piece);
HWY_EXPORT(backpropagate_piece_scratch);
HWY_EXPORT(add_dq_sum_rows);

std::int64_t piece_keys(const Problem& problem) {
  constexpr std::int64_t kBytes = std::int64_t{16} << 20;
  const std::int64_t row_bytes =
      2 * tile_stride(problem.head_dim) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t most = kBytes / row_bytes / kKeyTile * kKeyTile;
  return std::min(most, problem.k.rows);
}

std::size_t backpropagate_scratch(const Problem& problem) {
  return HWY_DYNAMIC_DISPATCH(backpropagate_piece_scratch)(problem);
}

void backpropagate(const BackwardCall& call, const Piece& piece, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(backpropagate_piece)(call, piece, scratch);
}

void add_dq_sums(const BackwardCall& call, const float* sums, std::int64_t chunks, Range queries) {
  HWY_DYNAMIC_DISPATCH(add_dq_sum_rows)(call, sums, chunks, queries);
}

}  // namespace jfa::cpu
#endif
