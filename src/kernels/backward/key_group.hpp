// What a warpgroup of the role `keys` does: dK and dV of 64 keys over tiles of queries, or half of
// their columns where the warpgroups split these.
//
// One step of a block of keys; no MMA is in flight before or after it:
//
// | tensor cores                                         | meanwhile                       |
// | ---------------------------------------------------- | ------------------------------- |
// | S^T = K Q^T of this tile, dK += dS^T Q of the last   |                                 |
// | dK                                                   | S^T is there: P^T               |
// | dP^T = V dO^T, dV += P^T dO                          |                                 |
// | dV                                                   | dP^T is there: dS^T, also to SMEM |
#pragma once

#include "kernels/backward/gradient.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// `K` is the kernel, BackwardByKeys<...>.
template <class K>
struct KeyGroup {
  using M = typename K::M;
  using Mask = typename K::Mask;
  using Scores = typename K::Scores;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  using Tiles = Operand<M, typename K::T, K::kQueries>;

  const typename K::Params& p;
  Smem& smem;
  const int group;
  const bool lead;

  JFA_DEVICE KeyGroup(const typename K::Params& params, Smem& memory, int of_group)
      : p(params), smem(memory), group(of_group), lead(M::warp_index() % 4 == 0 && M::elect()) {}

  Fragment<M, K::kQueries> s;  // S^T, P^T, dP^T, dS^T
  Fragment<M, K::kOutCols> dk;
  Fragment<M, K::kOutCols> dv;
  Tiles probabilities;
  Operand<M, typename K::T, Scores::kBends ? K::kQueries : 16> bends;  // used where scores bend

  typename decltype(Smem::work)::Cursor work = {};
  typename decltype(Smem::kv_ring)::Cursor kv = {};
  typename decltype(Smem::tile_ring)::Cursor at = {};    // the tile in hand
  typename decltype(Smem::tile_ring)::Cursor done = {};  // the one before, whose dK comes last
  typename decltype(Smem::ds_ring)::Cursor ds = {};
  typename decltype(Smem::ds_ring)::Cursor ds_done = {};
  const Work* now = nullptr;
  int tile = 0;
  bool named = true;  // whether lists name the group's keys for the tile

  JFA_DEVICE int field(const int Work::*of) const {
    return M::uniform(M::load_shared(&(now->*of)));
  }
  /// The group's first key and first column, in the block's.
  JFA_DEVICE int first_key() const { return K::C.split ? 0 : K::kGroupKeys * group; }
  JFA_DEVICE int first_col() const { return K::C.split ? K::kOutCols * group : 0; }

  JFA_DEVICE auto keys() {
    return smem.kv[kv.slot].k.view().template rows<K::kGroupKeys>(first_key());
  }
  JFA_DEVICE auto values() {
    return smem.kv[kv.slot].v.view().template rows<K::kGroupKeys>(first_key());
  }
  /// The group's columns of a tile.
  JFA_DEVICE auto columns(auto&& of) const {
    return of.view().template cols<K::kOutCols>(first_col());
  }

  JFA_DEVICE auto slopes(int slot) {  // dS^T
    return smem.ds[slot].view().template rows<K::kGroupKeys>(64 * group);
  }

  JFA_DEVICE void run() {
    for (;;) {
      now = &smem.work.wait(work);
      const int tiles = field(&Work::tiles);
      if (tiles < 0) break;
      smem.kv_ring.wait(kv);
      if (is_part(1)) {
        dk.fill(0);
        dv.fill(0);
      }
      if (tiles > 0) visit(tiles);
      if (!is_part(2)) {
        smem.work.release(work);
        continue;
      }
      if constexpr (K::C.split) {
        Meeting<M, "keys", typename K::Ids, 256>::sync();  // both groups' MMAs have read V
      }
      write(dv, p.dv);
      write(dk, p.dk);
      if (lead) wait_read<M>();
      smem.kv_ring.release(kv);
      smem.work.release(work);
    }
  }

  /// Whether the work in hand is its block's first (1) or last (2) piece.
  JFA_DEVICE bool is_part(int which) const {
    if constexpr (Mask::kListed) return (field(&Work::part) & which) != 0;
    return true;
  }

