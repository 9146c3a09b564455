// Rings, gates and named barriers gone wrong.
#include "machine/emulator/zoo/cage.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using emulator::FindingKind;

template <bool Bug>
struct ElectedArrival : Caged {
  static constexpr int kThreads = 64;
  struct Smem {
    float values[32];
    Gate<M, "values", By<EachThread<1>>> ready;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.ready.init(); });
    if (M::warp_index() == 0) {
      M::store_shared(&smem.values[M::lane()], 1.0F);
      if constexpr (!Bug) M::sync_warp();
      if (M::lane() == 0) smem.ready.open();
    } else {
      auto key = smem.ready.key();
      smem.ready.pass(key);
      M::store_global(p.floats + M::lane(), M::load_shared(&smem.values[M::lane()]));
    }
  }
};

// The ring's slots come from threads, one lane of the reading warp frees them for all.
template <bool Bug>
struct LappedLane : Caged {
  static constexpr int kThreads = 64;
  struct Smem {
    Ring<M, "ring", float, 1, By<EachThread<1>>, FreedBy<EachThread<1>>> ring;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.ring.init(); });
    if (M::warp_index() == 0) {
      auto w = smem.ring.writer();
      for (int i = 0; i < 6 && M::lane() == 0; ++i) {
        smem.ring.fill(w, [&](float& slot) { M::store_shared(&slot, 1.0F); });
      }
      return;
    }
    auto r = smem.ring.reader();
    for (int i = 0; i < 6; ++i) {
      const float& slot = smem.ring.wait(r);
      if (M::lane() == 0) M::store_global(p.floats + i, M::load_shared(&slot));
      if constexpr (!Bug) M::sync_warp();
      if (M::lane() == 0) M::mbarrier_arrive(&smem.ring.empty[r.slot]);
      r.advance();
    }
  }
};

// Three tiles of work, the second of which has no key blocks.
constexpr int kBlocksOfTile[] = {2, 0, 2};

template <bool Bug>
struct EmptyRange : Caged {
  static constexpr int kThreads = 64;
  struct Smem {
    Ring<M, "kv", ZooTile, 2, By<Tma>, FreedBy<OncePerWarp<1>>> kv;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.kv.init(); });
    warp_roles<M>(role<"load", Warps{0, 1}>([&] {
                    if (M::elect()) load(p, smem);
                  }),
                  role<"attend", Warps{1, 1}>([&] { attend(smem); }));
  }
  static void load(const Params& p, Smem& smem) {
    auto w = smem.kv.writer();
    for (const int blocks : kBlocksOfTile) {
      for (int i = 0; i < blocks; ++i) {
        smem.kv.fill(w, [&](ZooTile& tile, Mbarrier& full) { tma_load(full, tile, p.in, {0, 0}); });
      }
    }
  }
  static void attend(Smem& smem) {
    auto r = smem.kv.reader();
    for (const int blocks : kBlocksOfTile) {
      // The first block is peeled off the loop, whether it exists or not.
      for (int i = 0; i < (Bug && blocks == 0 ? 1 : blocks); ++i) {
        smem.kv.wait(r);
        smem.kv.release(r);
      }
    }
  }
};

template <bool Bug>
struct EarlyReturn : Caged {
  static constexpr int kThreads = 96;
  struct Smem {
    Ring<M, "kv", ZooTile, 1, By<Tma>, FreedBy<OncePerWarp<2>>> kv;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.kv.init(); });
    if (M::warp_index() == 0) {
      auto w = smem.kv.writer();
      for (int i = 0; i < 3 && M::lane() == 0; ++i) {
        smem.kv.fill(w, [&](ZooTile& tile, Mbarrier& full) { tma_load(full, tile, p.in, {0, 0}); });
      }
      return;
    }
    auto r = smem.kv.reader();
    for (int i = 0; i < 3; ++i) {
      const bool rows_left = M::warp_index() == 1 || i == 0;
      if (Bug && !rows_left) return;
      ZooTile& tile = smem.kv.wait(r);
      if (rows_left) read_element(tile, M::lane(), 0);
      smem.kv.release(r);
    }
  }
};

template <bool Bug>
struct IdClash : Caged {
  static constexpr int kThreads = 128;
  struct Smem {
    float unused;
  };
  static void run(const Params&, Smem&) {
    if (M::warp_index() < 2) {
      M::named_sync<"first pair">(1, 64);
    } else {
      M::named_sync<"second pair">(Bug ? 1 : 2, 64);
    }
  }
};

