// What the engine asks of the SIMD code: one piece of work at a time, on the caller's scratch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/tiling.hpp"
#include "jfa/attention.hpp"
#include "plan/host_plan.hpp"
#include "problem/problem.hpp"

namespace jfa::cpu {

struct ForwardCall {
  const Problem& problem;
  const HostPlan& plan;
  const ForwardOutputs& outputs;
  Tiling tiling;
};

/// Bytes of scratch that attend() needs.
std::size_t attend_scratch(const Problem& problem);

/// out and lse of one query tile of one pack of heads of sequence b.
void attend(const ForwardCall& call, std::int64_t b, std::int64_t pack, std::int64_t tile,
            std::byte* scratch);

struct BackwardCall {
  const Problem& problem;
  const HostPlan& plan;
  const BackwardInputs& given;
  const BackwardOutputs& outputs;
  Tiling tiling;
};

/// A rectangle of one sequence's scores, of all heads in `packs`, and which gradients to take from
/// it. A gradient is complete if the rectangle spans the other side.
struct Piece {
  std::int64_t b = 0;
  Range packs;         ///< all share one key/value head
  Range tiles;         ///< query tiles
  Range keys;          ///< at most piece_keys() of them when dk_dv
  bool dq = false;     ///< write dq of the tiles
  bool dk_dv = false;  ///< write dk and dv of the keys
  /// With broadcast_q, where dq of all heads and queries is added up instead of written:
  /// `[packs, Lq * pack, tile_stride(head_dim)]`.
  float* dq_sum = nullptr;
};

/// The most keys of a piece with dk_dv: what fits into 16 MiB of scratch.
std::int64_t piece_keys(const Problem& problem);

/// Bytes of scratch that backpropagate() needs.
std::size_t backpropagate_scratch(const Problem& problem);

void backpropagate(const BackwardCall& call, const Piece& piece, std::byte* scratch);

/// dq of rows `queries` of every head with broadcast_q, from `chunks` sums that follow each other.
void add_dq_sums(const BackwardCall& call, const float* sums, std::int64_t chunks, Range queries);

}  // namespace jfa::cpu
