// Tensor memory and its MMAs gone wrong.
#include "machine/emulator/emulated_blackwell.hpp"
#include "machine/emulator/zoo/cage.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using emulator::FindingKind;
using B = EmulatedBlackwell;

// One warpgroup with rows of tensor memory, and a warp that issues MMAs on two tiles.
struct TensorCaged : Caged {
  static constexpr int kThreads = 160;
  static constexpr int kDepth = 64;
  using Acc = RowFragment<B, 64>;
  using Left = Tile<B, bf16, 128, kDepth>;
  using Right = Tile<B, bf16, 64, kDepth>;
  struct Pair {
    Left a;
    Right b;
  };
  struct Smem {
    Pair pair;
    Gate<B, "pair", By<Tma>> loaded;
    Gate<B, "product", By<MmaDone>> product;
    Gate<B, "second product", By<MmaDone>> second;
    Gate<B, "stored", By<OncePerWarp<4>>> stored;
    std::uint32_t tmem;
  };
  using Map = TmemMap<B, Columns<"product", float, 64>, Columns<"weights", bf16, kDepth>>;

  static auto init(Smem& smem) {
    return [&smem] {
      smem.loaded.init();
      smem.product.init();
      smem.second.init();
      smem.stored.init();
    };
  }
  static void load(const Params& p, auto& smem) {
    if (B::elect()) {
      smem.loaded.open(smem.pair, [&](Pair& pair, Mbarrier& full) {
        tma_load(full, pair.a.view().rows<64>(0), p.in, {0, 0});
        tma_load(full, pair.a.view().rows<64>(64), p.in, {0, 64});
        tma_load(full, pair.b, p.in, {0, 128});
      });
    }
    auto key = smem.loaded.key();
    smem.loaded.pass(key);
  }
  static auto product(const Map& map) { return map.at<"product">(); }
  static auto rows(const Map& map) { return map.at<"product">().own_rows(); }
  static bool multiplies() { return B::warp_index() == 4; }

  static void multiply(const Params& p, Smem& smem, const Map& map) {
    load(p, smem);
    mma(product(map), smem.pair.a, smem.pair.b, false);
    smem.product.open();
  }
  static void pass_product(Smem& smem) {
    auto key = smem.product.key();
    smem.product.pass(key);
  }
  static void read(const Map& map) {
    Acc acc;
    tmem_load(acc, rows(map));
    tmem_wait(acc);
    acc.apply([](int, int, float& value) { value += 1; });
  }
  // A product that the warpgroup waits for, and what it then does.
  static void after_product(const Params& p, Smem& smem, auto then) {
    with_tmem<Map>(smem.tmem, init(smem), [&](const Map& map) {
      if (multiplies()) return multiply(p, smem, map);
      pass_product(smem);
      then(map);
    });
  }
};

template <bool Bug>
struct NoFenceAfter : TensorCaged {
  static void run(const Params& p, Smem& smem) {
    after_product(p, smem, [](const Map& map) {
      if constexpr (!Bug) B::tensor_fence_after();
      read(map);
    });
  }
};

template <bool Bug>
struct LoadNotAwaited : TensorCaged {
  static void run(const Params& p, Smem& smem) {
    after_product(p, smem, [](const Map& map) {
      B::tensor_fence_after();
      Acc acc;
      tmem_load(acc, rows(map));
      if constexpr (!Bug) tmem_wait(acc);
      acc.apply([](int, int, float& value) { value += 1; });
      if constexpr (Bug) tmem_wait(acc);
    });
  }
};

template <bool Bug>
struct LanesOfAnother : TensorCaged {
  static void run(const Params& p, Smem& smem) {
    after_product(p, smem, [](const Map& map) {
      B::tensor_fence_after();
      auto at = rows(map);
      if constexpr (Bug) at.address = product(map).address;
      Acc acc;
      tmem_load(acc, at);
      tmem_wait(acc);
    });
  }
};

template <bool Bug>
struct NotFreed : TensorCaged {
  static void run(const Params&, Smem& smem) {
    if (B::warp_index() != 0) return;
    B::tensor_allocate(&smem.tmem, 128);
    B::sync_warp();
    if constexpr (!Bug) B::tensor_free(B::load_shared(&smem.tmem), 128);
  }
};