  /// Goes on to the tile of the next visit, `end` being that behind a head's last.
  JFA_DEVICE void next_tile(int visit, int end) {
    if constexpr (Mask::kListed) {
      const auto& visits = smem.visits[field(&Work::slot)];
      const int found = M::uniform(M::load_shared(&visits.tile[visit]));
      tile = found / 4;
      named = (found >> (K::C.split ? 0 : group) & 1) != 0;
    } else if (++tile == end) {
      tile = field(&Work::first_tile);
    }
  }

  /// Every tile of queries of the work in hand, `tiles` of each head.
  JFA_DEVICE void visit(int tiles) {
    tile = field(&Work::first_tile) - 1;
    const int end = tile + 1 + tiles;
    next_tile(0, end);
    issue_scores();
    wgmma_wait<0>(s);
    make_probabilities();
    make_slopes();
    for (int visit = 1; visit < tiles * p.heads; ++visit) {
      next_tile(visit, end);
      at.advance();
      issue_scores();
      add_keys();
      wgmma_wait<1>(s);
      make_probabilities();
      wgmma_wait<0, M>();  // dK of the tile before
      free_tile();
      make_slopes();
    }
    add_keys();
    at.advance();
    wgmma_wait<0>(dk, dv);
    free_tile();
  }

  JFA_DEVICE void free_tile() {
    smem.tile_ring.release(done);
    smem.ds_ring.release(ds_done);
  }

  JFA_DEVICE void issue_scores() {
    auto& queries = smem.q[at.slot];
    smem.tile_ring.wait(at);
    M::wgmma_fence();  // S, read by threads, before it is written
    wgmma(s, keys(), queries, false);
    M::wgmma_commit();
  }

  /// Issues dK += dS^T Q of the tile before.
  JFA_DEVICE void add_keys() {
    meet();            // all of the warpgroup's dS is stored
    M::wgmma_fence();  // ptxas wants one before each batch that follows a barrier
    wgmma(dk, slopes(ds_done.slot), transposed(columns(smem.q[done.slot])));
    M::wgmma_commit();
  }

  /// dV += P^T dO, and dS^T.
  JFA_DEVICE void make_slopes() {
    auto& gradients = smem.dout[at.slot];
    M::wgmma_fence();  // S, read by threads, and P, before the MMA uses them
    wgmma(s, values(), gradients, false);
    M::wgmma_commit();
    wgmma(dv, probabilities, transposed(columns(gradients)));
    M::wgmma_commit();
    wgmma_wait<1>(s);
    differentiate<Scores>(s, probabilities, bends, p.slope, smem.delta[at.slot].view());
    const int slot = ds.slot;
    smem.ds_ring.fill(ds, [&](auto&) {
      store_fragment(slopes(slot), s);
      M::template fence_proxy_async<Space::Shared>();  // dS, written by threads, read by MMAs
    });
    wgmma_wait<0>(probabilities);
  }

  /// S^T becomes P^T.
  JFA_DEVICE void make_probabilities() {
    const Scores scores{p.scores};
    if constexpr (Scores::kBends) {
      scores.prepare(s);
      keep_bends(bends, s, scores);
    }
    const float factor = score_factor(scores);
    if constexpr (Mask::kListed) {
      if (!named) s.fill(factor < 0 ? __builtin_inff() : -__builtin_inff());
    }
    hide_transposed(s, mask(), field(&Work::first_key) + first_key(),
                    field(&Work::q_length) - tile * K::kQueries, factor);
    weigh(s, factor, smem.lse[at.slot].view());
    convert(probabilities, s);
  }

  JFA_DEVICE Mask mask() const {
    return {p.mask, TileRows{.first = tile * K::kQueries,
                             .pack_log2 = 0,
                             .q_length = field(&Work::q_length),
                             .kv_length = field(&Work::kv_length)}};
  }

  /// Writes dV or dK out through this group's half of V, whose MMAs are over.
  JFA_DEVICE void write(Fragment<M, K::kOutCols>& from, const typename M::TensorMap& to) {
    if (lead) wait_read<M>();
    meet();  // the other warps' MMAs have read V, and the copy before its tile
    const auto staged = columns(values());
    store_fragment(staged, from);
    M::template fence_proxy_async<Space::Shared>();  // written by threads, read by a copy
    meet();
    if (lead) {
      const RaggedRows rows{M::load_shared(&now->kv_begin), M::load_shared(&now->kv_length)};
      const int row = rows.at(M::load_shared(&now->first_key) + first_key());
      const int head = M::load_shared(&now->kv_head);
      tma_store(to, {first_col(), head, row, rows.end(), kRaggedRows}, staged);
      M::bulk_commit();
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
