// What a warpgroup of BackwardOfQueries' role `queries` does: dQ of 64 rows of each tile, and their
// statistics.
//
// One step, a block of keys:
//
// | tensor cores                            | meanwhile                              |
// | --------------------------------------- | -------------------------------------- |
// | S = Q K^T, dQ += dS K of the one before | of a tile's first block: statistics    |
// | dQ, dP = dO V^T                         | S is there: P                          |
// |                                         | dP is there: dS                        |
//
// The other warpgroup uses the tensor cores where this one has left them idle.
#pragma once

#include "kernels/backward/gradient.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, BackwardOfQueries<...>.
template <class K>
struct QueryRows {
  using M = typename K::M;
  using T = typename K::T;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using Scores = typename K::Scores;
  using KvCursor = typename decltype(Smem::kv)::Cursor;
  static constexpr int kKeys = K::C.keys;

  const typename K::Params& p;
  Smem& smem;
  const int group;

  JFA_DEVICE QueryRows(const typename K::Params& params, Smem& memory, int of_group)
      : p(params), smem(memory), group(of_group) {
    v.advance();
  }

  Fragment<M, kKeys> s;   // S, P
  Fragment<M, kKeys> dp;  // dP, dS
  Fragment<M, K::C.head_dim> dq;
  Operand<M, T, kKeys> slopes;                            // dS
  Operand<M, T, Scores::kBends ? kKeys : 16> bends = {};  // used where scores bend
  RowValues<M> lse = {};
  RowValues<M> delta = {};

  typename decltype(Smem::work)::Cursor work = {};
  typename decltype(Smem::rows)::Cursor rows = {};
  typename decltype(Smem::out_ring)::Cursor out = {};
  // K and V of a block are neighbours in the ring.
  KvCursor k = {};      // K of the next block
  KvCursor v = {};      // V of the next block
  KvCursor held = {};   // K of the block in hand, whose dS is in registers
  bool fresh = false;   // none of the tile's blocks has been visited
  bool needed = false;  // the tile's Q and dO
  bool holds = false;   // a block in hand
  bool adds = false;    // it adds to what there is of the tile's dQ
  const Work* now = nullptr;

  JFA_DEVICE void run() {
    for (;;) {
      now = &smem.work.wait(work);
      const int blocks = known<M>(now->blocks);
      if (blocks == 0) return;
      const Visits& own = now->visits[group];
      const Visits visits{known<M>(own.begin), known<M>(own.end), known<M>(own.plain_begin),
                          known<M>(own.plain_end)};
      const bool has_rows = visits.begin < visits.end;
      smem.rows.wait(rows);
      fresh = needed = true;
      if constexpr (K::Mask::kListed) {
        visit_listed(has_rows);
      } else {
        pass_by(blocks - visits.end);
        for (int block = visits.end - 1; block >= visits.begin; --block) {
          visit(block, block < visits.plain_begin || block >= visits.plain_end,
                block == visits.begin);
        }
        if (holds) settle();
        pass_by(visits.begin);
      }
      if (needed) smem.rows.release(rows);
      finish(has_rows);
      smem.work.release(work);
    }
  }

  /// The blocks that lists name, of all groups.
  JFA_DEVICE void visit_listed(bool has_rows) {
    for (bool last = false; !last;) {
      smem.kv.wait(k);
      const typename K::ListedBlock block = M::load_shared(&smem.listed[k.slot]);
      const int flags = M::uniform(block.flags);
      last = (flags & K::kLast) != 0;
      if ((flags & K::kVisit << group) != 0) {
        visit(M::uniform(block.place), (flags & K::kMasked << group) != 0, last);
      } else {
        if (holds) settle();  // the ring may have no room while K is held
        pass_by(1);
      }
    }
    if (holds) settle();
    if (!fresh || !has_rows) return;
    find_statistics();
    dq.fill(0);
  }

  /// `last`: of the tile's blocks.
  JFA_DEVICE void visit(int block, bool hides, bool last) {
    if (holds) return step<false, true>(block, hides, last);
    if (!fresh) return step<false, false>(block, hides, last);
    step<true, false>(block, hides, last);
    fresh = adds = false;
  }

  JFA_DEVICE void pass_by(int blocks) {
    for (; blocks > 0; --blocks) {
      smem.kv.wait(k);
      give_back(k);
      smem.kv.wait(v);
      give_back(v);
    }
  }
  /// Gives a block's K or V back and goes on to the next block's.
  JFA_DEVICE void give_back(KvCursor& of) {
    smem.kv.release(of);
    of.advance();
  }

  /// `First`: of a tile. `Holds`: another block is in hand.
  template <bool First, bool Holds>
  JFA_DEVICE void step(int block, bool hides, bool last) {
    auto& keys = smem.kv.wait(k);
    M::wgmma_fence();  // S and dP, read by threads, and dS, written by them, before MMAs use them
    wgmma(s, smem.rows.slots[rows.slot].q[group], keys, false);
    M::wgmma_commit();
    if constexpr (Holds) add_slopes();
    if constexpr (First) find_statistics();
    auto& values = smem.kv.wait(v);
    wgmma_wait<Holds ? 1 : 0>(s);
    M::wgmma_fence();  // ptxas wants one before each batch that follows a wait
    wgmma(dp, smem.rows.slots[rows.slot].dout[group], values, false);
    M::wgmma_commit();
    weigh_block(block, hides);
    if constexpr (Holds) {
      wgmma_wait<1>(dq, slopes);
      smem.kv.release(held);
    }
    wgmma_wait<0>(dp);
    give_back(v);
    if (last) {
      smem.rows.release(rows);
      needed = false;
    }
    make_slopes();
    held = k;
    holds = true;
    k.advance();
    k.advance();
  }