template <bool Bug>
struct WrongCount : Caged {
  static constexpr int kThreads = 96;
  struct Smem {
    float unused;
  };
  static void run(const Params&, Smem&) {
    M::named_sync<"all">(1, Bug && M::warp_index() == 2 ? 64 : 96);
  }
};

template <bool Bug>
struct LostTurn : Caged {
  static constexpr int kThreads = 64;
  struct Smem {
    float unused;
  };
  using Ids = BarrierIds<"first", "second">;
  using PingPong = Turn<M, Ids, 32, "first", "second">;
  static void run(const Params&, Smem&) {
    const int party = M::warp_index();
    if (!Bug && party == 1) PingPong::give(0);
    for (int i = 0; i < 3; ++i) {
      PingPong::take(party);
      if (i < 2 || party == 0) PingPong::give(1 - party);
    }
  }
};

template <bool Bug>
struct MissingFullWait : Caged {
  struct Smem {
    Ring<M, "tiles", ZooTile, 2, By<Tma>, FreedBy<OncePerWarp<1>>> tiles;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.tiles.init(); });
    if (M::lane() == 0) {
      auto w = smem.tiles.writer();
      smem.tiles.fill(w, [&](ZooTile& tile, Mbarrier& full) {
        tma_load(full, tile, p.in, {0, 0});
      });
    }
    M::sync_warp();
    auto r = smem.tiles.reader();
    if constexpr (!Bug) smem.tiles.wait(r);
    read_element(smem.tiles.slots[0], M::lane(), 0);
    if constexpr (Bug) smem.tiles.wait(r);
  }
};

template <bool Bug>
struct WrongStage : Caged {
  struct Smem {
    Ring<M, "tiles", ZooTile, 2, By<Tma>, FreedBy<OncePerWarp<1>>> tiles;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.tiles.init(); });
    auto w = smem.tiles.writer();
    for (int i = 0; i < 2 && M::lane() == 0; ++i) {
      smem.tiles.fill(w, [&](ZooTile& tile, Mbarrier& full) {
        tma_load(full, tile, p.in, {0, 0});
      });
    }
    M::sync_warp();
    auto r = smem.tiles.reader();
    for (int i = 0; i < 2; ++i) {
      smem.tiles.wait(r);
      read_element(smem.tiles.slots[Bug ? 1 - r.slot : r.slot], M::lane(), 0);
      smem.tiles.release(r);
    }
  }
};

// A reader that starts one phase too early sees "complete" at once: here while the writer is
// between its store and its arrival.
template <bool Bug>
struct WrongPhase : Caged {
  static constexpr int kThreads = 64;
  struct Smem {
    float value;
    Gate<M, "value", By<EachThread<1>>> ready;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.ready.init(); });
    if (M::thread_index() == 0) {
      M::store_shared(&smem.value, 2.0F);
      M::atomic_add(p.flags, 1);
      while (Bug && M::load_acquire(p.flags) < 2) continue;
      smem.ready.open();
    } else if (M::thread_index() == 32) {
      while (M::load_acquire(p.flags) < 1) continue;
      auto key = smem.ready.key();
      if constexpr (Bug) key = key.previous();
      smem.ready.pass(key);
      M::store_global(p.floats, M::load_shared(&smem.value));
      M::atomic_add(p.flags, 1);
    }
  }
};

// The writer learns from a relaxed counter that the slot was read: enough to act on, not to order.
template <bool Bug>
struct MissingEmptyWait : Caged {
  static constexpr int kThreads = 64;
  struct Smem {
    Ring<M, "values", float[32], 1, By<OncePerWarp<1>>, FreedBy<OncePerWarp<1>>> values;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.values.init(); });
    if (M::warp_index() == 0) {
      write(p, smem);
      return;
    }
    auto r = smem.values.reader();
    for (int i = 0; i < 3; ++i) {
      M::load_shared(&smem.values.wait(r)[M::lane()]);
      M::atomic_add(p.flags, 1);
      smem.values.release(r);
    }
  }
  static void write(const Params& p, Smem& smem) {
    auto w = smem.values.writer();
    for (int i = 0; i < 3; ++i) {
      const auto store = [&](float(&slot)[32]) { M::store_shared(&slot[M::lane()], 1.0F); };
      if constexpr (Bug) {
        while (M::load_acquire(p.flags) < 32 * i) continue;
        store(smem.values.slots[0]);
        OncePerWarp<1>::arrive<M>(smem.values.full[0], Site::here());
      } else {
        smem.values.fill(w, store);
      }
    }
  }
};