template <bool Bug>
struct UsedAfterFree : TensorCaged {
  static void run(const Params&, Smem& smem) {
    if (B::warp_index() != 0) return;
    B::tensor_allocate(&smem.tmem, 128);
    B::sync_warp();
    const Map map{B::load_shared(&smem.tmem)};
    Acc acc;
    acc.fill(1);
    if constexpr (Bug) B::tensor_free(map.base, 128);
    tmem_store(rows(map), acc);
    B::tensor_wait_stores();
    if constexpr (!Bug) B::tensor_free(map.base, 128);
  }
};

// What orders the address for whoever frees it is its last block of keys; there may be none.
template <bool Bug>
struct AddressNotOrdered : TensorCaged {
  static constexpr int kKeyBlocks = 0;
  static void run(const Params&, Smem& smem) {
    if (B::warp_index() == 0) B::tensor_allocate(&smem.tmem, 128);
    if constexpr (!Bug) B::sync_block();
    if (B::warp_index() != 1) return;
    for (int i = 0; i < kKeyBlocks; ++i) pass_product(smem);
    B::tensor_free(B::load_shared(&smem.tmem), 128);
  }
};

// A product that is loaded, given back and written again.
enum class TooSoon { Nothing, GivesBack, Loads };
template <TooSoon T>
struct TwoProducts : TensorCaged {
  static void run(const Params& p, Smem& smem) {
    with_tmem<Map>(smem.tmem, init(smem), [&](const Map& map) {
      if (multiplies()) return again(p, smem, map);
      auto key = smem.product.key();
      smem.product.pass(key);
      B::tensor_fence_after();
      Acc acc;
      tmem_load(acc, rows(map));
      if constexpr (T != TooSoon::GivesBack) tmem_wait(acc);
      B::tensor_fence_before();
      smem.stored.open();
      if constexpr (T == TooSoon::GivesBack) tmem_wait(acc);
      if constexpr (T != TooSoon::Loads) smem.product.pass(key);
      B::tensor_fence_after();
      read(map);
      if constexpr (T == TooSoon::Loads) smem.product.pass(key);
    });
  }
  static void again(const Params& p, Smem& smem, const Map& map) {
    multiply(p, smem, map);
    auto key = smem.stored.key();
    smem.stored.pass(key);
    B::tensor_fence_after();
    mma(product(map), smem.pair.a, smem.pair.b, true);
    smem.product.open();
  }
};
template <bool Bug>
using ProductGivenBackTooSoon = TwoProducts<Bug ? TooSoon::GivesBack : TooSoon::Nothing>;
template <bool Bug>
using ProductNotAwaited = TwoProducts<Bug ? TooSoon::Loads : TooSoon::Nothing>;

// Threads store the left operand of an MMA in tensor memory: what they may forget.
enum class Forgets { Nothing, Wait, FenceBefore, FenceAfter };
template <Forgets F>
struct StoresWeights : TensorCaged {
  static void run(const Params& p, Smem& smem) {
    with_tmem<Map>(smem.tmem, init(smem), [&](const Map& map) {
      const auto weights = map.at<"weights">();
      if (multiplies()) {
        load(p, smem);
        auto key = smem.stored.key();
        smem.stored.pass(key);
        if constexpr (F != Forgets::FenceAfter) B::tensor_fence_after();
        mma(product(map), weights, smem.pair.b, false);
        smem.product.open();
        return;
      }
      Acc acc;
      acc.fill(1);
      tmem_store(weights.own_rows(), acc);
      if constexpr (F != Forgets::Wait) B::tensor_wait_stores();
      if constexpr (F != Forgets::FenceBefore) B::tensor_fence_before();
      smem.stored.open();
      pass_product(smem);
    });
  }
};
template <bool Bug>
using StoreNotAwaited = StoresWeights<Bug ? Forgets::Wait : Forgets::Nothing>;
template <bool Bug>
using NoFenceBefore = StoresWeights<Bug ? Forgets::FenceBefore : Forgets::Nothing>;
template <bool Bug>
using NoFenceBeforeMma = StoresWeights<Bug ? Forgets::FenceAfter : Forgets::Nothing>;

