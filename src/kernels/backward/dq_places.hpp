// Where dQ of a visit belongs, and whose turn it is to add to it, for the backward kernels by keys.
#pragma once

#include "kernels/backward/key_blocks.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel.
template <class K>
struct DqPlaces {
  using M = typename K::M;
  using Mask = typename K::Mask;
  using Work = typename K::Work;

  const typename K::Params& p;
  typename K::Smem& smem;

  JFA_DEVICE int field(const Work& work, const int Work::*of) const {
    return M::uniform(M::load_shared(&(work.*of)));
  }
  JFA_DEVICE DqWay way(const Work& work) const {
    return static_cast<DqWay>(M::uniform(static_cast<int>(M::load_shared(&work.dq))));
  }

  /// The blocks of keys that visit a tile, but for lists.
  JFA_DEVICE Range seen_blocks(const Work& work, int tile) const {
    return K::blocks(p.mask, tile, {field(work, &Work::q_length), field(work, &Work::kv_length)});
  }
  JFA_DEVICE int blocks_before(const Work& work, int tile, int visit) const {
    if constexpr (Mask::kListed) {
      const auto& visits = smem.visits[field(work, &Work::slot)];
      return M::uniform(M::load_shared(&visits.before[visit]));
    } else {
      return field(work, &Work::first_key) / K::kKeys -
             static_cast<int>(seen_blocks(work, tile).begin);
    }
  }

  JFA_DEVICE float* kept_at(const Work& work, int head, int tile, int column) const {
    const int tiles = (field(work, &Work::q_length) + K::kQueries - 1) / K::kQueries;
    const std::int64_t at = field(work, &Work::kept) + head * tiles + tile;
    return p.dq_kept + at * (K::kQueries * K::C.head_dim) + column * K::kQueries;
  }

  /// NOTE [turns]: with `turns`, the blocks of keys that visit a tile add to it one after another,
  /// in their order. Each takes its items from a counter, earlier blocks of keys first: the one
  /// whose turn it is has been taken by a running block, which waits for no later one.
  JFA_DEVICE int* turn_at(const Work& work, int head, int tile) const {
    return p.turns + (M::load_shared(&work.q_head) + head) * p.head_tiles +
           M::load_shared(&work.statistics) + tile;
  }
};

}  // namespace jfa::inline JFA_BACKEND
