// The sample kernels in the emulator, against plain loops, under every schedule.
#include <gtest/gtest.h>

#include "emulated_device.hpp"
#include "hundred_inputs.hpp"
#include "kernels/samples/pair_gemm.hpp"
#include "kernels/samples/tmem_gemm.hpp"
#include "machine/emulator/emulated_blackwell.hpp"
#include "sample_checks.hpp"
#include "word_checks.hpp"

namespace jfa {
inline namespace emulated {
namespace {

/// Calls check(device, seed) for each schedule and a few seeds.
template <class Check>
void for_each_schedule(std::uint64_t seeds, Check check) {
  for (const emulator::Schedule schedule : emulator::kSchedules) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      EmulatedDevice device(schedule, seed);
      check(device, seed);
      if (testing::Test::HasFailure()) {
        FAIL() << emulator::to_string(schedule) << ", seed " << seed;
      }
    }
  }
}

Inputs inputs_of(std::uint64_t seed) { return seed % 2 == 0 ? Inputs::Exact : Inputs::Spread; }

TEST(SamplesEmulated, RingCopy) {
  static constexpr RingCopyConfig kConfig = {.tile_rows = 8, .slots = 3};
  for_each_schedule(4, [](EmulatedDevice& device, std::uint64_t seed) {
    check_ring_copy<kConfig>(device, 43, 136, 2, seed);
  });
}

TEST(SamplesEmulated, MulticastCopy) {
  static constexpr MulticastCopyConfig kConfig = {.tile_rows = 16, .slots = 2};
  for_each_schedule(4, [](EmulatedDevice& device, std::uint64_t seed) {
    check_multicast_copy<kConfig>(device, 83, 72, 2, seed);
  });
}

TEST(SamplesEmulated, Softmax) {
  static constexpr SoftmaxConfig kConfig = {.cols = 64};
  for_each_schedule(2, [](EmulatedDevice& device, std::uint64_t seed) {
    check_softmax<kConfig>(device, 200, 1, seed);
  });
}

TEST(SamplesEmulated, Gemm) {
  static constexpr GemmConfig kConfig = {.tile_n = 64, .tile_k = 64, .stages = 2, .band = 2};
  for_each_schedule(2, [](EmulatedDevice& device, std::uint64_t seed) {
    check_gemm<kConfig>(device, 150, 136, 200, 2, inputs_of(seed), seed);
  });
}

TEST(SamplesEmulated, SplitKGemm) {
  static constexpr GemmConfig kConfig = {
      .tile_n = 64, .tile_k = 64, .stages = 2, .splits = 2, .band = 2};
  for_each_schedule(2, [](EmulatedDevice& device, std::uint64_t seed) {
    check_gemm<kConfig>(device, 130, 72, 200, 2, inputs_of(seed), seed);
  });
}

TEST(SamplesEmulated, TmemGemm) {
  using Kernel = TmemGemm<EmulatedBlackwell, GemmConfig{.tile_n = 64, .stages = 2, .band = 2}>;
  for_each_schedule(2, [](EmulatedDevice& device, std::uint64_t seed) {
    check_product<Kernel>(device, 300, 136, 200, 2, inputs_of(seed), seed);
  });
}

TEST(SamplesEmulated, PairGemm) {
  using Kernel = PairGemm<EmulatedBlackwell, GemmConfig{.tile_n = 64, .stages = 2, .band = 2}>;
  for_each_schedule(2, [](EmulatedDevice& device, std::uint64_t seed) {
    check_product<Kernel>(device, 600, 136, 200, 4, inputs_of(seed), seed);
  });
}

TEST(SamplesEmulated, AttentionTile) {
  for_each_schedule(2, [](EmulatedDevice& device, std::uint64_t seed) {
    check_attention_tile<AttentionTileConfig{.keys = 64, .depth = 64}>(device, seed);
  });
}

TEST(SamplesEmulated, HundredInputs) {
  check_hundred_inputs<EmulatedDevice>(
      [](std::uint64_t seed) { return std::tuple(emulator::Schedule::Random, seed); });
}

TEST(WordsEmulated, PingPong) {
  for_each_schedule(4, [](EmulatedDevice& device, std::uint64_t) { check_ping_pong(device); });
}
TEST(WordsEmulated, BulkSwap) {
  for_each_schedule(4, [](EmulatedDevice& device, std::uint64_t) { check_bulk_swap(device); });
}
TEST(WordsEmulated, GenericRing) {
  for_each_schedule(4, [](EmulatedDevice& device, std::uint64_t) { check_generic_ring(device); });
}
TEST(WordsEmulated, Blocks) {
  for_each_schedule(4, [](EmulatedDevice& device, std::uint64_t) { check_blocks(device, 5); });
}
TEST(WordsEmulated, Lanes) {
  for_each_schedule(2, [](EmulatedDevice& device, std::uint64_t) { check_lanes(device); });
}

template <MmaProbeConfig C>
void check_mma_emulated() {
  EmulatedDevice exact(emulator::Schedule::CopiesLate, 1);
  check_mma<C>(exact, Inputs::Exact, 1);
  EmulatedDevice spread(emulator::Schedule::Random, 2);
  check_mma<C>(spread, Inputs::Spread, 2);
}

// Each way to give operands, in each swizzle; several panels in either direction where it allows.
template <bool Half, bool Registers, bool TransposedA, bool TransposedB, int Blocks = 1>
void check_mma_layouts() {
  static constexpr auto kConfig = [](int n, int k, Swizzle swizzle) {
    return MmaProbeConfig{.n = n,
                          .k = k,
                          .swizzle = swizzle,
                          .half = Half,
                          .a_in_registers = Registers,
                          .a_transposed = TransposedA,
                          .b_transposed = TransposedB,
                          .blocks = Blocks};
  };
  check_mma_emulated<kConfig(64, 64, Swizzle::B128)>();
  check_mma_emulated<kConfig(192, 128, Swizzle::B128)>();
  check_mma_emulated<kConfig(96, 64, Swizzle::B64)>();
  check_mma_emulated<kConfig(80, 48, Swizzle::B32)>();
}

TEST(SamplesEmulated, MmaFromTiles) {
  check_mma_layouts<false, false, false, false>();
  check_mma_layouts<true, false, false, false>();
}
TEST(SamplesEmulated, MmaTransposedA) { check_mma_layouts<false, false, true, false>(); }
TEST(SamplesEmulated, MmaTransposedB) { check_mma_layouts<false, false, false, true>(); }
TEST(SamplesEmulated, MmaBothTransposed) { check_mma_layouts<false, false, true, true>(); }
TEST(SamplesEmulated, MmaFromRegisters) { check_mma_layouts<false, true, false, false>(); }
TEST(SamplesEmulated, MmaFromRegistersTransposedB) {
  check_mma_layouts<false, true, false, true>();
  check_mma_layouts<true, true, false, true>();
}

// A block's addresses say which block of the cluster it is; its descriptors must not.
TEST(SamplesEmulated, MmaInTheSecondBlockOfACluster) {
  check_mma_layouts<false, false, false, false, 2>();
  check_mma_layouts<false, false, true, true, 2>();
  check_mma_layouts<false, true, false, true, 2>();
}

TEST(SamplesEmulated, MmaFresh) {
  check_mma_emulated<MmaProbeConfig{.fresh = true}>();
  check_mma_emulated<MmaProbeConfig{.half = true, .a_in_registers = true, .fresh = true}>();
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
