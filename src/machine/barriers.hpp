// Rings, gates and turns: every way in which one group of threads tells another that it may go on.
#pragma once

#include "machine/types.hpp"

namespace jfa::inline JFA_BACKEND {

/// A value in shared memory, read by all lanes of a warp.
template <class M>
JFA_DEVICE auto known(const auto& x, Site site = Site::here()) {
  return M::uniform(M::load_shared(&x, site), site);
}

// Who arrives at a barrier. The barrier's arrival count follows from it.
/// One thread announces the bytes, the copy unit delivers them.
struct Tma {
  static constexpr int kArrivals = 1;
  static constexpr Scope kScope = Scope::Block;
};

/// Each of `Threads` threads by itself.
template <int Threads>
struct EachThread {
  static constexpr int kArrivals = Threads;
  static constexpr Scope kScope = Scope::Block;
  template <class M>
  static JFA_DEVICE void arrive(Mbarrier& barrier, Site site) {
    M::mbarrier_arrive(&barrier, site);
  }
};

/// Each of `Warps` warps of each of `Blocks` blocks once, when all its lanes have come. An arrival
/// goes to every block of the cluster, since every block's multicast writes to all of them.
template <int Blocks, int Warps>
struct OncePerWarpOfCluster {
  static constexpr int kArrivals = Blocks * Warps;
  static constexpr Scope kScope = Blocks == 1 ? Scope::Block : Scope::Cluster;
  template <class M>
  static JFA_DEVICE void arrive(Mbarrier& barrier, Site site) {
    M::sync_warp(site);
    if (M::lane() >= Blocks) return;
    if constexpr (Blocks == 1) M::mbarrier_arrive(&barrier, site);
    if constexpr (Blocks > 1) M::mbarrier_arrive_remote(&barrier, M::lane(), site);
  }
};
template <int Warps>
using OncePerWarp = OncePerWarpOfCluster<1, Warps>;

/// Bytes that copies deliver into a slot: all, or `Slot::kCopiedBytes` where threads write the
/// rest.
template <class Slot>
inline constexpr std::uint32_t kCopiedBytes = sizeof(Slot);
template <class Slot>
requires requires { Slot::kCopiedBytes; }
inline constexpr std::uint32_t kCopiedBytes<Slot> = Slot::kCopiedBytes;

template <class Who>
using By = Who;
template <class Who>
using FreedBy = Who;

/// `Slots` buffers that go from a writer to readers and back. Each has a full and an empty barrier.
///   writer:  auto w = ring.writer();  loop { ring.fill(w, fn); }   ring.drain(w);
///   reader:  auto r = ring.reader();  loop { auto& slot = ring.wait(r); ...; ring.release(r); }
/// All words are called by every thread that `Filler` or `Freer` counts; with Tma, `fill` and
/// `drain` by one thread.
template <class M, Name N, class Slot, int Slots, class Filler, class Freer>
struct Ring {
  /// A place in the ring and the phase that is waited for there. Copies go their own way.
  struct Cursor {
    int slot = 0;
    typename M::Phase phase = M::Phase::first();

    JFA_DEVICE void advance() {
      if (++slot == Slots) {
        slot = 0;
        phase = phase.next();
      }
    }
  };
  static constexpr bool kByCopy = __is_same(Filler, Tma);
  Slot slots[Slots];
  Mbarrier full[Slots];
  Mbarrier empty[Slots];

  /// Called by one thread, inside init_barriers.
  JFA_DEVICE void init(Site site = Site::here()) {
    constexpr int kBytes = kByCopy ? static_cast<int>(kCopiedBytes<Slot>) : 0;
    JFA_UNROLL
    for (int i = 0; i < Slots; ++i) {
      M::template mbarrier_init<N>(&full[i], Filler::kArrivals, BarrierKind::Full, i, kBytes, site);
      M::template mbarrier_init<N>(&empty[i], Freer::kArrivals, BarrierKind::Empty, i, 0, site);
    }
  }
  JFA_DEVICE Cursor writer() const { return {}; }
  JFA_DEVICE Cursor reader() const { return {}; }

  /// Waits until the slot is free, has `fn` fill it, arrives and advances. With Tma `fn(slot,
  /// full)` issues copies of kCopiedBytes<Slot> bytes that complete on `full`.
  JFA_DEVICE void fill(Cursor& w, auto fn, Site site = Site::here()) {
    M::template mbarrier_wait<Freer::kScope>(&empty[w.slot], w.phase.previous(), site);
    if constexpr (kByCopy) {
      fn(slots[w.slot], full[w.slot]);
      M::mbarrier_arrive_expect(&full[w.slot], kCopiedBytes<Slot>, site);
    } else {
      fn(slots[w.slot]);
      Filler::template arrive<M>(full[w.slot], site);
    }
    w.advance();
  }
  /// Waits until the slot is full. The slot stays the reader's until its release.
  JFA_DEVICE Slot& wait(const Cursor& r, Site site = Site::here()) {
    M::template mbarrier_wait<Filler::kScope>(&full[r.slot], r.phase, site);
    return slots[r.slot];
  }
  /// Gives the slot back and advances.
  JFA_DEVICE void release(Cursor& r, Site site = Site::here()) {
    Freer::template arrive<M>(empty[r.slot], site);
    r.advance();
  }
  /// Waits until readers have released every slot. A block of a cluster must not end before that:
  /// releases of others still arrive at its barriers.
  JFA_DEVICE void drain(Cursor& w, Site site = Site::here()) {
    for (int i = 0; i < Slots; ++i) {
      M::template mbarrier_wait<Freer::kScope>(&empty[w.slot], w.phase.previous(), site);
      w.advance();
    }
  }
};

/// One mbarrier, one direction: those that `Opener` names open it, others pass. Each who passes
/// holds a key. Two gates make a handshake.
template <class M, Name N, class Opener>
struct Gate {
  using Key = typename M::Phase;
  Mbarrier barrier;

