// The roles of BackwardByKeys that copy: blocks of K and V, tiles of Q and dO.
#pragma once

#include "kernels/backward/apart.hpp"
#include "kernels/ragged.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// Blocks of K and V are read once, and dK and dV not at all: they leave L2 to the rest first. `K`
/// is the kernel, BackwardByKeys<...>.
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

/// `K` is the kernel, BackwardByKeys<...>.
template <class K>
struct TileLoader {
  using M = typename K::M;
  using Work = typename K::Work;
  const typename K::Params& p;
  typename K::Smem& smem;
  typename decltype(K::Smem::tile_ring)::Cursor to = {};

  JFA_DEVICE void run() {
    for_each_work<M>(smem.work, &Work::tiles, [&](const Work& work) {
      typename K::Place place{M::load_shared(&work.first_tile), 0};
      const int visits = M::load_shared(&work.tiles) * p.heads;
      for (int visit = 0; visit < visits; ++visit) {
        if constexpr (K::Mask::kListed) {
          const auto& listed = smem.visits[M::load_shared(&work.slot)];
          place.tile = M::load_shared(&listed.tile[visit]) / 4;
        }
        load(work, place);
        place.next(p);
      }
    });
  }

  JFA_DEVICE void load(const Work& work, const typename K::Place& place) {
    const int head = M::load_shared(&work.q_head) + place.head;
    const int length = M::load_shared(&work.q_length);
    const float* rows =
        p.statistics +
        2 * K::kQueries * (head * p.head_tiles + M::load_shared(&work.statistics) + place.tile);
    int at[5] = {0, head, kRaggedRows - length + place.tile * K::kQueries, 0, kRaggedRows};
    smem.tile_ring.fill(to, [&](auto&, Mbarrier& full) {
      at[3] = M::load_shared(&work.q_begin) + length;
      tma_load(full, smem.q[to.slot], p.q, at);
      at[3] = M::load_shared(&work.out_begin) + length;
      tma_load(full, smem.dout[to.slot], p.dout, at);
      M::bulk_load(smem.lse[to.slot].elements, rows, sizeof(smem.lse[0]), &full);
      M::bulk_load(smem.delta[to.slot].elements, rows + K::kQueries, sizeof(smem.delta[0]), &full);
    });
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
