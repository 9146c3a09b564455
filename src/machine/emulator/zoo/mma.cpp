// Matrix multiplications gone wrong.
#include "machine/emulator/zoo/cage.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using emulator::FindingKind;

// A warpgroup, a tile of A and one of B, loaded; the kernels differ in what they do with them.
struct MmaSmem {
  struct Pair {
    ZooTile a, b;
  };
  Pair pair;
  Gate<M, "pair", By<Tma>> loaded;
};

struct MmaCaged : Caged {
  static constexpr int kThreads = 128;
  using Smem = MmaSmem;
  using Acc = Fragment<M, kTileCols>;

  static void load(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.loaded.init(); });
    if (M::thread_index() == 0) {
      smem.loaded.open(smem.pair, [&](MmaSmem::Pair& pair, Mbarrier& full) {
        tma_load(full, pair.a, p.in, {0, 0});
        tma_load(full, pair.b, p.in, {0, 64});
      });
    }
    auto key = smem.loaded.key();
    smem.loaded.pass(key);
  }
  static void multiply(Acc& acc, Smem& smem) {
    M::wgmma_fence();
    wgmma(acc, smem.pair.a, smem.pair.b, false);
    M::wgmma_commit();
  }
};

template <bool Bug>
struct ReleasedTooSoon : Caged {
  static constexpr int kThreads = 160;
  struct Pair {
    ZooTile a, b;
  };
  struct Smem {
    Ring<M, "pairs", Pair, 1, By<Tma>, FreedBy<OncePerWarp<4>>> pairs;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.pairs.init(); });
    warp_roles<M>(role<"load", Warps{4, 1}>([&] {
                    if (M::elect()) load(p, smem);
                  }),
                  role<"multiply", Warps{0, 4}>([&] { multiply(smem); }));
  }
  static void load(const Params& p, Smem& smem) {
    auto w = smem.pairs.writer();
    for (int i = 0; i < 3; ++i) {
      smem.pairs.fill(w, [&](Pair& pair, Mbarrier& full) {
        tma_load(full, pair.a, p.in, {0, 0});
        tma_load(full, pair.b, p.in, {0, 64});
      });
    }
  }
  static void multiply(Smem& smem) {
    auto r = smem.pairs.reader();
    Fragment<M, kTileCols> acc;
    for (int i = 0; i < 3; ++i) {
      Pair& pair = smem.pairs.wait(r);
      M::wgmma_fence();
      wgmma(acc, pair.a, pair.b, i != 0);
      M::wgmma_commit();
      if constexpr (Bug) smem.pairs.release(r);
      wgmma_wait<0>(acc);
      if constexpr (!Bug) smem.pairs.release(r);
    }
  }
};

template <bool Bug>
struct ReadInFlight : MmaCaged {
  static void run(const Params& p, Smem& smem) {
    load(p, smem);
    Acc acc;
    multiply(acc, smem);
    if constexpr (!Bug) wgmma_wait<0>(acc);
    scale_rows(acc, {{2, 2}});
    if constexpr (Bug) wgmma_wait<0>(acc);
  }
};

template <bool Bug>
struct WaitNamesAnother : MmaCaged {
  static void run(const Params& p, Smem& smem) {
    load(p, smem);
    Acc first, second;
    multiply(first, smem);
    multiply(second, smem);
    if constexpr (Bug) {
      wgmma_wait<0>(second);
      scale_rows(first, {{2, 2}});
    } else {
      wgmma_wait<0>(first, second);
      scale_rows(first, {{2, 2}});
    }
    wgmma_wait<0>(first);
  }
};

template <bool Bug>
struct WaitsForTooFew : MmaCaged {
  static void run(const Params& p, Smem& smem) {
    load(p, smem);
    Acc first, second;
    multiply(first, smem);
    multiply(second, smem);
    wgmma_wait<Bug ? 1 : 0>(first, second);
    scale_rows(second, {{2, 2}});
    wgmma_wait<0>(second);
  }
};

