// What a warpgroup of the role `keys` does: dK and dV of 64 keys over tiles of queries, or half of
// their columns where the warpgroups split these.
//
// One step, a tile of queries; no MMA is in flight before or after it:
//
// | tensor cores                                         | meanwhile                         |
// | ---------------------------------------------------- | --------------------------------- |
// | S^T = K Q^T of this tile, dK += dS^T Q of the last   |                                   |
// | dK                                                   | S^T is there: P^T                 |
// | dP^T = V dO^T, dV += P^T dO                          |                                   |
// | dV                                                   | dP^T is there: dS^T, also to SMEM |
//
// The next block of keys begins in the same step in which dK of the block before ends, and takes
// over the accumulators: dV is put where V of the block before was while S^T is made, dK, when it
// is whole, where its K was.
//
// A warpgroup passes by tiles that see none of its keys: all, where it has none.
#pragma once

#include "kernels/backward/gradient.hpp"
#include "kernels/backward/slopes.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, BackwardByKeys<...> or BackwardOfKeys<...>.
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
      : p(params),
        smem(memory),
        group(of_group),
        lead(M::warp_index() % 4 == 0 && M::elect()),
        slopes(memory, of_group) {}

  Fragment<M, K::kQueries> s;  // S^T, P^T, dP^T, dS^T
  Fragment<M, K::kOutCols> dk;
  Fragment<M, K::kOutCols> dv;
  Tiles probabilities;
  typename K::Slopes slopes;                                           // dS^T
  Operand<M, typename K::T, Scores::kBends ? K::kQueries : 16> bends;  // used where scores bend

  typename decltype(Smem::work)::Cursor ahead = {};      // the work after the one in hand
  typename decltype(Smem::work)::Cursor work_done = {};  // the last of the block to write next
  typename decltype(Smem::kv_ring)::Cursor kv = {};
  typename decltype(Smem::kv_ring)::Cursor kv_done = {};  // of the block to write next
  typename decltype(Smem::tile_ring)::Cursor at = {};     // the tile in hand
  typename decltype(Smem::tile_ring)::Cursor done = {};   // the one before, whose dK comes last
  const Work* now = nullptr;
  typename K::Place place = {};
  int visit = 0;
  int visits = 0;       // of the work in hand, up to the last that is the group's own
  bool named = true;    // whether lists name the group's keys for the tile
  bool begins = false;  // this step's tile is a block's first, the one before another block's last
  bool adds_dk = false;
  bool adds_dv = false;  // to what there is of the block already

  /// The group's first key and first column, in the block's.
  JFA_DEVICE int first_key() const { return K::C.split ? 0 : K::kGroupKeys * group; }
  JFA_DEVICE int first_col() const { return K::C.split ? K::kOutCols * group : 0; }

  /// The group's keys of K or V.
  JFA_DEVICE auto keys(auto& of) const {
    return of.view().template rows<K::kGroupKeys>(first_key());
  }
  /// The group's columns of a tile.
  JFA_DEVICE auto columns(auto&& of) const {
    return of.view().template cols<K::kOutCols>(first_col());
  }

  JFA_DEVICE void run() {
    for (;;) {
      const int tiles = tiles_ahead();
      if (tiles < 0) break;
      take(own_tiles(tiles));
      smem.kv_ring.wait(kv);
      pass_by(visit);
      if (visit < visits) {
        sweep();
      } else {
        dk.fill(0);
        dv.fill(0);
      }
      pass_by(known<M>(now->tiles) * p.heads - visits);
      slopes.await_readers();
      store_fragment(columns(keys(smem.kv[kv_done.slot].v)), dv);
      store_fragment(columns(keys(smem.kv[kv_done.slot].k)), dk);
      copy_out();
      kv.advance();
      free_block();
    }
  }

  /// Tiles, for each head, of the work after the one in hand.
  JFA_DEVICE int tiles_ahead() { return known<M>(smem.work.wait(ahead).tiles); }
  /// Those of them, in the order of visits, that see keys of the group's.
  JFA_DEVICE Range own_tiles(int tiles) const {
    if constexpr (Mask::kListed || K::C.split) return {0, tiles};
    const Work& work = smem.work.slots[ahead.slot];
    if constexpr (K::kOwnTiles && !Mask::kSharesKeys) {
      return K::half_tiles(p, work, group);
    } else {
      return {0, group == 0 || K::has_second_half(work) ? tiles : 0};
    }
  }
  /// Takes that work in hand.
  JFA_DEVICE void take(const Range& own) {
    now = &smem.work.slots[ahead.slot];
    ahead.advance();
    visit = static_cast<int>(own.begin) * p.heads;
    visits = static_cast<int>(own.end) * p.heads;
    place = {known<M>(now->first_tile) + p.step * static_cast<int>(own.begin), 0};
    find_tile();
  }
  /// So many tiles, with nothing in flight.
  JFA_DEVICE void pass_by(int count) {
    for (; count > 0; --count) {
      smem.tile_ring.wait(at);
      slopes.pass_by();
      smem.tile_ring.release(done);
      at.advance();
    }
  }
  /// Whether the work after the one in hand goes on with the same block of keys.
  JFA_DEVICE bool goes_on() const {
    return Mask::kListed && M::load_shared(&smem.work.slots[ahead.slot].part) % 2 == 0;
  }

  /// Goes on to the next visit, perhaps of another block of keys; false where the one in hand is
  /// to be written first: K and V of two blocks are held from one's end to the other's first step,
  /// which a block of a single visit has no other steps to make up for.
  JFA_DEVICE bool next() {
    if (++visit < visits) {
      place.next(p);
      find_tile();
      return true;
    }
    if (!Mask::kListed && visits < known<M>(now->tiles) * p.heads) return false;
    int tiles = tiles_ahead();
    if (goes_on()) {
      smem.work.release(work_done);
      take({0, tiles});
      if (tiles > 0) return true;
      tiles = tiles_ahead();
    }
    if (tiles <= 0 || K::C.kv_slots == 1 || visits == 1) return false;
    const Range own = own_tiles(tiles);
    if (own.begin > 0 || own.empty()) return false;
    take(own);
    kv.advance();
    smem.kv_ring.wait(kv);
    begins = true;
    return true;
  }

  /// With lists, what the visit is to.
  JFA_DEVICE void find_tile() {
    if constexpr (Mask::kListed) {
      const int found = K::listed_visit(smem, *now, visit);
      place.tile = found / K::kNames;
      named = (found >> (K::C.split ? 0 : group) & 1) != 0;
    }
  }

  /// Every tile of queries of the block of keys in hand, and of those that follow without a stop.
  JFA_DEVICE void sweep() {
    adds_dk = adds_dv = false;
    issue_scores();
    bool hides = hides_some();
    wgmma_wait<0>(s);
    make_probabilities(hides);
    make_slopes();
    while (next()) {
      at.advance();
      issue_scores();
      add_keys();
      if (begins) stage_values();
      hides = hides_some();
      wgmma_wait<1>(s);
      make_probabilities(hides);
      slopes.wait(dk);  // of the tile before
      free_tile();
      if (begins) stage_keys();
      make_slopes();
      if (begins) free_block();
    }
    add_keys();
    at.advance();
    slopes.wait(dk);
    free_tile();
  }

  JFA_DEVICE void free_tile() {
    smem.tile_ring.release(done);
    slopes.release();
  }

  JFA_DEVICE void issue_scores() {
    auto& queries = smem.q[at.slot];
    smem.tile_ring.wait(at);
    M::wgmma_fence();  // S, read by threads, before it is written
    wgmma(s, keys(smem.kv[kv.slot].k), queries, false);
    M::wgmma_commit();
  }

  /// Issues dK += dS^T Q of the tile before.
  JFA_DEVICE void add_keys() {
    slopes.multiply(dk, transposed(columns(smem.q[done.slot])), adds_dk);
    M::wgmma_commit();
    adds_dk = true;
  }

  /// dV += P^T dO, and dS^T.
  JFA_DEVICE void make_slopes() {
    auto& gradients = smem.dout[at.slot];
    slopes.pin(probabilities);
    M::wgmma_fence();  // S and dV, read by threads, and P, before the MMA uses them
    wgmma(s, keys(smem.kv[kv.slot].v), gradients, false);
    M::wgmma_commit();
    wgmma(dv, probabilities, transposed(columns(gradients)), adds_dv);
    M::wgmma_commit();
    adds_dv = true;
    wgmma_wait<1>(s);
    differentiate<Scores, typename K::T>(s, probabilities, bends, p.slope,
                                         smem.delta[at.slot].view());
    slopes.put(s);
    wgmma_wait<0>(probabilities, dv);
  }

  /// Puts dV of the block before where its V was.
  JFA_DEVICE void stage_values() {
    slopes.await_readers_of_v();
    store_fragment(columns(keys(smem.kv[kv_done.slot].v)), dv);
    adds_dv = false;
  }
  /// Puts dK of the block before where its K was, and copies both out.
  JFA_DEVICE void stage_keys() {
    slopes.await_readers_of_k();
    store_fragment(columns(keys(smem.kv[kv_done.slot].k)), dk);
    adds_dk = false;
    copy_out();
  }

  /// Whether there are scores of the tile to be hidden: asked before they are there, since what
  /// stands between S^T and P^T holds the tensor cores up.
  JFA_DEVICE bool hides_some() const {
    return queries_left() < K::kQueries || mask().touches(key(), K::kGroupKeys, K::kQueries);
  }
  JFA_DEVICE int queries_left() const { return known<M>(now->q_length) - place.tile * K::kQueries; }
  /// The group's first key, in its sequence.
  JFA_DEVICE int key() const { return known<M>(now->first_key) + first_key(); }

  /// S^T becomes P^T.
  JFA_DEVICE void make_probabilities(bool hides) {
    const Scores scores{p.scores};
    if constexpr (Scores::kBends) {
      scores.prepare(s);
      keep_bends<typename K::T>(bends, s, scores);
    }
    const float factor = score_factor(scores);
    if constexpr (Mask::kListed) {
      if (!named) s.fill(hidden_score(factor));
    }
    if (hides) hide_transposed(s, mask(), key(), queries_left(), factor);
    weigh(s, factor, smem.lse[at.slot].view());
    convert(probabilities, s);
  }

  JFA_DEVICE Mask mask() const {
    return {p.mask, TileRows{.first = place.tile * K::kQueries,
                             .pack_log2 = 0,
                             .q_length = known<M>(now->q_length),
                             .kv_length = known<M>(now->kv_length)}};
  }

  /// Copies dV and dK, which the warpgroup has staged, out.
  JFA_DEVICE void copy_out() {
    M::template fence_proxy_async<Space::Shared>();  // written by threads, read by copies
    meet_keys<K>(group);
    if (!lead) return;
    const Work& of = smem.work.slots[work_done.slot];
    const RaggedRows rows{M::load_shared(&of.kv_begin), M::load_shared(&of.kv_length)};
    const int row = rows.at(M::load_shared(&of.first_key) + first_key());
    const int to[5] = {first_col(), M::load_shared(&of.kv_head), row, rows.end(), kRaggedRows};
    tma_store<CacheHint::EvictFirst>(p.dv, to, columns(keys(smem.kv[kv_done.slot].v)));
    tma_store<CacheHint::EvictFirst>(p.dk, to, columns(keys(smem.kv[kv_done.slot].k)));
    M::bulk_commit();
  }
  /// Gives up the block of keys that is copied out.
  JFA_DEVICE void free_block() {
    if (lead) wait_read<M>();
    smem.kv_ring.release(kv_done);
    smem.work.release(work_done);
    begins = false;
  }
};

}  // namespace jfa::inline JFA_BACKEND
