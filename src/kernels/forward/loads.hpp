// How the forward kernels of all chips load: a tile's Q, blocks of K and V in the order in which
// they are worked on, with lists those that lists name.
#pragma once

#include "kernels/forward/tiles.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is a ForwardTiles<...>.
template <class K>
struct ForwardLoads {
  using M = typename K::M;
  using KvTile = typename K::KvTile;
  using ListedBlock = typename K::ListedBlock;
  using Mask = typename K::Mask;
  using Params = typename K::Params;
  using QSlot = typename K::QSlot;
  using Work = typename K::Work;
  static constexpr int kGroups = K::kGroups;
  static constexpr int kAllParts = (1 << K::kParts) - 1;

  /// fn(work) on one thread of the warp for each tile.
  static JFA_DEVICE void for_each_tile(auto& smem, auto fn, Site site = Site::here()) {
    const bool lead = M::elect(site);
    const auto on_one = [&](const Work& work) {
      if (lead) fn(work);
    };
    K::for_each_work(smem, on_one, site);
  }

  /// Where a group's part of a tile begins; without rows, behind the sequence, where zeros are
  /// read.
  static JFA_DEVICE int first_row(const Params& p, const Work& work, int group) {
    return K::has_rows(p, work, group) ? work.q_row + K::first_query(p, group) : work.q_length;
  }

  template <class Cursor>
  static JFA_DEVICE void load_q(const Params& p, auto& smem, Cursor& q, const Work& work) {
    const RaggedRows rows{work.q_begin, work.q_length};
    smem.q.fill(q, [&](QSlot& slot, Mbarrier& full) {
      for (int group = 0; group < kGroups; ++group) {
        const int row = first_row(p, work, group);
        tma_load(full, slot.group[group], p.q,
                 {0, work.q_head, rows.at(row), rows.end(), kRaggedRows});
      }
    });
  }

  /// The role of kernels that say beside K's slots who visits a block.
  static JFA_DEVICE void load_keys(const Params& p, auto& smem) {
    auto kv = smem.kv.writer();
    for_each_tile(smem, [&](const Work& work) {
      load_kv(p, smem, kv, work,
              [&](const ListedBlock& block) { M::store_shared(&smem.listed[kv.slot], block); });
    });
  }
  /// With lists, tell(block) says who visits a block before its K is loaded.
  template <class Cursor>
  static JFA_DEVICE void load_kv(const Params& p, auto& smem, Cursor& kv, const Work& work,
                                 auto tell) {
    if constexpr (Mask::kListed) {
      load_listed(p, work, [&](const ListedBlock& block) {
        load_block(p, smem, kv, work, block.place, [&] { tell(block); });
      });
    } else if (work.first_of_run != 0) {
      for (int place = work.blocks - 1; place >= 0; --place) {
        load_block(p, smem, kv, work, place, [] {});
      }
    }
  }

  template <class Cursor>
  static JFA_DEVICE void load_block(const Params& p, auto& smem, Cursor& kv, const Work& work,
                                    int place, auto before) {
    const RaggedRows rows{work.kv_begin, work.kv_length};
    const int row = rows.at((work.first_block + place) * K::C.keys);
    smem.kv.fill(kv, [&](KvTile& k, Mbarrier& full) {
      before();
      tma_load(full, k, p.k, {0, work.kv_head, row, rows.end(), kRaggedRows});
    });
    smem.kv.fill(kv, [&](KvTile& v, Mbarrier& full) {
      tma_load(full, v, p.v, {0, work.kv_head, row, rows.end(), kRaggedRows});
    });
  }

  /// Which groups visit the block at `place` of a tile, of those with parts in `members`.
  static JFA_DEVICE int visitors(const Work& work, int members, int place) {
    constexpr int kAll = (1 << K::kGroupParts) - 1;
    int flags = 0;
    JFA_UNROLL
    for (int group = 0; group < kGroups; ++group) {
      const Visits& own = work.visits[group];
      const int parts = members >> group * K::kGroupParts & kAll;
      if (parts == 0 || place < own.begin || place >= own.end) continue;
      flags |= K::kVisit << group;
      if (place < own.plain_begin || place >= own.plain_end) flags |= K::kMasked << group;
    }
    if (K::kGroupParts > 1 && flags != 0) flags |= (~members & kAllParts) * K::kHidden;
    return flags;
  }

  /// load(block) for each block that the lists of a tile's parts name, from the last down. A tile
  /// loads at least one, whether or not anybody visits it.
  static JFA_DEVICE void load_listed(const Params& p, const Work& work, auto load) {
    const BlockLists& lists = p.mask.lists;
    ListedBlock ready{0, 0};  // is loaded when the one after it is known, or known to be none
    const auto visit = [&](int members, int place) {
      const int flags = visitors(work, members, place);
      if (flags == 0) return;
      if (ready.flags != 0) load(ready);
      ready = {place, flags};
    };
    if (lists.row_offsets.data == nullptr) {
      for (int place = work.blocks - 1; place >= 0; --place) visit(kAllParts, place);
    } else {
      each_column(p, work, [&](int members, int column) {
        if (column > work.kv_length / lists.block_kv) return;
        const int parts = lists.block_kv / K::C.keys;
        const int begin = column * parts - work.first_block;
        const int end = begin + parts < work.blocks ? begin + parts : work.blocks;
        for (int place = end - 1; place >= begin && place >= 0; --place) visit(members, place);
      });
    }
    load({ready.place, ready.flags | K::kLast});
  }

  /// fn(parts, column) for each column that lists name for some of a tile's parts, falling.
  template <class Fn>
  static JFA_DEVICE void each_column(const Params& p, const Work& work, Fn fn) {
    const BlockLists& lists = p.mask.lists;
    ListedColumns<M> columns[K::kParts];
    JFA_UNROLL
    for (int part = 0; part < K::kParts; ++part) {
      const int query = work.q_row + (part * K::kPartRows >> p.pack_log2);
      if (query >= work.q_end) continue;
      const std::int64_t row = std::int64_t{work.block_row} + query / lists.block_q;
      columns[part] = ListedColumns<M>::of(lists, work.q_head, row);
    }
    for (;;) {
      int column = -1;
      for (const auto& at : columns) column = at.column > column ? at.column : column;
      if (column < 0) return;
      int members = 0;
      JFA_UNROLL
      for (int part = 0; part < K::kParts; ++part) {
        if (columns[part].column != column) continue;
        members |= 1 << part;
        columns[part].advance(lists);
      }
      fn(members, column);
    }
  }
};

}  // namespace jfa::inline JFA_BACKEND