template <bool Bug>
struct NoMmaFence : MmaCaged {
  static void run(const Params& p, Smem& smem) {
    load(p, smem);
    Acc acc;
    acc.fill(1);
    if constexpr (!Bug) M::wgmma_fence();
    wgmma(acc, smem.pair.a, smem.pair.b);
    M::wgmma_commit();
    wgmma_wait<0>(acc);
  }
};

template <bool Bug>
struct OperandChanged : MmaCaged {
  static void run(const Params& p, Smem& smem) {
    load(p, smem);
    Acc acc;
    Operand<M, bf16, kTileCols> a;
    load_operand(a, smem.pair.a.view());
    M::wgmma_fence();
    wgmma(acc, a, smem.pair.b, false);
    M::wgmma_commit();
    if constexpr (Bug) load_operand(a, smem.pair.b.view());
    wgmma_wait<0>(acc, a);
  }
};

template <bool Bug>
struct NotCommitted : MmaCaged {
  static void run(const Params& p, Smem& smem) {
    load(p, smem);
    Acc acc;
    M::wgmma_fence();
    wgmma(acc, smem.pair.a, smem.pair.b, false);
    if constexpr (!Bug) M::wgmma_commit();
    wgmma_wait<0>(acc);
    scale_rows(acc, {{2, 2}});
  }
};

template <bool Bug>
struct AccumulatesOnNothing : MmaCaged {
  static void run(const Params& p, Smem& smem) {
    load(p, smem);
    Acc acc;
    M::wgmma_fence();
    wgmma(acc, smem.pair.a, smem.pair.b, Bug);
    M::wgmma_commit();
    wgmma_wait<0>(acc);
  }
};

// Threads write the operand; the MMA reads it through the async proxy.
template <bool Bug>
struct OperandNotFenced : MmaCaged {
  static void run(const Params& p, Smem& smem) {
    load(p, smem);
    M::sync_block();
    write_rows(smem.pair.a, 1.0F);
    if constexpr (!Bug) M::fence_proxy_async<Space::Shared>();
    M::sync_block();
    Acc acc;
    multiply(acc, smem);
    wgmma_wait<0>(acc);
  }
};

// Each warp waits for its own part of the MMA, and overwrites what another's may still read.
template <bool Bug>
struct OperandReused : MmaCaged {
  static void run(const Params& p, Smem& smem) {
    load(p, smem);
    Acc acc;
    multiply(acc, smem);
    wgmma_wait<0>(acc);
    if constexpr (!Bug) M::sync_block();
    write_rows(smem.pair.b, 1.0F);
  }
};

}  // namespace
}  // namespace emulated
}  // namespace jfa

namespace jfa::emulator {

std::vector<Specimen> zoo_mma() {
  return {
      specimen<ReleasedTooSoon>("released too soon",
                                "a slot is freed before the MMA group that reads it is complete",
                                FindingKind::UnorderedOverwrite),
      specimen<ReadInFlight>("read in flight", "an accumulator is scaled before its wait",
                             FindingKind::MmaRegisters),
      specimen<WaitNamesAnother>("wait names another", "a wait does not name the accumulator used",
                                 FindingKind::MmaRegisters),
      specimen<WaitsForTooFew>("waits for too few", "one group fewer is waited for than is used",
                               FindingKind::MmaRegisters),
      specimen<NoMmaFence>("no MMA fence", "registers are written, no warpgroup fence follows",
                           FindingKind::MmaRegisters),
      specimen<OperandChanged>("operand changed", "a register operand is overwritten in flight",
                               FindingKind::MmaRegisters),
      specimen<NotCommitted>("not committed", "a wait covers committed groups only",
                             FindingKind::MmaRegisters),
      specimen<AccumulatesOnNothing>("accumulates on nothing",
                                     "the first MMA adds to registers that nobody wrote",
                                     FindingKind::Uninitialized),
      specimen<OperandNotFenced>("operand not fenced",
                                 "threads write an MMA's operand without a proxy fence",
                                 FindingKind::ProxyFence),
      specimen<OperandReused>("operand reused",
                              "a warp overwrites an operand that other warps' MMAs may still read",
                              FindingKind::UnorderedOverwrite),
  };
}

}  // namespace jfa::emulator
