// Shares a call's work among threads and hands each piece to the SIMD code.
#include "cpu/engine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "cpu/cuts.hpp"
#include "cpu/gaps.hpp"
#include "cpu/kernels.hpp"
#include "cpu/schedule.hpp"
#include "cpu/team.hpp"
#include "problem/workspace.hpp"

namespace jfa::cpu {
namespace {

void attend_all(const ForwardCall& call, const Team& team) {
  const Tiling& tiling = call.tiling;
  const HostPlan& plan = call.plan;
  const ForwardOutputs& outputs = call.outputs;
  const auto tiles = [&](std::int64_t b) { return tiling.tiles(plan.sequence(b).q_length); };
  const auto attend_share = [&](std::int64_t share, std::byte* scratch) {
    for_each_item(
        plan, share, team.shares(), [&](std::int64_t b) { return tiling.packs * tiles(b); },
        [&](std::int64_t b, std::int64_t item) {
          attend(call, b, item / tiles(b), item % tiles(b), scratch);
        });
  };
  run_shares(team, team.shares(), attend_share, plan.q_gaps.size(), [&](std::int64_t i) {
    const Range rows = plan.q_gaps[i];
    zero_rows(outputs.out, rows);
    if (outputs.lse.data != nullptr) hide_rows(outputs.lse, rows);
  });
}

/// Threads that scratch is kept for.
std::size_t slots(int threads) { return static_cast<std::size_t>(thread_count(threads)); }

/// With broadcast_q, the parts dq is added up in. Known from shapes and the same for any number of
/// threads; few enough that the sums are small beside k and v, and enough for all cores.
std::int64_t dq_chunks(const Problem& problem) {
  constexpr std::int64_t kKeysPerChunk = 2048;
  constexpr std::int64_t kMost = 32;
  return std::clamp<std::int64_t>(divide_up(problem.k.rows, kKeysPerChunk), 1, kMost);
}

/// Bytes of the dq sums of a chunk: every query of every head.
std::size_t dq_sum_bytes(const Problem& problem) {
  return saturating_product(
      saturating_product(static_cast<std::size_t>(problem.heads_q),
                         static_cast<std::size_t>(problem.q.rows)),
      static_cast<std::size_t>(tile_stride(problem.head_dim)) * sizeof(float));
}

/// One key/value head of one chunk with broadcast_q.
void backpropagate_chunk(const BackwardCall& call, std::int64_t chunk, std::int64_t kv_head,
                         float* sums, std::byte* scratch) {
  const Problem& problem = call.problem;
  const Tiling& tiling = call.tiling;
  const std::int64_t chunks = dq_chunks(problem);
  const std::int64_t head_floats = problem.q.rows * tile_stride(problem.head_dim);
  float* chunk_sums = sums + chunk * problem.heads_q * head_floats;
  std::fill_n(chunk_sums + kv_head * problem.group_size * head_floats,
              problem.group_size * head_floats, 0.0f);
  const auto first_key = [&](const WorkPoint& point) -> std::int64_t {
    if (point.fraction == 0) return 0;
    const auto length = static_cast<double>(call.plan.sequence(point.sequence).kv_length);
    return static_cast<std::int64_t>(point.fraction * length) / kKeyTile * kKeyTile;
  };
  const WorkPoint begin = share_begin(call.plan, chunk, chunks);
  const WorkPoint end = share_begin(call.plan, chunk + 1, chunks);
  std::int64_t key = first_key(begin);
  for (std::int64_t b = begin.sequence; b <= end.sequence && b < problem.batch; ++b, key = 0) {
    const Sequence& s = call.plan.sequence(b);
    const std::int64_t end_key = b < end.sequence ? s.kv_length : first_key(end);
    for (; key < end_key; key += kSplitKeys) {
      const Piece piece{
          .b = b,
          .packs = {kv_head * tiling.packs_per_kv, (kv_head + 1) * tiling.packs_per_kv},
          .tiles = {0, tiling.tiles(s.q_length)},
          .keys = {key, std::min(key + kSplitKeys, end_key)},
          .dk_dv = true,
          .dq_sum = chunk_sums};
      backpropagate(call, piece, scratch);
    }
  }
}

void backpropagate_broadcast(const BackwardCall& call, const Team& team, float* dq_sums) {
  constexpr std::int64_t kQueriesPerTask = 64;
  const Problem& problem = call.problem;
  const std::int64_t chunks = dq_chunks(problem);
  const Gaps& gaps = call.plan.kv_gaps;
  run_shares(
      team, chunks * problem.heads_kv,
      [&](std::int64_t share, std::byte* scratch) {
        backpropagate_chunk(call, share / problem.heads_kv, share % problem.heads_kv, dq_sums,
                            scratch);
      },
      gaps.size(),
      [&](std::int64_t i) {
        zero_rows(call.outputs.dk, gaps[i]);
        zero_rows(call.outputs.dv, gaps[i]);
      });
  const std::int64_t rows = problem.q.rows;
  run_tasks(team.threads, divide_up(rows, kQueriesPerTask), [&](std::int64_t task, int) {
    const std::int64_t first = task * kQueriesPerTask;
    add_dq_sums(call, dq_sums, chunks, {first, std::min(first + kQueriesPerTask, rows)});
  });
}

void backpropagate_all(const BackwardCall& call, const Team& team) {
  const HostPlan& plan = call.plan;
  const BackwardCuts cuts(call, team.threads);
  const std::int64_t shares = team.shares();
  const auto backpropagate_share = [&](std::int64_t share, std::byte* scratch) {
    if (share < shares) {
      for_each_item(
          plan, share, shares, [&](std::int64_t b) { return cuts.key_pieces(b); },
          [&](std::int64_t b, std::int64_t item) {
            backpropagate(call, cuts.key_piece(b, item), scratch);
          });
      return;
    }
    for_each_item(
        plan, share - shares, shares, [&](std::int64_t b) { return cuts.query_pieces(b); },
        [&](std::int64_t b, std::int64_t item) {
          backpropagate(call, cuts.query_piece(b, item), scratch);
        });
  };
  const std::int64_t q_gaps = plan.q_gaps.size();
  run_shares(team, cuts.any_split() ? 2 * shares : shares, backpropagate_share,
             q_gaps + plan.kv_gaps.size(), [&](std::int64_t i) {
               if (i < q_gaps) {
                 return zero_rows(call.outputs.dq, plan.q_gaps[i]);
               }
               const Range rows = plan.kv_gaps[i - q_gaps];
               zero_rows(call.outputs.dk, rows);
               zero_rows(call.outputs.dv, rows);
             });
}

}  // namespace

std::size_t forward_workspace(const Problem& problem, int threads) {
  return saturating_product(attend_scratch(problem), slots(threads));
}

std::size_t backward_workspace(const Problem& problem, int threads) {
  const std::size_t scratch = saturating_product(backpropagate_scratch(problem), slots(threads));
  if (!problem.broadcast_q) return scratch;
  const auto chunks = static_cast<std::size_t>(dq_chunks(problem));
  return saturating_sum(scratch, saturating_product(dq_sum_bytes(problem), chunks));
}

Status forward(const Problem& problem, const HostPlan& plan, const ForwardOutputs& outputs,
               const Execution& execution) {
  Workspace workspace;
  JFA_RETURN_IF_ERROR(workspace.acquire(execution, forward_workspace(problem, execution.threads)));
  attend_all({problem, plan, outputs, make_tiling(problem)},
             {useful_threads(problem, plan, execution.threads), attend_scratch(problem),
              workspace.data()});
  return {};
}

Status backward(const Problem& problem, const HostPlan& plan, const BackwardInputs& given,
                const BackwardOutputs& outputs, const Execution& execution) {
  Workspace workspace;
  JFA_RETURN_IF_ERROR(workspace.acquire(execution, backward_workspace(problem, execution.threads)));
  const BackwardCall call{problem, plan, given, outputs, make_tiling(problem)};
  const Team team{useful_threads(problem, plan, execution.threads), backpropagate_scratch(problem),
                  workspace.data()};
  if (!problem.broadcast_q) {
    backpropagate_all(call, team);
    return {};
  }
  // The sums follow the scratch of as many threads as were asked for.
  backpropagate_broadcast(
      call, team,
      reinterpret_cast<float*>(workspace.data() + slots(execution.threads) * team.scratch_bytes));
  return {};
}

}  // namespace jfa::cpu
