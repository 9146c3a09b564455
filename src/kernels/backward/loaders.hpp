// The roles of the backward kernels by keys that copy: blocks of K and V, tiles of Q and dO.
#pragma once

#include "kernels/backward/gradient.hpp"
#include "kernels/items.hpp"
#include "kernels/ragged.hpp"

namespace jfa::inline JFA_BACKEND {

/// Blocks of K and V are read once, and dK and dV not at all: they leave L2 to the rest first. `K`
/// is the kernel.
template <class K>
struct KeyLoader {
  using M = typename K::M;
  using Work = typename K::Work;
  const typename K::Params& p;
  typename K::Smem& smem;

  JFA_DEVICE void run() const {
    auto kv = smem.kv_ring.writer();
    for_each_work<M>(smem.work, &Work::tiles, [&](const Work& work) {
      if (K::Mask::kListed && M::load_shared(&work.part) % 2 == 0) return;
      const RaggedRows keys{M::load_shared(&work.kv_begin), M::load_shared(&work.kv_length)};
      const int at[5] = {0, M::load_shared(&work.kv_head), keys.at(M::load_shared(&work.first_key)),
                         keys.end(), kRaggedRows};
      smem.kv_ring.fill(kv, [&](auto&, Mbarrier& full) {
        tma_load<CacheHint::EvictFirst>(full, smem.kv[kv.slot].k, p.k, at);
        tma_load<CacheHint::EvictFirst>(full, smem.kv[kv.slot].v, p.v, at);
      });
    });
  }
};

/// Tiles of queries, for a role of one thread that copies. `K` is the kernel.
template <class K>
struct QueryTiles {
  using M = typename K::M;
  using Place = typename K::Place;
  using Work = typename K::Work;
  const typename K::Params& p;
  typename K::Smem& smem;

  /// load(work, place) on one thread for each visit.
  JFA_DEVICE void for_each(auto load) const {
    for_each_work<M>(smem.work, &Work::tiles, [&](const Work& work) {
      Place place{M::load_shared(&work.first_tile), 0};
      const int visits = M::load_shared(&work.tiles) * p.heads;
      for (int visit = 0; visit < visits; ++visit) {
        if constexpr (K::Mask::kListed) {
          const auto& listed = smem.visits[M::load_shared(&work.slot)];
          place.tile = M::load_shared(&listed.tile[visit]) / K::kNames;
        }
        load(work, place);
        place.next(p);
      }
    });
  }

  // The parts of the tile at `place`. What they read of the work is in no register between them:
  // the role has few.
  JFA_DEVICE void load_q(Mbarrier& full, typename K::QTile& to, const Work& work,
                         const Place& place) const {
    load_rows(full, to, p.q, M::load_shared(&work.q_begin), work, place);
  }
  JFA_DEVICE void load_dout(Mbarrier& full, typename K::QTile& to, const Work& work,
                            const Place& place) const {
    load_rows(full, to, p.dout, M::load_shared(&work.out_begin), work, place);
  }
  /// To lse(row) and delta(row), for every kStatisticsRows rows.
  JFA_DEVICE void load_row_statistics(Mbarrier& full, auto lse, auto delta, const Work& work,
                                      const Place& place) const {
    const int head = M::load_shared(&work.q_head) + place.head;
    const std::int64_t tile =
        M::load_shared(&work.statistics) + place.tile * (K::kQueries / kStatisticsRows);
    load_statistics<M, K::kQueries>(
        p.statistics + 2 * kStatisticsRows * (head * p.head_tiles + tile), lse, delta, full,
        [&](int row) { return place.tile * K::kQueries + row < M::load_shared(&work.q_length); });
  }

 private:
  JFA_DEVICE void load_rows(Mbarrier& full, typename K::QTile& to, const auto& map, int begin,
                            const Work& work, const Place& place) const {
    const RaggedRows rows{begin, M::load_shared(&work.q_length)};
    tma_load(full, to, map,
             {0, M::load_shared(&work.q_head) + place.head, rows.at(place.tile * K::kQueries),
              rows.end(), kRaggedRows});
  }
};

/// `K` is the kernel, BackwardByKeys<...>.
template <class K>
struct TileLoader {
  const typename K::Params& p;
  typename K::Smem& smem;

  JFA_DEVICE void run() const {
    const QueryTiles<K> tiles{p, smem};
    auto to = smem.tile_ring.writer();
    tiles.for_each([&](const auto& work, const auto& place) {
      smem.tile_ring.fill(to, [&](auto&, Mbarrier& full) {
        tiles.load_q(full, smem.q[to.slot], work, place);
        tiles.load_dout(full, smem.dout[to.slot], work, place);
        tiles.load_row_statistics(
            full, [&](int row) { return smem.lse[to.slot].elements + row; },
            [&](int row) { return smem.delta[to.slot].elements + row; }, work, place);
      });
    });
  }
};

}  // namespace jfa::inline JFA_BACKEND
