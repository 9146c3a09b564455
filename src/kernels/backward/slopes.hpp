// Where the role `keys` keeps dS^T, and who reads it.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

/// The warpgroup `group` of the role `keys` of kernel K meets.
template <class K>
JFA_DEVICE void meet_keys(int group, Site site = Site::here()) {
  Meetings<typename K::M, typename K::Ids, 128, "first half", "second half">::sync(group, site);
}

/// In shared memory, where the role `queries` reads it as well, and with it K.
template <class K>
struct SharedSlopes {
  using M = typename K::M;
  using Smem = typename K::Smem;

  JFA_DEVICE SharedSlopes(Smem& memory, int of_group) : smem(memory), group(of_group) {}

  Smem& smem;
  const int group;
  typename decltype(Smem::ds_ring)::Cursor to = {};
  typename decltype(Smem::ds_ring)::Cursor from = {};

  JFA_DEVICE auto of(int slot) const {
    return smem.ds[slot].view().template rows<K::kGroupKeys>(64 * group);
  }
  JFA_DEVICE void put(auto& slopes) {
    const int slot = to.slot;
    smem.ds_ring.fill(to, [&](auto&) {
      store_fragment(of(slot), slopes);
      M::template fence_proxy_async<Space::Shared>();  // dS, written by threads, read by MMAs
    });
  }
  /// Issues dK += dS^T Q of what was put last.
  JFA_DEVICE void multiply(auto& dk, const auto& queries, bool adds) {
    meet_keys<K>(group);  // all of the warpgroup's dS is stored
    M::wgmma_fence();     // ptxas wants one before each batch that follows a barrier
    wgmma(dk, of(from.slot), queries, adds);
  }
  /// Nothing is put: the role `queries` does not read the group's part.
  JFA_DEVICE void pass_by() {
    smem.ds_ring.fill(to, [](auto&) {});
    smem.ds_ring.release(from);
  }
  JFA_DEVICE void pin(auto&) const {}
  JFA_DEVICE void wait(auto& dk) { wgmma_wait<0>(dk); }
  /// When that is done: who else reads it has its own MMAs to wait for.
  JFA_DEVICE void release() { smem.ds_ring.release(from); }
  // Until the MMAs of all who read them have read V or K of the block before, whose dV and dK go
  // there ...
  JFA_DEVICE void await_readers_of_v() const {
    if constexpr (K::C.split) smem.ds_ring.wait(from);  // the other warpgroup reads it, too
  }
  JFA_DEVICE void await_readers_of_k() const { await_readers(); }
  // ... or of the block in hand, with nothing in flight.
  JFA_DEVICE void await_readers() const {
    auto free = to;
    smem.ds_ring.drain(free);
  }
};

/// In registers: nobody else reads it. Other warps of the warpgroup read K and V as well, with
/// `split` those of both.
template <class K>
struct OwnSlopes {
  using M = typename K::M;

  JFA_DEVICE OwnSlopes(typename K::Smem&, int of_group) : group(of_group) {}

  const int group;
  Operand<M, typename K::T, K::kQueries> slopes;

  JFA_DEVICE void put(auto& from) { convert(slopes, from); }
  JFA_DEVICE void pass_by() const {}
  JFA_DEVICE void multiply(auto& dk, const auto& queries, bool adds) {
    M::wgmma_fence();  // dS, written by threads, before the MMA uses it
    wgmma(dk, slopes, queries, adds);
  }
  /// P^T is written here, not behind the fence of the MMA that reads it (C7519).
  JFA_DEVICE void pin(auto& probabilities, Site site = Site::here()) const {
    M::settle(probabilities.values, probabilities.state, site);
  }
  JFA_DEVICE void wait(auto& dk) { wgmma_wait<0>(dk, slopes); }
  JFA_DEVICE void release() {}
  JFA_DEVICE void await_readers_of_v() const { await_readers(); }
  JFA_DEVICE void await_readers_of_k() const {}  // they have read it before V
  JFA_DEVICE void await_readers() const {
    if constexpr (K::C.split) {
      Meeting<M, "both", typename K::Ids, 256>::sync();
    } else {
      meet_keys<K>(group);
    }
  }
};

}  // namespace jfa::inline JFA_BACKEND
