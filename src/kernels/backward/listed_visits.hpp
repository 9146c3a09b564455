// How the role `schedule` of the backward kernels by keys finds the tiles that a block-sparse mask
// lets a block of keys visit.
#pragma once

#include <algorithm>

#include "kernels/backward/gradient.hpp"
#include "plan/transpose.hpp"

namespace jfa::inline JFA_BACKEND {

/// Cuts one block of keys into pieces of work for the role's warp, of up to 32 visits each, and one
/// without any, the last. `K` is the kernel; `Writer` its ring's.
template <class K, class Writer>
struct ListedVisits {
  using M = typename K::M;
  using Work = typename K::Work;
  static constexpr int kMost = 32;
  static constexpr int kPart = 64;  // what blocks of lists are multiples of
  static constexpr int kParts = K::kQueries / kPart;

  const typename K::BlockParams& p;
  typename K::Smem& smem;
  Writer& to;
  int tile = 0;    // of the lane's visit, as Visits holds it
  int before = 0;  // of the lane's visit
  int last = 0;    // tile that was added
  int count = 0;
  bool first = true;

  JFA_DEVICE void publish(const Work& block) {
    const int tiles = (block.q_length + K::kQueries - 1) / K::kQueries;
    for (int i = 0; i < p.group; ++i) {
      Work work = block;
      work.q_head += i;
      if constexpr (K::kMakesDq) work.kept += i * tiles;
      walk(work);
      if (count > 0) hand_over(work, 0);
    }
    hand_over(block, 2);
  }

  /// The lists of both halves of the keys, merged.
  JFA_DEVICE void walk(const Work& work) {
    const BlockLists& lists = p.mask.lists;
    if (lists.row_offsets.data == nullptr) {  // a softcap's kernel takes calls without lists
      for (int i = 0; i < work.tiles; ++i) add(work, work.first_tile + i, K::kNames - 1);
      return;
    }
    const int second = work.first_key + kPart;
    const bool two = K::kKeys > kPart && second < work.kv_length &&
                     second / lists.block_kv != work.first_key / lists.block_kv;
    SeeingRows<M> a = rows_of(work, work.first_key);
    SeeingRows<M> b{};
    if (two) b = rows_of(work, second);
    for (;;) {
      const int row = a.row < b.row ? a.row : b.row;
      if (row == SeeingRows<M>::kEnd) break;
      const int halves = !two ? 3 : (a.row == row ? 1 : 0) + (b.row == row ? 2 : 0);
      add_tiles(work, row, halves);
      if (a.row == row) a.advance();
      if (b.row == row) b.advance();
    }
  }

  JFA_DEVICE SeeingRows<M> rows_of(const Work& work, int key) const {
    const BlockLists& lists = p.mask.lists;
    const int head = lists.heads == 1 ? 0 : work.q_head;
    const int place = ListsByKeys::first_place(work.kv_begin, work.sequence, lists.block_kv) +
                      key / lists.block_kv;
    return SeeingRows<M>::of(p.lists, head, place);
  }

  /// Those parts of a block of queries that stand in tiles which the window lets the keys see.
  JFA_DEVICE void add_tiles(const Work& work, int row, int halves) {
    const int each = p.mask.lists.block_q / kPart;
    const int seen = work.first_tile * kParts;
    const int end = std::min(row * each + each, seen + work.tiles * kParts);
    for (int at = std::max(row * each, seen); at < end; ++at) {
      add(work, at / kParts, halves << 2 * (at % kParts));
    }
  }

  /// Parts of a tile come one after the other.
  JFA_DEVICE void add(const Work& work, int of_tile, int names) {
    if (kParts > 1 && count > 0 && of_tile == last) {
      if (M::lane() == count - 1) tile |= names;
      return;
    }
    if (count == kMost) hand_over(work, 0);
    int earlier = 0;
    if constexpr (K::kTurns) {
      if (p.turns != nullptr) earlier = blocks_before(work, of_tile);
    }
    if (M::lane() == count) {
      tile = of_tile * K::kNames + names;
      before = earlier;
    }
    last = of_tile;
    ++count;
  }

  /// The blocks of keys before this one that visit a tile.
  JFA_DEVICE int blocks_before(const Work& work, int of_tile) const {
    const Range seen = K::blocks(p.mask, of_tile, {work.q_length, work.kv_length});
    const int own = work.first_key / K::kKeys;
    if (p.mask.lists.row_offsets.data == nullptr) return own - static_cast<int>(seen.begin);
    int sum = 0;
    for (int at = static_cast<int>(seen.begin) + M::lane(); at - M::lane() < own; at += 32) {
      sum += count_bits(M::ballot(at < own && visits(work, of_tile, at * K::kKeys)));
    }
    return sum;
  }
  JFA_DEVICE bool visits(const Work& work, int of_tile, int first_key) const {
    bool any = false;
    JFA_ROLLED
    for (int query = of_tile * K::kQueries; query < (of_tile + 1) * K::kQueries; query += kPart) {
      JFA_ROLLED
      for (int key = first_key; key < first_key + K::kKeys; key += kPart) {
        any = any || sees(work, query, key);
      }
    }
    return any;
  }
  JFA_DEVICE bool sees(const Work& work, int query, int key) const {
    const BlockLists& lists = p.mask.lists;
    const std::int64_t first_row = M::load_global(lists.first_rows + work.sequence);
    return query < work.q_length && key < work.kv_length &&
           names<M>(lists, work.q_head, first_row + query / lists.block_q, key / lists.block_kv);
  }

  /// `part` is 2 for the last piece.
  JFA_DEVICE void hand_over(const Work& of, int part) {
    Work work = of;
    work.tiles = count;
    work.part = part + (first ? 1 : 0);
    work.slot = to.slot;
    smem.work.fill(to, [&](Work& slot) {
      auto& visits = smem.visits[work.slot];
      M::store_shared(&visits.tile[M::lane()], tile);
      if constexpr (K::kTurns) M::store_shared(&visits.before[M::lane()], before);
      if (M::lane() == 0) M::store_shared(&slot, work);
    });
    count = 0;
    first = false;
  }
};

}  // namespace jfa::inline JFA_BACKEND
