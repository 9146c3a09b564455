// How two blocks of the grid share the dQ of a sequence of two blocks of keys.
#pragma once

#include "kernels/backward/gradient.hpp"

namespace jfa::inline JFA_BACKEND {

/// NOTE [partners]: blocks 2 i and 2 i + 1 of the grid are partners. They take the same heads of
/// the same sequences in the same order, a block of keys each. dQ of a tile that both visit is
/// begun by the first, which hands it over through a ring of tiles in global memory, small enough
/// to stay in L2; the second goes on from there and writes it. Each counts the tiles that it has
/// handed over, or taken, for the other to see: the first is up to kHandedTiles ahead. Neither
/// waits for anything but earlier visits of the other, and blocks of the grid that are neighbours
/// start together or find room in the end, since no others wait for them.
inline constexpr int kHandedTiles = 2;
inline constexpr int kCountInts = 32;  // from one block's count to the next: a line of L2

/// Counts of a grid of `blocks`.
inline std::int64_t handed_counts(int blocks) { return std::int64_t{blocks} * kCountInts; }

/// What a thread of the role `queries` knows of its block's partner. `K` is the kernel,
/// BackwardByKeys<...>.
template <class K>
struct Partners {
  using M = typename K::M;

  const typename K::Params& p;
  int count = 0;  // tiles that the block has handed over, or taken
  int known = 0;  // of the partner's count

  static JFA_DEVICE bool first() { return M::block_index() % 2 == 0; }

  /// The tile's place in the ring.
  JFA_DEVICE float* tile() const {
    const int at = M::block_index() / 2 * kHandedTiles + count % kHandedTiles;
    return p.dq_kept + static_cast<std::int64_t>(at) * (K::kQueries * K::C.head_dim);
  }

  /// Waits until the first may write there, or the second read. Called by all threads.
  JFA_DEVICE void wait() {
    const int wanted = first() ? count + 1 - kHandedTiles : count + 1;
    if (known < wanted) known = M::await(p.handed + (M::block_index() ^ 1) * kCountInts, wanted);
  }

  /// Goes on to the next tile; `tell`, on one thread, once all have written or read this one.
  JFA_DEVICE void done(bool tell) {
    ++count;
    if (tell) M::store_release(p.handed + M::block_index() * kCountInts, count);
  }
};

}  // namespace jfa::inline JFA_BACKEND
