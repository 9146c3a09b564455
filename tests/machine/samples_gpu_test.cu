// The sample kernels on a GPU, against plain loops, on random shapes and inputs. Skipped without
// one.
#include <gtest/gtest.h>

#include "cuda_device.hpp"
#include "hundred_inputs.hpp"
#include "sample_checks.hpp"
#include "word_checks.hpp"

namespace jfa {
inline namespace gpu {
namespace {

constexpr std::uint64_t kSeeds = 100;

using SamplesOnGpu = OnGpu;

Inputs inputs_of(std::uint64_t seed) { return seed % 2 == 0 ? Inputs::Exact : Inputs::Spread; }

TEST_F(SamplesOnGpu, RingCopy) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CudaDevice device;
    std::mt19937_64 shape(seed);
    ASSERT_NO_FATAL_FAILURE(check_ring_copy<RingCopyConfig{}>(device, random_between(1, 700, shape),
                                                              8 * random_between(1, 60, shape),
                                                              random_between(1, 20, shape), seed));
  }
}

TEST_F(SamplesOnGpu, MulticastCopy) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CudaDevice device;
    std::mt19937_64 shape(seed);
    ASSERT_NO_FATAL_FAILURE(check_multicast_copy<MulticastCopyConfig{}>(
        device, random_between(1, 700, shape), 8 * random_between(1, 60, shape),
        random_between(1, 20, shape), seed));
  }
}

TEST_F(SamplesOnGpu, Softmax) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CudaDevice device;
    std::mt19937_64 shape(seed);
    ASSERT_NO_FATAL_FAILURE(check_softmax<SoftmaxConfig{}>(device, random_between(1, 1000, shape),
                                                           random_between(1, 8, shape), seed));
  }
}

template <GemmConfig C>
void check_gemm_seeds() {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CudaDevice device;
    std::mt19937_64 shape(seed);
    ASSERT_NO_FATAL_FAILURE(check_gemm<C>(
        device, random_between(1, 400, shape), 8 * random_between(1, 50, shape),
        8 * random_between(1, 80, shape), random_between(1, 8, shape), inputs_of(seed), seed));
  }
}

TEST_F(SamplesOnGpu, Gemm) { check_gemm_seeds<GemmConfig{.tile_n = 128, .stages = 4}>(); }
TEST_F(SamplesOnGpu, WideGemm) { check_gemm_seeds<GemmConfig{}>(); }
TEST_F(SamplesOnGpu, SplitKGemm) { check_gemm_seeds<GemmConfig{.tile_n = 128, .splits = 4}>(); }

TEST_F(SamplesOnGpu, AttentionTile) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CudaDevice device;
    ASSERT_NO_FATAL_FAILURE(check_attention_tile<AttentionTileConfig{}>(device, seed));
  }
}

TEST_F(SamplesOnGpu, HundredInputs) {
  check_hundred_inputs<CudaDevice>([](std::uint64_t) { return std::tuple<>(); });
}

TEST_F(SamplesOnGpu, Words) {
  for (int i = 0; i < 10; ++i) {
    CudaDevice device;
    check_ping_pong(device);
    check_bulk_swap(device);
    check_generic_ring(device);
    check_blocks(device, 1 + 10 * i);
    check_lanes(device);
  }
}

template <MmaProbeConfig C>
void check_mma_seeds() {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CudaDevice device;
    ASSERT_NO_FATAL_FAILURE(check_mma<C>(device, inputs_of(seed), seed))
        << "n " << C.n << ", k " << C.k << ", swizzle " << static_cast<int>(C.swizzle);
  }
}

template <MmaProbeConfig C>
constexpr MmaProbeConfig with(int n, int k, Swizzle swizzle) {
  MmaProbeConfig config = C;
  config.n = n;
  config.k = k;
  config.swizzle = swizzle;
  return config;
}

// Each way to give operands, in each swizzle; several panels in either direction where it allows.
template <MmaProbeConfig C>
void check_mma_layouts() {
  check_mma_seeds<with<C>(64, 64, Swizzle::B128)>();
  check_mma_seeds<with<C>(192, 128, Swizzle::B128)>();
  check_mma_seeds<with<C>(96, 64, Swizzle::B64)>();
  check_mma_seeds<with<C>(80, 48, Swizzle::B32)>();
}

TEST_F(SamplesOnGpu, MmaFromTiles) { check_mma_layouts<MmaProbeConfig{}>(); }
TEST_F(SamplesOnGpu, MmaFromTilesFp16) { check_mma_layouts<MmaProbeConfig{.half = true}>(); }
TEST_F(SamplesOnGpu, MmaTransposedA) { check_mma_layouts<MmaProbeConfig{.a_transposed = true}>(); }
TEST_F(SamplesOnGpu, MmaTransposedB) { check_mma_layouts<MmaProbeConfig{.b_transposed = true}>(); }
TEST_F(SamplesOnGpu, MmaBothTransposed) {
  check_mma_layouts<MmaProbeConfig{.a_transposed = true, .b_transposed = true}>();
}
TEST_F(SamplesOnGpu, MmaFromRegisters) {
  check_mma_layouts<MmaProbeConfig{.a_in_registers = true}>();
}
TEST_F(SamplesOnGpu, MmaFromRegistersTransposedB) {
  check_mma_layouts<MmaProbeConfig{.a_in_registers = true, .b_transposed = true}>();
}
TEST_F(SamplesOnGpu, MmaInTheSecondBlockOfACluster) {
  check_mma_layouts<MmaProbeConfig{.blocks = 2}>();
  check_mma_layouts<MmaProbeConfig{.a_transposed = true, .b_transposed = true, .blocks = 2}>();
  check_mma_layouts<MmaProbeConfig{.a_in_registers = true, .b_transposed = true, .blocks = 2}>();
}
TEST_F(SamplesOnGpu, MmaFresh) { check_mma_layouts<MmaProbeConfig{.fresh = true}>(); }
TEST_F(SamplesOnGpu, MmaFreshFromRegistersFp16) {
  check_mma_layouts<MmaProbeConfig{.half = true, .a_in_registers = true, .fresh = true}>();
}

template <int... Index>
void check_every_width(std::integer_sequence<int, Index...>) {
  (check_mma_seeds<MmaProbeConfig{.n = 8 * (Index + 1)}>(), ...);
  (check_mma_seeds<MmaProbeConfig{.n = 8 * (Index + 1), .a_in_registers = true}>(), ...);
}

TEST_F(SamplesOnGpu, MmaEveryWidth) { check_every_width(std::make_integer_sequence<int, 32>{}); }

}  // namespace
}  // namespace gpu
}  // namespace jfa