// Two groups' columns overlap: the second product is written where the first is being read.
template <bool Bug>
struct ColumnsOverlap : TensorCaged {
  using Two = TmemMap<B, Columns<"product", float, 64, 2>>;
  static void run(const Params& p, Smem& smem) {
    with_tmem<Two>(smem.tmem, init(smem), [&](const Two& map) {
      if (multiplies()) {
        load(p, smem);
        mma(map.at<"product">(0), smem.pair.a, smem.pair.b, false);
        smem.product.open();
        auto second = map.at<"product">(1);
        if constexpr (Bug) second.address -= 16;
        mma(second, smem.pair.a, smem.pair.b, false);
        smem.second.open();
        return;
      }
      pass_product(smem);
      B::tensor_fence_after();
      Acc acc;
      tmem_load(acc, map.at<"product">(0).own_rows());
      tmem_wait(acc);
      auto key = smem.second.key();
      smem.second.pass(key);
    });
  }
};

// An operand laid out for wgmma: the descriptor lacks the version that tcgen05 asks for.
template <bool Bug>
struct DescriptorOfHopper : TensorCaged {
  using Machine = std::conditional_t<Bug, M, B>;
  static void run(const Params& p, Smem& smem) {
    with_tmem<Map>(smem.tmem, init(smem), [&](const Map& map) {
      if (!multiplies()) return;
      load(p, smem);
      const typename Tile<Machine, bf16, 64, kDepth>::View right{smem.pair.b.elements};
      mma(product(map), smem.pair.a, right, false);
      smem.product.open();
      pass_product(smem);
    });
  }
};

// Threads write an operand in shared memory; the MMA reads it through the async proxy.
template <bool Bug>
struct TensorOperandNotFenced : TensorCaged {
  static void run(const Params& p, Smem& smem) {
    with_tmem<Map>(smem.tmem, init(smem), [&](const Map& map) {
      if (B::warp_index() < 4) {
        auto key = smem.loaded.key();
        smem.loaded.pass(key);
        const Pack<bf16, 2> ones{};
        smem.pair.a.view().store<2>(B::thread_index(), 0, ones);
        if constexpr (!Bug) B::fence_proxy_async<Space::Shared>();
        smem.stored.open();
        return pass_product(smem);
      }
      load(p, smem);
      auto key = smem.stored.key();
      smem.stored.pass(key);
      mma(product(map), smem.pair.a, smem.pair.b, false);
      smem.product.open();
    });
  }
};

// The block ends, and a commit has still to arrive at a barrier of its.
template <bool Bug>
struct CommitNotAwaited : TensorCaged {
  static void run(const Params& p, Smem& smem) {
    after_product(p, smem, [](const Map&) {});
    if (!multiplies()) return;
    smem.product.open();
    if constexpr (!Bug) {
      auto second = smem.product.key().next();
      smem.product.pass(second);
    }
  }
};

// A pair of blocks, whose products both have in their tensor memory.
struct PairCaged : TensorCaged {
  static constexpr int kClusterSize = 2;
  static constexpr int kBlocks = 2;
  using Map = TmemMap<B, Columns<"product", float, 128, 1, 2>>;
  template <class Taken, class Done = MmaDoneOf<2>>
  struct Smem {
    Pair pair;
    Gate<B, "pair", By<Tma>> loaded;
    Gate<B, "both", By<OncePerWarpOfCluster<2, 1>>> both;
    Gate<B, "product", By<Done>> product;
    Gate<B, "second product", By<Done>> second;
    Gate<B, "taken", By<Taken>> taken;
    std::uint32_t tmem;
  };

  static void meet(auto& smem) {
    auto key = smem.both.key();
    smem.both.open();
    smem.both.pass(key);
  }
  static void pass(auto& gate) {
    auto key = gate.key();
    gate.pass(key);
  }
  static void read(const Map& map) {
    RowFragment<B, 128> acc;
    B::tensor_fence_after();
    tmem_load(acc, map.at<"product">().own_rows());
    tmem_wait(acc);
    B::tensor_fence_before();
  }
  static void in_both(auto& smem, auto multiply, auto use) {
    const auto init = [&] {
      init_each(smem.loaded, smem.both, smem.product, smem.second, smem.taken);
    };
    with_tmem<Map>(smem.tmem, init, [&](const Map& map) {
      if (multiplies()) return multiply(map);
      pass(smem.product);
      use(map);
    });
  }
};