template <bool Bug>
struct NoInitFence : Caged {
  struct Smem {
    ZooTile tile;
    Gate<M, "tile", By<Tma>> loaded;
  };
  static void run(const Params& p, Smem& smem) {
    if (M::thread_index() == 0) {
      smem.loaded.init();
      if constexpr (!Bug) M::mbarrier_fence_init();
    }
    M::sync_block();
    if (M::thread_index() == 1) {
      smem.loaded.open(smem.tile, [&](ZooTile& tile, Mbarrier& full) {
        tma_load(full, tile, p.in, {0, 0});
      });
    }
    auto key = smem.loaded.key();
    smem.loaded.pass(key);
  }
};

template <bool Bug>
struct NoInitMeeting : Caged {
  static constexpr int kThreads = 64;
  struct Smem {
    Gate<M, "go", By<EachThread<32>>> go;
  };
  static void run(const Params&, Smem& smem) {
    if (M::thread_index() == 0) {
      smem.go.init();
      M::mbarrier_fence_init();
    }
    if (Bug && M::warp_index() == 0) M::sync_warp();
    if constexpr (!Bug) M::sync_block();
    if (M::warp_index() == 1) {
      smem.go.open();
    } else {
      auto key = smem.go.key();
      smem.go.pass(key);
    }
  }
};

// Each lane arrives where the barrier counts one for the warp.
template <bool Bug>
struct TooManyArrivals : Caged {
  static constexpr int kThreads = 64;
  struct Smem {
    ZooTile tile;
    Mbarrier full;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>(
        [&] { M::mbarrier_init<"tile">(&smem.full, 1, BarrierKind::Full, 0, kTileBytes); });
    if (M::warp_index() == 0) {
      if (M::lane() == 0) {
        M::mbarrier_arrive_expect(&smem.full, kTileBytes);
        if constexpr (Bug) M::mbarrier_arrive(&smem.full);
        tma_load(smem.full, smem.tile, p.in, {0, 0});
      }
      return;
    }
    M::mbarrier_wait<Scope::Block>(&smem.full, M::Phase::first());
  }
};

}  // namespace
}  // namespace emulated
}  // namespace jfa

namespace jfa::emulator {

std::vector<Specimen> zoo_barriers() {
  return {
      specimen<ElectedArrival>("elected arrival",
                               "32 lanes store, an elected lane arrives without a warp sync "
                               "(cudnn-frontend PR 426)",
                               FindingKind::UnorderedRead),
      specimen<LappedLane>("lapped lane",
                           "32 lanes wait, one frees the slot, a late lane is lapped (CUTLASS PR "
                           "3654)",
                           FindingKind::Arrival),
      specimen<EmptyRange>("empty range", "an empty key range is waited for (cudnn-frontend 575)",
                           FindingKind::Deadlock),
      specimen<EarlyReturn>("early return",
                            "one consumer returns early and never frees its slots (vLLM 26026)",
                            FindingKind::Deadlock),
      specimen<IdClash>("id clash", "two meetings share a named barrier (FlashInfer PR 4533)",
                        FindingKind::Arrival),
      specimen<WrongCount>("wrong count", "parties of a named barrier disagree on its threads",
                           FindingKind::Arrival),
      specimen<LostTurn>("lost turn", "nobody gives the first turn of a ping-pong",
                         FindingKind::Deadlock),
      specimen<MissingFullWait>("missing full wait", "a slot is read without waiting for it",
                                FindingKind::UnorderedRead),
      specimen<WrongStage>("wrong stage", "a reader looks into the slot after its own",
                           FindingKind::UnorderedRead),
      specimen<WrongPhase>("wrong phase", "a reader starts with the parity of the phase before",
                           FindingKind::UnorderedRead),
      specimen<MissingEmptyWait>("missing empty wait", "a writer does not wait for a free slot",
                                 FindingKind::UnorderedOverwrite),
      specimen<NoInitFence>("no init fence", "a copy completes on a barrier whose init is unfenced",
                            FindingKind::Uninitialized),
      specimen<NoInitMeeting>("no init meeting", "a barrier is used before its init is visible",
                              FindingKind::Uninitialized),
      specimen<TooManyArrivals>("too many arrivals",
                                "a second arrival where the barrier counts one",
                                FindingKind::Arrival),
  };
}

}  // namespace jfa::emulator
