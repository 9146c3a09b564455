// The forward pass of one query tile: online softmax over the key tiles it reaches.
//
//   for each key tile:   S = scale * K Q^T        [keys, queries]: one lane a query
//                        m' = max(m, max S), P = exp(S - m'), l = l * exp(m - m') + sum P
//                        O = O * exp(m - m') + P^T V
//   at the end:          out = O / l, lse = m + log l
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/kernels.hpp"
#include "cpu/panel.hpp"
#include "cpu/rows.hpp"
#include "cpu/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/forward.cpp"
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

struct ForwardScratch {
  ForwardScratch(Carver carver, std::int64_t head_dim)
      : stride(tile_stride(head_dim)),
        depth(round_up(head_dim, 4)),
        q(carver.floats(kQueryTile * stride)),
        q_panels(carver.floats(kQueryTile * depth)),
        keys(carver, stride),
        scores(carver.floats(kKeyTile * kPanel)),
        out(carver.floats(kQueryTile * stride)),
        softmax{carver.floats(kQueryTile), carver.floats(kQueryTile), carver.floats(kQueryTile)},
        bytes(carver.used()) {}

  std::int64_t stride;
  std::int64_t depth;
  float* q;         ///< rows of the tile, `stride` apart as those of k, v and out
  float* q_panels;  ///< their transpose, panel after panel, `[depth, kPanel]` each
  KeyRows keys;
  float* scores;
  float* out;
  Softmax softmax;
  std::size_t bytes;
};

/// One query tile on its way through the keys.
class ForwardTile {
 public:
  ForwardTile(const ForwardCall& call, std::int64_t b, std::int64_t pack, std::int64_t tile,
              std::byte* scratch)
      : outputs_(call.outputs),
        problem_(call.problem),
        sequence_(call.plan.sequence(b)),
        rows_(call.tiling.rows(sequence_, pack, tile)),
        keys_(call.plan, b, rows_, {0, sequence_.kv_length}),
        scratch_(Carver(scratch), problem_.head_dim),
        vectors_(divide_up(problem_.head_dim, kLanes)) {}

  void run() {
    start();
    for (Range keys; keys_.next(keys);) {
      load_keys(problem_, sequence_, keys, rows_.first_head / problem_.group_size, scratch_.keys);
      for (std::int64_t row = 0; row < rows_.size(); row += kPanel) {
        attend_panel(panel_at(rows_, row, problem_.window), keys);
      }
    }
    finish_softmax(scratch_.softmax, divide_up(rows_.size(), kLanes));
    store_out();
    if (outputs_.lse.data != nullptr) store_lse();
  }

 private:
  void start() {
    const ForwardScratch& s = scratch_;
    const std::int64_t padded = round_up(rows_.size(), kPanel);
    std::fill_n(s.softmax.max, padded, -kInfinity);
    std::fill_n(s.softmax.sum, padded, 0.0f);
    std::fill_n(s.out, rows_.size() * s.stride, 0.0f);
    load_rows(problem_.q.dtype, rows_of(problem_.q, sequence_.q_begin, rows_), problem_.head_dim,
              s.q, s.stride);
    transpose_panels(s.q, s.stride, rows_.size(), s.depth, s.q_panels);
  }

  void attend_panel(const Panel& panel, Range tile) {
    const ForwardScratch& s = scratch_;
    const Range keys = intersect(tile, panel.keys.any);
    if (keys.empty()) return;
    const std::int64_t first = keys.begin - tile.begin;
    const Scores scores{s.scores, keys.size(), divide_up(panel.rows(), kLanes)};
    compute_scores(problem_, s.keys.k_from(first), s.q_panels + panel.begin * s.depth, scores);
    if (!covers(panel.keys.all, keys)) mask_scores(scores, rows_, panel, problem_.window, keys);
    const Softmax state = s.softmax.from(panel.begin);
    softmax_step(scores, state);
    multiply(Product<Stored::kTransposed, Rescaled>{.a = {s.scores, kPanel},
                                                    .b = s.keys.v_from(first),
                                                    .c = {s.out + panel.begin * s.stride, s.stride},
                                                    .rows = panel.rows(),
                                                    .vectors = vectors_,
                                                    .depth = keys.size(),
                                                    .form = {state.rescale}});
  }

  void store_out() {
    const float* inverse_sum = scratch_.softmax.sum;
    store_rows(outputs_.out.dtype, scratch_.out, scratch_.stride, problem_.head_dim,
               rows_of(outputs_.out, sequence_.out_begin, rows_),
               [inverse_sum](std::int64_t row) { return inverse_sum[row]; });
  }

  void store_lse() {
    for (std::int64_t row = 0; row < rows_.size(); ++row) {
      const std::int64_t head = rows_.first_head + row % rows_.heads;
      outputs_.lse.data[head * outputs_.lse.head_stride + sequence_.out_begin + rows_.query(row)] =
          scratch_.softmax.max[row];
    }
  }

  const ForwardOutputs& outputs_;
  const Problem& problem_;
  const Sequence& sequence_;
  QueryRows rows_;
  KeyTiles keys_;
  ForwardScratch scratch_;
  std::int64_t vectors_;
};

void attend_tile(const ForwardCall& call, std::int64_t b, std::int64_t pack, std::int64_t tile,
                 std::byte* scratch) {
  if (tile == 0) {
    prefetch_heads(call.problem, call.plan, b, (pack + 1) * call.tiling.pack, call.tiling.pack);
  }
  ForwardTile(call, b, pack, tile, scratch).run();
}

std::size_t attend_tile_scratch(std::int64_t head_dim) {
  return ForwardScratch(Carver(), head_dim).bytes;
}

}  // namespace
}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace jfa::cpu {

HWY_EXPORT(attend_tile);
HWY_EXPORT(attend_tile_scratch);

std::size_t attend_scratch(const Problem& problem) {
  return HWY_DYNAMIC_DISPATCH(attend_tile_scratch)(problem.head_dim);
}

void attend(const ForwardCall& call, std::int64_t b, std::int64_t pack, std::int64_t tile,
            std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(attend_tile)(call, b, pack, tile, scratch);
}

}  // namespace jfa::cpu
#endif
