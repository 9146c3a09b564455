// Warps, registers and plain shared memory gone wrong.
#include "machine/emulator/zoo/cage.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using emulator::FindingKind;

template <bool Bug>
struct DivergentShuffle : Caged {
  struct Smem {
    float unused;
  };
  static void run(const Params& p, Smem&) {
    float x = static_cast<float>(M::lane());
    if (!Bug || M::lane() < 16) x += M::shuffle_xor(x, 1);
    x += M::shuffle_xor(x, 2);
    M::store_global(p.floats + M::lane(), x);
  }
};

template <bool Bug>
struct ExitedLanes : Caged {
  struct Smem {
    float unused;
  };
  static void run(const Params& p, Smem&) {
    if (Bug && M::lane() >= 20) return;  // rows past the end
    const bool any = M::any(M::lane() == 3);
    if (M::lane() < 20) M::store_global(p.flags + M::lane(), any ? 1 : 0);
  }
};

template <bool Bug>
struct RegisterBudget : Caged {
  static constexpr int kThreads = 384;
  struct Smem {
    float unused;
  };
  static void run(const Params&, Smem&) {
    if (M::warp_index() < 4) {
      if constexpr (!Bug) M::set_registers<24, false>();
    } else {
      M::set_registers<240, true>();
    }
  }
};

template <bool Bug>
struct UnwrittenShared : Caged {
  struct Smem {
    float values[64];
  };
  static void run(const Params& p, Smem& smem) {
    M::store_shared(&smem.values[M::lane()], 1.0F);
    M::sync_warp();
    M::store_global(p.floats + M::lane(), M::load_shared(&smem.values[Bug ? M::lane() + 1 : 0]));
  }
};

// Warp 0 overwrites what warp 1 has read, as a relaxed counter says: enough to act on, not to
// order.
template <bool Bug>
struct MissingMeeting : Caged {
  static constexpr int kThreads = 64;
  struct Smem {
    float values[32];
  };
  static void run(const Params& p, Smem& smem) {
    if (M::warp_index() == 0) M::store_shared(&smem.values[M::lane()], 1.0F);
    M::sync_block();
    if (M::warp_index() == 1) {
      M::load_shared(&smem.values[M::lane()]);
      M::atomic_add(p.flags, 1);
    }
    if constexpr (!Bug) M::sync_block();
    if (M::warp_index() == 0) {
      while (M::load_acquire(p.flags) < 32) continue;
      M::store_shared(&smem.values[M::lane()], 2.0F);
    }
  }
};

template <bool Bug>
struct SharedPastTheEnd : Caged {
  struct Smem {
    float values[32];
  };
  static void run(const Params&, Smem& smem) {
    M::store_shared(&smem.values[M::lane() + (Bug ? 1 : 0)], 1.0F);
  }
};

// A block of 300 KiB: the launch itself is refused.
template <bool Bug>
struct TooMuchShared : Caged {
  struct Smem {
    ZooTile tiles[Bug ? 38 : 2];
  };
  static void run(const Params&, Smem&) {}
};

}  // namespace
}  // namespace emulated
}  // namespace jfa

namespace jfa::emulator {

std::vector<Specimen> zoo_threads() {
  return {
      specimen<DivergentShuffle>("divergent shuffle", "half of a warp shuffles",
                                 FindingKind::Divergence),
      specimen<ExitedLanes>("exited lanes", "lanes past the last row return before a vote",
                            FindingKind::Divergence),
      specimen<RegisterBudget>("register budget", "nobody gives back the registers others ask for",
                               FindingKind::Divergence),
      specimen<UnwrittenShared>("unwritten shared", "shared memory is read that nobody wrote",
                                FindingKind::Uninitialized),
      specimen<MissingMeeting>("missing meeting", "values are overwritten while others read them",
                               FindingKind::UnorderedOverwrite),
      specimen<SharedPastTheEnd>("shared past the end", "a store leaves the block's memory map",
                                 FindingKind::OutOfBounds),
      specimen<TooMuchShared>("too much shared", "the memory map exceeds the SM",
                              FindingKind::Divergence),
  };
}

}  // namespace jfa::emulator
