// How the role `schedule` of BackwardByKeys finds the tiles that a block-sparse mask lets a block
// of keys visit.
#pragma once

#include "kernels/backward/gradient.hpp"
#include "plan/transpose.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// Cuts one block of keys into pieces of work for the role's warp, of up to 32 visits each, and one
/// without any, the last. `K` is the kernel, BackwardByKeys<...>; `Writer` its ring's.
template <class K, class Writer>
struct ListedVisits {
  using M = typename K::M;
  using Work = typename K::Work;
  static constexpr int kMost = 32;

  const typename K::BlockParams& p;
  typename K::Smem& smem;
  Writer& to;
  int tile = 0;    // of the lane's visit, as Visits holds it
  int before = 0;  // of the lane's visit
  int count = 0;
  bool first = true;

  JFA_DEVICE void publish(const Work& block) {
    const int tiles = (block.q_length + K::kQueries - 1) / K::kQueries;
    for (int i = 0; i < p.group; ++i) {
      Work work = block;
      work.q_head += i;
      work.kept += i * tiles;
      walk(work);
      if (count > 0) hand_over(work, 0);
    }
    hand_over(block, 2);
  }

  /// The lists of both halves of the keys, merged.
  JFA_DEVICE void walk(const Work& work) {
    const BlockLists& lists = p.mask.lists;
    if (lists.row_offsets.data == nullptr) {  // a softcap's kernel takes calls without lists
      for (int i = 0; i < work.tiles; ++i) add(work, 0, work.first_tile + i, 3);
      return;
    }
    const int second = work.first_key + K::kGroupKeys;
    const bool two = !K::C.split && second < work.kv_length &&
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

  /// Those tiles of a block of queries that the window lets the keys see.
  JFA_DEVICE void add_tiles(const Work& work, int row, int halves) {
    const std::int64_t each = p.mask.lists.block_q / K::kQueries;
    const std::int64_t begin = row * each;
    const std::int64_t end = begin + each;
    const std::int64_t seen_end = std::int64_t{work.first_tile} + work.tiles;
    std::int64_t at = begin > work.first_tile ? begin : work.first_tile;
    for (; at < end && at < seen_end; ++at) add(work, row, static_cast<int>(at), halves);
  }

  JFA_DEVICE void add(const Work& work, int row, int of_tile, int halves) {
    const int earlier = p.turns != nullptr ? blocks_before(work, row, of_tile) : 0;
    if (M::lane() == count) {
      tile = of_tile * 4 + halves;
      before = earlier;
    }
    if (++count == kMost) hand_over(work, 0);
  }

  /// The blocks of keys before this one that visit a tile.
  JFA_DEVICE int blocks_before(const Work& work, int row, int of_tile) const {
    const Range seen = K::blocks(p.mask, of_tile, {work.q_length, work.kv_length});
    const int own = work.first_key / K::kKeys;
    if (p.mask.lists.row_offsets.data == nullptr) return own - static_cast<int>(seen.begin);
    int sum = 0;
    for (int at = static_cast<int>(seen.begin) + M::lane(); at - M::lane() < own; at += 32) {
      const int key = at * K::kKeys;
      const bool visits =
          at < own && (sees(work, row, key) || (!K::C.split && sees(work, row, key + 64)));
      sum += count_bits(M::ballot(visits));
    }
    return sum;
  }
  JFA_DEVICE bool sees(const Work& work, int row, int key) const {
    const BlockLists& lists = p.mask.lists;
    const std::int64_t first_row = M::load_global(lists.first_rows + work.sequence);
    return key < work.kv_length &&
           names<M>(lists, work.q_head, first_row + row, key / lists.block_kv);
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
      M::store_shared(&visits.before[M::lane()], before);
      if (M::lane() == 0) M::store_shared(&slot, work);
    });
    count = 0;
    first = false;
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
