// Copies and their fences, byte counts and waits gone wrong.
#include "machine/emulator/zoo/cage.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using emulator::FindingKind;

// A tile that has no work is zeroed, and copied out like the others.
template <bool Bug>
struct FenceSkipped : Caged {
  static constexpr int kThreads = 128;
  struct Smem {
    ZooTile tile;
  };
  static void run(const Params& p, Smem& smem) {
    const bool work = false;
    write_rows(smem.tile, work ? 1.0F : 0.0F);
    if (!Bug || work) M::fence_proxy_async<Space::Shared>();
    M::sync_block();
    if (M::thread_index() == 0) {
      tma_store(p.out, {0, 0}, smem.tile);
      M::bulk_commit();
      wait_stored<M>();
    }
  }
};

template <bool Bug>
struct ClippedBox : Caged {
  struct Smem {
    ZooTile tile;
    Mbarrier full;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>(
        [&] { M::mbarrier_init<"tile">(&smem.full, 1, BarrierKind::Full, 0, kTileBytes); });
    if (M::lane() == 0) {
      const std::uint32_t bytes = Bug ? 40 * kTileCols * sizeof(bf16) : kTileBytes;
      M::mbarrier_arrive_expect(&smem.full, bytes);
      tma_load(smem.full, smem.tile, p.tail, {0, 0});
    }
    M::mbarrier_wait<Scope::Block>(&smem.full, M::Phase::first());
  }
};

template <bool Bug>
struct ForgottenCopy : Caged {
  struct Pair {
    ZooTile k, v;
  };
  struct Smem {
    Ring<M, "kv", Pair, 1, By<Tma>, FreedBy<OncePerWarp<1>>> kv;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.kv.init(); });
    if (M::lane() == 0) {
      auto w = smem.kv.writer();
      smem.kv.fill(w, [&](Pair& pair, Mbarrier& full) {
        tma_load(full, pair.k, p.in, {0, 0});
        if constexpr (!Bug) tma_load(full, pair.v, p.in, {0, 64});
      });
    }
    M::sync_warp();
    auto r = smem.kv.reader();
    smem.kv.wait(r);
  }
};

// Two copies, bytes announced for the first: the phase may end between them.
template <bool Bug>
struct TooFewBytes : Caged {
  struct Smem {
    ZooTile tiles[2];
    Mbarrier full;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>(
        [&] { M::mbarrier_init<"tiles">(&smem.full, 1, BarrierKind::Full, 0, 2 * kTileBytes); });
    if (M::lane() == 0) {
      M::mbarrier_arrive_expect(&smem.full, Bug ? kTileBytes : 2 * kTileBytes);
      tma_load(smem.full, smem.tiles[0], p.in, {0, 0});
      tma_load(smem.full, smem.tiles[1], p.in, {0, 64});
    }
    M::mbarrier_wait<Scope::Block>(&smem.full, M::Phase::first());
  }
};

template <bool Bug>
struct ReusedBeforeRead : Caged {
  static constexpr int kThreads = 128;
  struct Smem {
    ZooTile tile;
  };
  static void run(const Params& p, Smem& smem) {
    for (int i = 0; i < 2; ++i) {
      if (!Bug && M::thread_index() == 0) wait_read<M>();
      M::sync_block();
      write_rows(smem.tile, 1.0F);
      M::fence_proxy_async<Space::Shared>();
      M::sync_block();
      if (M::thread_index() == 0) {
        tma_store(p.out, {0, 64 * i}, smem.tile);
        M::bulk_commit();
      }
    }
    if (M::thread_index() == 0) wait_stored<M>();
  }
};

template <bool Bug>
struct ExitBeforeRead : Caged {
  static constexpr int kThreads = 128;
  struct Smem {
    ZooTile tile;
  };
  static void run(const Params& p, Smem& smem) {
    write_rows(smem.tile, 1.0F);
    M::fence_proxy_async<Space::Shared>();
    M::sync_block();
    if (M::thread_index() == 0) {
      tma_store(p.out, {0, 0}, smem.tile);
      M::bulk_commit();
      if constexpr (!Bug) wait_read<M>();
    }
  }
};