  JFA_DEVICE void init(int bytes = 0, Site site = Site::here()) {
    M::template mbarrier_init<N>(&barrier, Opener::kArrivals, BarrierKind::Gate, 0, bytes, site);
  }
  JFA_DEVICE Key key() const { return Key::first(); }
  /// Arrives for the calling thread or warp, as `Opener` says.
  JFA_DEVICE void open(Site site = Site::here()) { Opener::template arrive<M>(barrier, site); }
  /// With Tma: `fn(target, barrier)` issues copies of kCopiedBytes<Target> bytes.
  template <class Target>
  JFA_DEVICE void open(Target& target, auto fn, Site site = Site::here()) {
    fn(target, barrier);
    M::mbarrier_arrive_expect(&barrier, kCopiedBytes<Target>, site);
  }
  /// Waits for the key's phase and turns the key to the next.
  JFA_DEVICE void pass(Key& key, Site site = Site::here()) {
    M::template mbarrier_wait<Opener::kScope>(&barrier, key, site);
    key = key.next();
  }
};

/// Hardware named barriers of a kernel in one list. Id 0 is sync_block's.
template <Name... Names>
struct BarrierIds {
  static_assert(sizeof...(Names) <= 15, "a block has 15 named barriers besides sync_block's");
  static consteval int of(Name name) {
    int id = 0, found = 0;
    ((++id, found = Names == name ? id : found), ...);
    if (found == 0) throw "no barrier of this name in the list";
    return found;
  }
};

/// `Threads` threads meet; memory they wrote before is ordered for all of them after.
template <class M, Name N, class Ids, int Threads>
struct Meeting {
  static_assert(Threads % 32 == 0, "whole warps meet");
  static JFA_DEVICE void sync(Site site = Site::here()) {
    M::template named_sync<N>(Ids::of(N), Threads, site);
  }
};

/// Parties of `Threads` threads each, which meet apart from one another, each at a barrier of its
/// own: `party` is the caller's place in the list.
template <class M, class Ids, int Threads, Name First, Name... Rest>
struct Meetings {
  static JFA_DEVICE void sync(int party, Site site = Site::here()) {
    if constexpr (sizeof...(Rest) == 0) {
      Meeting<M, First, Ids, Threads>::sync(site);
    } else if (party == 0) {
      Meeting<M, First, Ids, Threads>::sync(site);
    } else {
      Meetings<M, Ids, Threads, Rest...>::sync(party - 1, site);
    }
  }
};

/// The turn goes round parties of `Threads` threads each, over a named barrier of each party.
/// Before the first `take`, somebody gives the first party its turn.
template <class M, class Ids, int Threads, Name... Parties>
struct Turn {
  static_assert(Threads % 32 == 0, "whole warps take turns");

  /// Waits until `party`, the caller's own, has been given the turn.
  static JFA_DEVICE void take(int party, Site site = Site::here()) {
    int i = 0;
    ((party == i++ ? M::template named_sync<Parties>(Ids::of(Parties), 2 * Threads, site) : void()),
     ...);
  }
  /// Gives `party`, another one, its turn.
  static JFA_DEVICE void give(int party, Site site = Site::here()) {
    int i = 0;
    ((party == i++ ? M::template named_arrive<Parties>(Ids::of(Parties), 2 * Threads, site)
                   : void()),
     ...);
  }
};

/// Initializes rings, gates and arrays of them, inside init_barriers.
JFA_DEVICE void init_each(auto&... barriers) {
  const auto init = [](auto& x) {
    if constexpr (requires { x.init(); }) {
      x.init();
    } else {
      for (auto& each : x) init_each(each);
    }
  };
  (init(barriers), ...);
}

/// `fn` initializes barriers on one thread; then all threads of the block or cluster may use them.
template <class M, int ClusterSize = 1>
JFA_DEVICE void init_barriers(auto fn, Site site = Site::here()) {
  if (M::thread_index() == 0) {
    fn();
    M::mbarrier_fence_init(site);
  }
  if constexpr (ClusterSize > 1) M::sync_cluster(site);
  if constexpr (ClusterSize == 1) M::sync_block(site);
}

}  // namespace jfa::inline JFA_BACKEND
