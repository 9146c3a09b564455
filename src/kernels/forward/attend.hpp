// What an attending warpgroup does: 64 rows of each tile against its keys, block by block.
#pragma once

#include "kernels/forward/mask.hpp"
#include "kernels/forward/softmax.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, Forward<...>.
template <class K>
struct Attend {
  using M = typename K::M;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using KvCursor = typename decltype(Smem::kv)::Cursor;
  using Turns = Turn<M, typename K::Ids, 128, "first's turn", "second's turn", "third's turn">;
  static constexpr int kKeys = K::C.keys;
  // Of a block: their exponentials come before the wait for the last block's MMA, so that those
  // behind it overlap with rounding P.
  static constexpr int kEarlyKeys = 16;

  /// NOTE [passing by]: V of the block in hand holds its slot while K of blocks that are passed by
  /// are waited for; the ring must hold all of these.
  static constexpr int kPassable = (K::C.kv_slots - 2) / 2;

  enum class Next { Tile, Skip, End };

  /// A tile. Its work and its Q stay this warpgroup's until finish().
  struct Current {
    int work_slot;
    int q_slot;
    int blocks;
    Visits visits;
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
  bool moved = false;        // by the block in hand
  RowValues<M> factor = {};  // of O, before the block in hand is added, if `moved`
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
  Current ahead = {};  // what look() found
  Next next = Next::End;

  JFA_DEVICE void run() {
    if (group == K::kGroups - 1) give_turn();
    look();
    while (next != Next::End) {
      if (next == Next::Tile) {
        attend();
      } else {
        skip();
      }
    }
    if (group == 0) take_turn();  // given by the last warpgroup's last
  }

  /// A stretch of tiles without a pause of the tensor cores.
  JFA_DEVICE void attend() {
    if constexpr (K::Mask::kListed) return attend_listed();
    start();
    for (;;) {
      for (int i = now.visits.end - 2; i >= now.visits.begin; --i) {
        // Where all rows see the same keys, only those of a tile's first block may end within it.
        step<false>(i, !K::Mask::kSharesKeys && masked(i));
      }
      // With one Q slot the next tile's Q comes once this tile's O has left it.
      if (K::C.q_slots == 1 || next != Next::Tile ||
          now.visits.begin + ahead.blocks - ahead.visits.end > kPassable) {
        break;
      }
      step<true>(0, true);
    }
    drain();
  }

  /// The same where lists choose blocks: one tile.
  JFA_DEVICE void attend_listed() {
    take();
    begin_rows();
    int passed = 0;      // blocks since the one in hand
    bool holds = false;  // a block in hand
    bool none = true;
    for (bool last = false; !last;) {
      smem.kv.wait(k);
      const typename K::ListedBlock block = M::load_shared(&smem.listed[k.slot]);
      const int flags = M::uniform(block.flags);
      last = (flags & K::kLast) != 0;
      if ((flags & K::kVisit << group) == 0) {
        give_back(k, true);
        ++passed;
        if (!holds) {
          pass_by(v, 1);
        } else if (passed > kPassable) {
          settle(passed);
          holds = false;
        }
        if (!holds) passed = 0;
        continue;
      }
      const bool hides = (flags & K::kMasked << group) != 0;
      if (holds) {
        step<false>(M::uniform(block.place), hides, passed);
      } else {
        first(M::uniform(block.place), hides);
      }
      passed = 0;
      holds = true;
      none = false;
    }
    if (holds) settle(passed);
    if (none) o.fill(0);
    finish(now, rows);
    look();
  }

  /// NOTE [turns]: every warpgroup takes as many turns a tile as that has blocks, so all take them
  /// in the same order.
  JFA_DEVICE void take_turn(Site site = Site::here()) {
    if constexpr (K::C.turns) Turns::take(group, site);
  }
  JFA_DEVICE void give_turn(Site site = Site::here()) {
    if constexpr (K::C.turns) Turns::give(group == K::kGroups - 1 ? 0 : group + 1, site);
  }