template <bool Bug>
struct NeverCommitted : Caged {
  static constexpr int kThreads = 128;
  struct Smem {
    ZooTile tile;
  };
  static void run(const Params& p, Smem& smem) {
    write_rows(smem.tile, 1.0F);
    M::fence_proxy_async<Space::Shared>();
    M::sync_block();
    if (M::thread_index() == 0) {
      tma_store(p.out, {0, 0}, smem.tile);
      if constexpr (!Bug) M::bulk_commit();
      wait_read<M>();
    }
  }
};

// One warp of four has not written its rows when the copy is issued.
template <bool Bug>
struct StoredTooSoon : Caged {
  static constexpr int kThreads = 128;
  struct Smem {
    ZooTile tile;
  };
  static void run(const Params& p, Smem& smem) {
    write_rows(smem.tile, 1.0F);
    M::fence_proxy_async<Space::Shared>();
    if constexpr (Bug) {
      M::sync_warp();
    } else {
      M::sync_block();
    }
    if (M::thread_index() == 96) {
      tma_store(p.out, {0, 0}, smem.tile);
      M::bulk_commit();
      wait_stored<M>();
    }
  }
};

// The tail of a sequence is 40 rows; a plain map writes all 64.
template <bool Bug>
struct StorePastRows : Caged {
  static constexpr int kThreads = 128;
  struct Smem {
    ZooTile tile;
  };
  static void run(const Params& p, Smem& smem) {
    write_rows(smem.tile, 1.0F);
    M::fence_proxy_async<Space::Shared>();
    M::sync_block();
    if (M::thread_index() == 0) {
      tma_store(p.out, {0, Bug ? 40 : 64}, smem.tile);  // the next sequence's first rows
      tma_store(p.out, {0, 0}, smem.tile);
      M::bulk_commit();
      wait_stored<M>();
    }
  }
};

template <bool Bug>
struct MisalignedTile : Caged {
  struct Smem {
    ZooTile tile;
    Pack<bf16, 8> shift;
    Gate<M, "tile", By<Tma>> loaded;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.loaded.init(); });
    if (M::lane() == 0) {
      M::mbarrier_arrive_expect(&smem.loaded.barrier, kTileBytes);
      auto* to = reinterpret_cast<std::byte*>(&smem.tile) + (Bug ? 16 : 0);
      const int at[] = {0, 0};
      M::tensor_copy<CopyKind::Load, CacheHint::None>(to, p.in, at, &smem.loaded.barrier, 0);
    }
    auto key = smem.loaded.key();
    smem.loaded.pass(key);
  }
};

// Both blocks of a cluster copy into both; one leaves while the other still sends.
template <bool Bug>
struct LeavesCluster : Caged {
  static constexpr int kClusterSize = 2;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kBlocks = 2;
  struct Smem {
    ZooTile tile;
    Gate<M, "tile", By<Tma>> loaded;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M, 2>([&] { smem.loaded.init(); });
    if (M::cluster_rank() == 1 && Bug) return;
    if (M::lane() == 0) {
      smem.loaded.open(smem.tile, [&](ZooTile& tile, Mbarrier& full) {
        if (M::cluster_rank() == 0) {
          tma_load_multicast(full, tile, p.in, {0, 0}, 0b11);
        }
      });
    }
    auto key = smem.loaded.key();
    smem.loaded.pass(key);
  }
};

// Each block of a pair sends its numbers to the other; one leaves before they are there.
template <bool Bug>
struct LeavesWhileSending : Caged {
  static constexpr int kClusterSize = 2;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kBlocks = 2;
  struct Smem {
    alignas(128) float from[32];
    alignas(128) float to[32];
    Gate<M, "sent", By<Tma>> sent;
  };
  static void run(const Params&, Smem& smem) {
    init_barriers<M, 2>([&] { smem.sent.init(); });
    M::store_shared(&smem.from[M::lane()], 1.0F);
    M::fence_proxy_async<Space::Shared>();
    M::sync_warp();
    if (M::lane() == 0) {
      M::mbarrier_arrive_expect(&smem.sent.barrier, sizeof(smem.to));
      M::bulk_send(smem.to, smem.from, sizeof(smem.to), &smem.sent.barrier, 1 - M::cluster_rank());
    }
    auto key = smem.sent.key();
    smem.sent.pass(key);
    if constexpr (!Bug) M::sync_cluster();
  }
};