  /// Issues dQ += dS K of the block in hand.
  JFA_DEVICE void add_slopes() {
    wgmma(dq, slopes, transposed(smem.kv.slots[held.slot]), adds);
    M::wgmma_commit();
    adds = true;
  }
  /// Adds the block in hand, with no MMA in flight after.
  JFA_DEVICE void settle() {
    M::wgmma_fence();  // dS, written by threads, before the MMA uses it
    add_slopes();
    wgmma_wait<0>(dq, slopes);
    smem.kv.release(held);
    holds = false;
  }

  /// S becomes P.
  JFA_DEVICE void weigh_block(int block, bool hides) {
    const Scores scores{p.scores};
    scores.prepare(s);
    if constexpr (Scores::kBends) keep_bends<T>(bends, s, scores);
    if (hides) K::hide(p, *now, group, block, s);
    const float scale = scores.scale();
    s.map_rows(lse, [scale](float x, float l) { return M::exp2(M::fma(x, scale, -l)); });
  }

  /// dP becomes dS = P bend (slope dP - slope delta), with the scores' slope where they do not
  /// bend.
  JFA_DEVICE void make_slopes() {
    const float slope = p.slope;
    dp.map_rows(delta, [slope](float x, float d) { return M::fma(x, slope, -d); });
    JFA_UNROLL
    for (int i = 0; i < kKeys / 2; ++i) {
      dp.values[i] *= s.values[i];
      if constexpr (Scores::kBends) dp.values[i] *= element<M, T>(bends, i);
    }
    convert(slopes, dp);
  }

  // ---- statistics

  /// Of the warp's 16 rows, two lanes a row: NOTE [row statistics].
  JFA_DEVICE void find_statistics() {
    const int row = warp_row<M>() + M::lane() / 2;
    const int query = M::load_shared(&now->q_row) + K::first_query(p, group) + (row >> p.pack_log2);
    const int head = M::load_shared(&now->q_head) + (row & ((1 << p.pack_log2) - 1));
    const std::int64_t at = M::load_shared(&now->out_begin) + query;
    const bool used = query < M::load_shared(&now->q_length);
    smem.out_ring.wait(out);
    float log_sum = __builtin_inff();
    float sum = half_dot(row);
    if (used) {
      log_sum = noted_lse(M::load_global(p.lse.data + head * p.lse.head_stride + at));
      if (p.dlse.data != nullptr && M::lane() % 2 == 0) {
        sum -= M::load_global(p.dlse.data + head * p.dlse.head_stride + at);
      }
    }
    sum = p.slope * (sum + M::shuffle_xor(sum, 1));
    if (used) note(query, head, log_sum, sum);
    JFA_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int lane = 2 * (M::lane() / 4 + 8 * i);
      lse.values[i] = M::shuffle(log_sum, lane);
      delta.values[i] = M::shuffle(sum, lane);
    }
  }

  /// The calling lane's half of a row of dO times O: every other 8 columns.
  JFA_DEVICE float half_dot(int row) {
    const auto a = smem.rows.slots[rows.slot].dout[group].view();
    const auto b = smem.out[group].view();
    float sum = 0;
    JFA_UNROLL
    for (int i = 0; i < K::C.head_dim / 16; ++i) {
      const int column = 16 * i + M::lane() % 2 * 8;
      const auto eight = [&](const auto& of) {
        return M::load_shared(reinterpret_cast<const Eight*>(of.pointer(row, column)));
      };
      sum += dot<M, T>(eight(a), eight(b));
    }
    return sum;
  }

  /// Leaves a row's statistics for BackwardOfKeys.
  JFA_DEVICE void note(int query, int head, float log_sum, float slope_delta) const {
    const std::int64_t number =
        first_statistics_tile(M::load_shared(&now->out_begin), M::load_shared(&now->sequence)) +
        query / kStatisticsRows;
    float* tile = p.statistics + (head * p.head_tiles + number) * 2 * kStatisticsRows;
    note_statistics<M>(tile, query % kStatisticsRows, log_sum, slope_delta,
                       query == M::load_shared(&now->q_length) - 1, M::lane() % 2, 2);
  }

  // ---- dQ

  /// dQ to dq, through the place of O, of which each warp has read the rows that it writes; the
  /// place is then given back.
  JFA_DEVICE void finish(bool has_rows) {
    if (has_rows) {
      store_fragment(smem.out[group].view(), dq);
      M::template fence_proxy_async<Space::Shared>();  // dQ, written by threads, read by a copy
    } else {
      smem.out_ring.wait(out);
    }
    // All of it is staged.
    Meetings<M, typename K::Ids, 128, "first's part", "second's part">::sync(group);
    if (M::warp_index() % 4 == 0) {
      if (has_rows && M::elect()) {
        K::store_part(p, M::load_shared(now), group, smem.out[group]);
        wait_read<M>();
      }
      auto free = out;
      smem.out_ring.release(free);
    }
    out.advance();
  }
};

}  // namespace jfa::inline JFA_BACKEND
