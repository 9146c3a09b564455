// What an attending warpgroup does: 64 rows of each tile against its keys, block by block.
#pragma once

#include "kernels/forward/mask.hpp"
#include "kernels/forward/softmax.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// `K` is the kernel, Forward<...>.
template <class K>
struct Attend {
  using M = typename K::M;
  using Mask = typename K::Mask;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using KvCursor = typename decltype(Smem::kv)::Cursor;
  static constexpr int kKeys = K::C.keys;

  enum class Next { Tile, Skip, End };

  /// A tile in hand. Its work and its Q stay this warpgroup's until finish().
  struct Current {
    const Work* work;
    int q_slot;
    int blocks;
    int first_block;
    bool first_of_run;
    bool last_of_run;
  };

  const typename K::Params& p;
  Smem& smem;
  const int group;

  JFA_DEVICE Attend(const typename K::Params& params, Smem& memory, int of_group)
      : p(params), smem(memory), group(of_group) {
    v.advance();
  }

  Fragment<M, kKeys> s;
  Fragment<M, K::C.head_dim> o;
  Operand<M, typename K::T, kKeys> probabilities;
  RowState<M> rows = {};
  RowValues<M> factor = {};  // of O, before the block in hand is added
  bool accumulate = false;   // the block in hand is not its tile's first

  typename decltype(Smem::work)::Cursor work = {};  // the tile after the one in hand
  typename decltype(Smem::work)::Cursor done = {};
  typename decltype(Smem::q)::Cursor q = {};
  // K and V of a block are neighbours in the ring. V is one block behind.
  KvCursor k = {};      // K of the next block
  KvCursor v = {};      // V of the block in hand, whose P is in registers
  KvCursor run_k = {};  // the run's first block
  KvCursor run_v = {};
  Current now = {};
  const Work* ahead = nullptr;  // what look() found

  JFA_DEVICE void run() {
    Next next = look();
    while (next != Next::End) {
      if (next == Next::Tile) {
        next = attend();
      } else {
        skip();
        next = look();
      }
    }
  }

  /// A stretch of tiles without a pause of the tensor cores.
  JFA_DEVICE Next attend() {
    start();
    for (;;) {
      for (int block = now.blocks - 2; block >= 0; --block) step<false>(block);
      const Next next = look();
      if (next != Next::Tile) {
        drain();
        return next;
      }
      step<true>(0);
    }
  }

  /// What the next tile holds for this warpgroup.
  JFA_DEVICE Next look() {
    ahead = &smem.work.wait(work);
    if (M::uniform(M::load_shared(&ahead->blocks)) == 0) return Next::End;
    const int row = M::uniform(M::load_shared(&ahead->q_row));
    const int length = M::uniform(M::load_shared(&ahead->q_length));
    return K::has_rows(p, row, length, group) ? Next::Tile : Next::Skip;
  }

  /// Takes the tile that look() found and waits for its Q. In a run, keys start over at its first
  /// block.
  JFA_DEVICE void take() {
    work.advance();
    smem.q.wait(q);
    now = {ahead,
           q.slot,
           M::uniform(M::load_shared(&ahead->blocks)),
           M::uniform(M::load_shared(&ahead->first_block)),
           M::uniform(M::load_shared(&ahead->first_of_run)) != 0,
           M::uniform(M::load_shared(&ahead->last_of_run)) != 0};
    q.advance();
    if (now.first_of_run) run_k = k;
    k = run_k;
  }
  /// The same for values, once the tile before is done with them.
  JFA_DEVICE void take_v() {
    if (now.first_of_run) run_v = v;
    v = run_v;
  }

  /// Goes on to the next block's K or V. The last tile of a run gives the slot back.
  JFA_DEVICE void give_back(KvCursor& at, bool last_of_run) {
    if (last_of_run) {
      smem.kv.release(at);
    } else {
      at.advance();
    }
    at.advance();
  }

  /// Past a tile in which this warpgroup has no rows.
  JFA_DEVICE void skip() {
    take();
    take_v();
    for (int block = 0; block < now.blocks; ++block) {
      smem.kv.wait(k);
      give_back(k, now.last_of_run);
      smem.kv.wait(v);
      give_back(v, now.last_of_run);
    }
    smem.o_ready[now.q_slot][group].open();
    smem.work.release(done);
  }

  JFA_DEVICE auto query() { return smem.q.slots[now.q_slot].group[group].view(); }

  /// A tile's first block, with no MMA in flight before or after.
  JFA_DEVICE void start() {
    take();
    take_v();
    auto& keys = smem.kv.wait(k);
    M::wgmma_fence();  // S, read by the tile before, before it is written
    wgmma(s, query(), keys, false);
    M::wgmma_commit();
    wgmma_wait<0>(s);
    give_back(k, now.last_of_run);
    begin_rows();
    weigh<true>(now.blocks - 1);
    convert(probabilities, s);
  }