// Block 1 reads what block 0 sends, and frees its buffer by an arrival of block scope.
template <bool Bug>
struct WrongClusterScope : Caged {
  static constexpr int kClusterSize = 2;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kBlocks = 2;
  struct Smem {
    alignas(128) float from[32];
    alignas(128) float to[32];
    Mbarrier full, empty;
  };
  static void run(const Params&, Smem& smem) {
    init_barriers<M, 2>([&] {
      M::mbarrier_init<"sent">(&smem.full, 1, BarrierKind::Full, 0, sizeof(smem.to));
      M::mbarrier_init<"sent">(&smem.empty, 1, BarrierKind::Empty, 0, 0);
    });
    for (M::Phase phase = M::Phase::first(); phase.number < 2; phase = phase.next()) {
      if (M::cluster_rank() == 0) {
        send(smem, phase);
      } else {
        receive(smem, phase);
      }
    }
    M::sync_cluster();
  }
  static void send(Smem& smem, M::Phase phase) {
    M::mbarrier_wait<Scope::Cluster>(&smem.empty, phase.previous());
    if (phase.number == 0) M::store_shared(&smem.from[M::lane()], 1.0F);
    M::fence_proxy_async<Space::Shared>();
    M::sync_warp();
    if (M::lane() == 0) M::bulk_send(smem.to, smem.from, sizeof(smem.to), &smem.full, 1);
  }
  static void receive(Smem& smem, M::Phase phase) {
    if (M::lane() == 0) M::mbarrier_arrive_expect(&smem.full, sizeof(smem.to));
    M::mbarrier_wait<Scope::Cluster>(&smem.full, phase);
    M::load_shared(&smem.to[M::lane()]);
    M::sync_warp();
    if (M::lane() == 0) {
      emulator::mbarrier_arrive_remote(&smem.empty, 0,
                                       scope_kind(Bug ? Scope::Block : Scope::Cluster),
                                       call_site(Site::here(), "mbarrier_arrive_remote"));
    }
  }
};

}  // namespace
}  // namespace emulated
}  // namespace jfa

namespace jfa::emulator {

std::vector<Specimen> zoo_copies() {
  return {
      specimen<FenceSkipped>("fence skipped", "no proxy fence when there is no work (FlashKDA 24)",
                             FindingKind::ProxyFence),
      specimen<ClippedBox>("clipped box", "bytes of the valid rows only are expected",
                           FindingKind::BarrierBytes),
      specimen<ForgottenCopy>("forgotten copy", "bytes are expected that nobody copies",
                              FindingKind::BarrierBytes),
      specimen<TooFewBytes>("too few bytes", "a phase completes before its last copy",
                            FindingKind::BarrierBytes),
      specimen<ReusedBeforeRead>("reused before read",
                                 "shared memory is overwritten before a store has read it",
                                 FindingKind::UnorderedOverwrite),
      specimen<ExitBeforeRead>("exit before read", "the block exits while a store reads its memory",
                               FindingKind::UnorderedOverwrite),
      specimen<NeverCommitted>("never committed", "a wait for a group that was never closed",
                               FindingKind::UnorderedOverwrite),
      specimen<StoredTooSoon>("stored too soon", "a copy is issued before all warps have written",
                              FindingKind::UnorderedRead),
      specimen<StorePastRows>("store past rows", "a tail tile overwrites the next sequence",
                              FindingKind::OutOfBounds),
      specimen<MisalignedTile>("misaligned tile", "a copy's tile is not aligned",
                               FindingKind::OutOfBounds),
      specimen<LeavesCluster>("leaves cluster",
                              "a block exits before the other's multicast arrives",
                              FindingKind::CrossBlock),
      specimen<LeavesWhileSending>("leaves while sending",
                                   "a block exits before the other has received its memory",
                                   FindingKind::UnorderedOverwrite),
      specimen<WrongClusterScope>("wrong cluster scope",
                                  "an arrival at another block has block scope (CUTLASS 3647)",
                                  FindingKind::UnorderedOverwrite),
  };
}

}  // namespace jfa::emulator