template <bool Bug>
struct PartOfPeerNotAwaited : PairCaged {
  using Smem = PairCaged::Smem<OncePerWarp<4>>;
  static void run(const Params& p, Smem& smem) {
    in_both(
        smem,
        [&](const Map& map) {
          load(p, smem);
          if constexpr (!Bug) meet(smem);
          mma(map.at<"product">(), smem.pair.a, smem.pair.b, false);
          smem.product.open();
        },
        [](const Map& map) { read(map); });
  }
};

template <bool Bug>
struct ProductOfPeerNotTaken : PairCaged {
  using Smem = PairCaged::Smem<std::conditional_t<Bug, OncePerWarp<4>, OncePerWarpOfCluster<2, 4>>>;
  static void run(const Params& p, Smem& smem) {
    in_both(
        smem,
        [&](const Map& map) {
          load(p, smem);
          meet(smem);
          mma(map.at<"product">(), smem.pair.a, smem.pair.b, false);
          smem.product.open();
          pass(smem.taken);
          B::tensor_fence_after();
          mma(map.at<"product">(), smem.pair.a, smem.pair.b, false);
          smem.second.open();
        },
        [&](const Map& map) {
          read(map);
          smem.taken.open();
          pass(smem.second);
        });
  }
};

template <bool Bug>
struct CommitOfOneBlock : PairCaged {
  using Smem = PairCaged::Smem<OncePerWarp<4>, MmaDoneOf<Bug ? 1 : 2>>;
  static void run(const Params& p, Smem& smem) {
    in_both(
        smem,
        [&](const Map& map) {
          load(p, smem);
          meet(smem);
          mma(map.at<"product">(), smem.pair.a, smem.pair.b, false);
          smem.product.open();
        },
        [](const Map& map) { read(map); });
  }
};

}  // namespace
}  // namespace emulated
}  // namespace jfa

namespace jfa::emulator {

std::vector<Specimen> zoo_tensor() {
  const FindingKind tensor = FindingKind::TensorMemory;
  return {
      specimen<AddressNotOrdered>(
          "tensor address not ordered",
          "the address is read before it is written where there are no key blocks (CUTLASS 2835)",
          FindingKind::UnorderedRead),
      specimen<ProductGivenBackTooSoon>(
          "product given back too soon",
          "tensor memory is released before the load of it is waited for (CUTLASS 3652)", tensor),
      specimen<ProductNotAwaited>("product not awaited",
                                  "a product is loaded before its commit has arrived", tensor),
      specimen<NoFenceAfter>("no fence after", "no tcgen05 fence between a wait and a load",
                             tensor),
      specimen<NoFenceBefore>("no fence before", "no tcgen05 fence between a store and its release",
                              tensor),
      specimen<NoFenceBeforeMma>("no fence before MMA",
                                 "no tcgen05 fence between a wait and the MMA that reads", tensor),
      specimen<StoreNotAwaited>("tensor store not awaited",
                                "an operand is released before its store is complete", tensor),
      specimen<LoadNotAwaited>("tensor load not awaited",
                               "registers are used before their load is waited for", tensor),
      specimen<ColumnsOverlap>("columns overlap",
                               "two groups' products share columns of tensor memory", tensor),
      specimen<LanesOfAnother>("lanes of another", "a warp loads lanes that are another warp's",
                               tensor),
      specimen<NotFreed>("tensor memory not freed", "the block exits with columns allocated",
                         tensor),
      specimen<UsedAfterFree>("tensor memory used after free", "columns are stored to once freed",
                              tensor),
      specimen<DescriptorOfHopper>("descriptor of Hopper",
                                   "a matrix descriptor without tcgen05's version",
                                   FindingKind::OutOfBounds),
      specimen<TensorOperandNotFenced>("tensor operand not fenced",
                                       "threads write an MMA's operand without a proxy fence",
                                       FindingKind::ProxyFence),
      specimen<PartOfPeerNotAwaited>("part of a pair not awaited",
                                     "a pair's MMA reads what the other block's copy writes",
                                     FindingKind::UnorderedRead),
      specimen<ProductOfPeerNotTaken>("product of a pair not taken",
                                      "a pair's MMA writes what the other block has yet to load",
                                      tensor),
      specimen<CommitOfOneBlock>("commit of one block",
                                 "a pair's MMAs are committed for one block alone", tensor),
      specimen<CommitNotAwaited>("commit not awaited",
                                 "the block exits before a commit arrives at its barrier",
                                 FindingKind::UnorderedOverwrite),
  };
}

}  // namespace jfa::emulator