  /// The next block's S and softmax beside O += P V of the block in hand. With `Boundary` the next
  /// block is the next tile's first, and the tile in hand is finished.
  template <bool Boundary>
  JFA_DEVICE void step(int block) {
    const Current tile = now;
    if constexpr (Boundary) {
      take();
      block = now.blocks - 1;
    }
    auto& keys = smem.kv.wait(k);
    auto& values = smem.kv.wait(v);
    M::wgmma_fence();  // S, converted to P, before it is written
    wgmma(s, query(), keys, false);
    M::wgmma_commit();
    add_values(values);
    wgmma_wait<1>(s);
    give_back(k, now.last_of_run);
    const RowState<M> finished = rows;
    if constexpr (Boundary) begin_rows();
    weigh<Boundary || Mask::kInnerBlocks>(block);
    accumulate = !Boundary;
    pin_softmax();
    wgmma_wait<0>(o, probabilities);
    give_back(v, tile.last_of_run);
    if constexpr (Boundary) {
      take_v();
      finish(tile, finished);
    }
    convert(probabilities, s);
  }

  /// The last block of a stretch.
  JFA_DEVICE void drain() {
    add_values(smem.kv.wait(v));
    wgmma_wait<0>(o, probabilities);
    give_back(v, now.last_of_run);
    finish(now, rows);
  }

  /// Issues O = factor O + P V, or O = P V for a tile's first block.
  JFA_DEVICE void add_values(typename K::KvTile& values) {
    if (accumulate && M::any(factor.values[0] != 1 || factor.values[1] != 1)) {
      scale_rows(o, factor);
    }
    M::wgmma_fence();  // O, scaled, and P, converted, before the MMA uses them
    wgmma(o, probabilities, transposed(values), accumulate);
    M::wgmma_commit();
  }

  JFA_DEVICE void begin_rows() {
    rows = RowState<M>::none();
    accumulate = false;
  }

  /// Turns S into P, of which `block` counts from the tile's first key.
  template <bool MayHide>
  JFA_DEVICE void weigh(int block) {
    const typename K::Scores scores{p.scores};
    scores.prepare(s);
    if constexpr (MayHide) hide(s, mask(), (now.first_block + block) * kKeys);
    factor = exponentiate(s, rows, scores.scale());
  }

  JFA_DEVICE Mask mask() const {
    const int row = M::uniform(M::load_shared(&now.work->q_row));
    return {p.mask, TileRows{.first = row + (group * K::kGroupRows >> p.pack_log2),
                             .pack_log2 = p.pack_log2,
                             .q_length = M::uniform(M::load_shared(&now.work->q_length)),
                             .kv_length = M::uniform(M::load_shared(&now.work->kv_length))}};
  }

  /// NOTE [pinned wait]: ptxas moves the wait for O up above the softmax unless a branch on its
  /// result stands between. This one is never taken, since a sum of powers is not negative, and
  /// would wait for nothing new. (A trap there makes ptxas ignore the roles' register budgets.)
  JFA_DEVICE void pin_softmax() {
    if (rows.sum.values[0] + rows.sum.values[1] < 0) smem.work.wait(done);
  }

  /// Writes a tile's lse, stages O / sum in its Q and hands it to the store role.
  JFA_DEVICE void finish(const Current& tile, const RowState<M>& finished) {
    const auto sum = sum_across_lanes(finished.sum);
    if (p.outputs.lse != nullptr) write_lse(*tile.work, log_sum_exp(finished.shift, sum));
    scale_rows(o, inverse(sum));
    meet();  // the MMAs of the warpgroup's other warps have read Q
    store_fragment(smem.q.slots[tile.q_slot].group[group].view(), o);
    M::template fence_proxy_async<Space::Shared>();  // O, written by threads, read by copies
    smem.o_ready[tile.q_slot][group].open();
    smem.work.release(done);
  }

  JFA_DEVICE void write_lse(const Work& tile, const RowValues<M>& lse) {
    const int first_row = group * K::kGroupRows + o.first_row();
    if (M::lane() % 4 != 0) return;
    const int head = M::load_shared(&tile.q_head);
    const int length = M::load_shared(&tile.q_length);
    const int begin = M::load_shared(&tile.out_begin);
    JFA_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int row = first_row + 8 * i;
      const int query = M::load_shared(&tile.q_row) + (row >> p.pack_log2);
      const int packed_head = head + (row & ((1 << p.pack_log2) - 1));
      if (query < length) {
        float* to = p.outputs.lse + packed_head * p.outputs.lse_head_stride;
        M::store_global(to + begin + query, lse.values[i]);
      }
    }
  }

  JFA_DEVICE void meet(Site site = Site::here()) const {
    if (group == 0) {
      Meeting<M, "first half", typename K::Ids, 128>::sync(site);
    } else {
      Meeting<M, "second half", typename K::Ids, 128>::sync(site);
    }
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