  /// Finds what the next tile holds for this warpgroup.
  JFA_DEVICE void look() {
    const Work& found = smem.work.wait(work);
    ahead.work_slot = work.slot;
    ahead.blocks = known<M>(found.blocks);
    const Visits& visits = found.visits[group];
    const bool same = K::Mask::kSharesKeys;  // every tile begins at the first key
    ahead.visits = {same ? 0 : known<M>(visits.begin), known<M>(visits.end),
                    same ? 0 : known<M>(visits.plain_begin), known<M>(visits.plain_end)};
    ahead.first_of_run = !same || known<M>(found.first_of_run) != 0;
    ahead.last_of_run = !same || known<M>(found.last_of_run) != 0;
    next = ahead.blocks == 0                       ? Next::End
           : ahead.visits.begin < ahead.visits.end ? Next::Tile
                                                   : Next::Skip;
  }

  /// Takes the tile that look() found and waits for its Q. In a run, keys start over at its first
  /// block.
  JFA_DEVICE void take() {
    work.advance();
    smem.q.wait(q);
    now = ahead;
    now.q_slot = q.slot;
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

  /// Passes by K or V of `blocks` blocks in which the mask leaves this warpgroup nothing.
  JFA_DEVICE void pass_by(KvCursor& at, int blocks, bool last_of_run = true) {
    for (; blocks > 0; --blocks) {
      smem.kv.wait(at);
      give_back(at, last_of_run);
    }
  }
  JFA_DEVICE void pass_turns(int blocks) {
    for (; K::C.turns && blocks > 0; --blocks) {
      take_turn();
      give_turn();
    }
  }
  /// Passes by whole blocks, one at a time: the ring may hold fewer, and others wait for turns.
  JFA_DEVICE void pass_blocks(int blocks) {
    for (; blocks > 0; --blocks) {
      pass_by(k, 1, now.last_of_run);
      pass_by(v, 1, now.last_of_run);
      pass_turns(1);
    }
  }

  /// Past a tile in which this warpgroup has no rows.
  JFA_DEVICE void skip() {
    take();
    take_v();
    if constexpr (K::Mask::kListed) {
      for (bool last = false; !last;) {
        smem.kv.wait(k);
        last = (known<M>(smem.listed[k.slot].flags) & K::kLast) != 0;
        pass_blocks(1);
      }
    } else {
      pass_blocks(now.blocks);
    }
    smem.o_ready[now.q_slot][group].open();
    smem.work.release(done);
    look();
  }

  JFA_DEVICE auto query() { return smem.q.slots[now.q_slot].group[group].view(); }

  /// Takes a tile and its first block.
  JFA_DEVICE void start() {
    take();
    take_v();
    pass_blocks(now.blocks - now.visits.end);
    begin_rows();
    smem.kv.wait(k);
    first<true>(now.visits.end - 1, masked(now.visits.end - 1));
  }

  /// A block with no MMA in flight before or after.
  template <bool Looks = false>
  JFA_DEVICE void first(int block, bool hides) {
    take_turn();
    M::wgmma_fence();  // S, read by the block before, before it is written
    wgmma(s, query(), smem.kv.slots[k.slot], false);
    M::wgmma_commit();
    give_turn();
    if constexpr (Looks) look();
    wgmma_wait<0>(s);
    give_back(k, now.last_of_run);
    weigh(block, hides);
    exponentiate<0, kEarlyKeys>(s, rows, scale());
    exponentiate<kEarlyKeys, kKeys>(s, rows, scale());  // adds up in the order of step()
    convert(probabilities, s);
  }

  /// The next block's S and softmax beside O += P V of the block in hand. With `Boundary` the next
  /// block is the next tile's first, and the tile in hand is finished. `passed` blocks between the
  /// two have been passed by, but for their V.
  template <bool Boundary>
  JFA_DEVICE void step(int block, bool hides, int passed = 0) {
    const Current tile = now;
    if constexpr (Boundary) {
      pass_by(k, now.visits.begin);
      take();
      block = now.visits.end - 1;
      hides = masked(block);
      passed = now.blocks - now.visits.end;
      pass_by(k, passed);
      pass_turns(passed + tile.visits.begin);
    }
    auto& keys = smem.kv.wait(k);
    // Beside S in general; in the wider control flow of lists ptxas would wait for S first.
    if constexpr (K::Mask::kListed) rescale();
    take_turn();
    M::wgmma_fence();  // S, converted to P, before it is written
    wgmma(s, query(), keys, false);
    M::wgmma_commit();
    if constexpr (!K::Mask::kListed) rescale();
    add_values(smem.kv.wait(v));
    give_turn();
    if constexpr (Boundary) look();
    wgmma_wait<1>(s);
    give_back(k, now.last_of_run);
    const RowState<M> finished = rows;
    if constexpr (Boundary) begin_rows();
    weigh(block, hides);
    accumulate = !Boundary;
    exponentiate<0, kEarlyKeys>(s, rows, scale());
    pin_softmax();
    wgmma_wait<0>(o, probabilities);
    exponentiate<kEarlyKeys, kKeys>(s, rows, scale());
    convert(probabilities, s);
    give_back(v, tile.last_of_run);
    if constexpr (Boundary) {
      pass_by(v, tile.visits.begin);
      take_v();
    }
    pass_by(v, passed);
    if constexpr (Boundary) finish(tile, finished);
  }

  /// Adds the block in hand, with no MMA in flight after; passes by V of `passed` blocks behind it.
  JFA_DEVICE void settle(int passed) {
    auto& values = smem.kv.wait(v);
    rescale();
    add_values(values);
    wgmma_wait<0>(o, probabilities);
    accumulate = true;
    give_back(v, now.last_of_run);
    pass_by(v, passed);
  }

  /// The last block of a stretch.
  JFA_DEVICE void drain() {
    settle(0);
    finish(now, rows);
    pass_blocks(now.visits.begin);
  }

  /// O = factor O, where a row's shift has moved.
  JFA_DEVICE void rescale() {
    if (accumulate && moved) scale_rows(o, factor);
  }

  /// Issues O += P V, or O = P V for a tile's first block.
  JFA_DEVICE void add_values(typename K::KvTile& values) {
    M::wgmma_fence();  // O, scaled, and P, converted, before the MMA uses them
    wgmma(o, probabilities, transposed(values), accumulate);
    M::wgmma_commit();
  }

  JFA_DEVICE void begin_rows() {
    rows = RowState<M>::none();
    accumulate = false;
  }

  /// Whether the mask hides a part of a block that this warpgroup visits.
  JFA_DEVICE bool masked(int block) const {
    return block < now.visits.plain_begin || block >= now.visits.plain_end;
  }

  /// Prepares, masks and looks through the scores of `block`, counted from the tile's first.
  JFA_DEVICE void weigh(int block, bool hides) {
    typename K::Scores{p.scores}.prepare(s);
    if (hides) K::hide(p, smem.work.slots[now.work_slot], group, block, s);
    moved = move_shift(s, rows, factor, scale());
  }
  JFA_DEVICE float scale() const { return typename K::Scores{p.scores}.scale(); }

  /// NOTE [pinned wait]: ptxas moves the wait for O up above the softmax unless a branch on its
  /// result stands between. This one is never taken, since a sum of powers is not negative, and
  /// would wait for nothing new. (A trap there makes ptxas ignore the roles' register budgets.)
  JFA_DEVICE void pin_softmax() {
    if (rows.sum.values[0] + rows.sum.values[1] < 0) smem.kv.wait(v);
  }

  /// Writes a tile's lse, stages O / sum in its Q and hands it to the store role.
  JFA_DEVICE void finish(const Current& tile, const RowState<M>& finished) {
    const auto sum = sum_across_lanes(finished.sum);
    if (p.outputs.lse != nullptr) {
      write_lse(smem.work.slots[tile.work_slot], log_sum_exp(finished.shift, sum));
    }
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
    JFA_UNROLL
    for (int i = 0; i < 2; ++i) K::store_lse(p, tile, first_row + 8 * i, lse.values[i]);
  }

  JFA_DEVICE void meet(Site site = Site::here()) const {
    using Ids = typename K::Ids;
    if (group == 0) Meeting<M, "first's part", Ids, 128>::sync(site);
    if (group == 1) Meeting<M, "second's part", Ids, 128>::sync(site);
    if constexpr (K::kGroups > 2) {
      if (group == 2) Meeting<M, "third's part", Ids, 128>::sync(site);
    }
  }
};

}  // namespace jfa::inline JFA_BACKEND
