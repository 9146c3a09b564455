// Blocks that share global memory, gone wrong.
#include "machine/emulator/zoo/cage.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using emulator::FindingKind;

// Block 0 stores a tile and raises a flag; block 1 reads it. The flag must follow the completion
// of the store, not only its reading of shared memory.
template <bool Bug>
struct FlagTooSoon : Caged {
  static constexpr int kThreads = 128;
  static constexpr int kBlocks = 2;
  struct Smem {
    Tile<M, float, 64, 32> tile;
  };
  static void run(const Params& p, Smem& smem) {
    if (M::thread_index() >= 64) return;
    if (M::block_index() == 0) {
      for (int col = 0; col < 32; ++col) smem.tile.view().store(M::thread_index(), col, {{1.0F}});
      M::fence_proxy_async<Space::Shared>();
      M::named_sync<"written">(1, 64);
      if (M::thread_index() != 0) return;
      tma_store(p.sums, {0, 0}, smem.tile);
      M::bulk_commit();
      if constexpr (Bug) {
        wait_read<M>();
      } else {
        wait_stored<M>();
      }
      M::store_release(p.flags, 1);
    } else if (M::thread_index() == 0) {
      while (M::load_acquire(p.flags) == 0) continue;
      M::load_global(p.floats);
    }
  }
};

// Partial sums in order of blocks: the last block first, with room for one block on the machine.
template <bool Bug>
struct AbsentBlock : Caged {
  static constexpr int kBlocks = 3;
  static constexpr int kResident = 1;
  struct Smem {
    float unused;
  };
  static void run(const Params& p, Smem&) {
    if (M::lane() != 0) return;
    const int turn = Bug ? kBlocks - 1 - M::block_index() : M::block_index();
    while (M::load_acquire(p.flags) != turn) continue;
    M::store_global(p.floats, M::load_global(p.floats) + 1);
    M::store_release(p.flags, turn + 1);
  }
};

template <bool Bug>
struct PlainFlag : Caged {
  static constexpr int kBlocks = 2;
  struct Smem {
    float unused;
  };
  static void run(const Params& p, Smem&) {
    if (M::lane() != 0) return;
    if (M::block_index() == 0) {
      M::store_global(p.floats, 1.0F);
      if constexpr (Bug) {
        M::atomic_add(p.flags, 1);  // relaxed, and no fence before it
      } else {
        M::reduce_add_release(p.flags, 1);
      }
    } else {
      while (M::load_acquire(p.flags) == 0) continue;
      M::load_global(p.floats);
    }
  }
};

// The last block to count adds up what all have written.
template <bool Bug>
struct LastBlock : Caged {
  static constexpr int kBlocks = 3;
  struct Smem {
    float unused;
  };
  static void run(const Params& p, Smem&) {
    if (M::lane() != 0) return;
    M::store_global(p.floats + M::block_index(), 1.0F);
    M::fence_gpu();
    const int before = M::atomic_add(p.flags, 1);
    if (before != kBlocks - 1) return;
    if constexpr (!Bug) M::fence_gpu();
    float sum = 0;
    for (int i = 0; i < kBlocks; ++i) sum += M::load_global(p.floats + i);
    M::store_global(p.floats + 8, sum);
  }
};

template <bool Bug>
struct SameRows : Caged {
  static constexpr int kBlocks = 2;
  struct Smem {
    float unused;
  };
  static void run(const Params& p, Smem&) {
    const int row = Bug ? 0 : M::block_index();
    M::store_global(p.floats + 32 * row + M::lane(), 1.0F);
  }
};

// Block 1 zeroes what block 0 adds to.
template <bool Bug>
struct StoreAndReduce : Caged {
  static constexpr int kBlocks = 2;
  struct Smem {
    alignas(128) float tile[64];
  };
  static void run(const Params& p, Smem& smem) {
    if (M::block_index() == 1) {
      if (M::lane() == 0) M::store_global(p.floats + (Bug ? 0 : 64), 0.0F);
      return;
    }
    M::store_shared(&smem.tile[M::lane()], 1.0F);
    M::store_shared(&smem.tile[M::lane() + 32], 1.0F);
    M::fence_proxy_async<Space::Shared>();
    M::sync_warp();
    if (M::lane() == 0) {
      M::bulk_reduce_add(p.floats, smem.tile, sizeof(smem.tile));
      M::bulk_commit();
      wait_stored<M>();
    }
  }
};

template <bool Bug>
struct GlobalPastTheEnd : Caged {
  struct Smem {
    float unused;
  };
  static void run(const Params& p, Smem&) {
    // One row past the last: the row index is not clamped.
    const int row = kTiles * kTileRows - (Bug ? 0 : 1);
    M::load_global(p.values + row * kTileCols + M::lane());
  }
};

template <bool Bug>
struct WritesInput : Caged {
  struct Smem {
    float unused;
  };
  static void run(const Params& p, Smem&) {
    bf16* to = Bug ? const_cast<bf16*>(p.values) : p.stored;
    M::store_global(to + M::lane(), bf16{0});
  }
};

}  // namespace
}  // namespace emulated
}  // namespace jfa

namespace jfa::emulator {

std::vector<Specimen> zoo_global() {
  return {
      specimen<FlagTooSoon>("flag too soon",
                            "a semaphore follows wait_read where completion is needed "
                            "(flash-attention 2244)",
                            FindingKind::CrossBlock),
      specimen<AbsentBlock>("absent block",
                            "a fixed order waits for a block that cannot start (FBGEMM PR 4982)",
                            FindingKind::Deadlock),
      specimen<PlainFlag>("plain flag", "a flag is raised without release",
                          FindingKind::CrossBlock),
      specimen<LastBlock>("last block", "the last block reads without a fence after its count",
                          FindingKind::CrossBlock),
      specimen<SameRows>("same rows", "two blocks write the same rows", FindingKind::CrossBlock),
      specimen<StoreAndReduce>("store and reduce", "a plain store meets a reduce-add",
                               FindingKind::CrossBlock),
      specimen<GlobalPastTheEnd>("global past the end", "a row index is not clamped",
                                 FindingKind::OutOfBounds),
      specimen<WritesInput>("writes input", "a store goes to an input", FindingKind::OutOfBounds),
  };
}

}  // namespace jfa::emulator
