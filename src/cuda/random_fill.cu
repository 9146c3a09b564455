#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/launch.hpp"
#include "cuda/random_fill.hpp"

namespace jfa::cuda {
namespace {

/// SplitMix64's finalizer.
__device__ std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9;
  x ^= x >> 27;
  x *= 0x94D049BB133111EB;
  return x ^ x >> 31;
}

__device__ void store(__nv_bfloat16* to, float x) { *to = __float2bfloat16(x); }
__device__ void store(__half* to, float x) { *to = __float2half(x); }

template <class T>
__global__ void fill(T* to, std::int64_t count, std::uint64_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const std::uint64_t bits =
        mix(static_cast<std::uint64_t>(i + 1) * 0x9E3779B97F4A7C15 + seed * 0xD1B54A32D192ED03);
    const float u = (static_cast<float>(bits >> 40) + 1) / 16777217.0F;
    const float w = static_cast<float>(bits & 0xFFFFFF) / 16777216.0F;
    store(to + i, sqrtf(-2 * logf(u)) * cospif(2 * w));
  }
}

}  // namespace

void fill_normal(void* to, DType dtype, std::int64_t count, std::uint64_t seed) {
  constexpr int kBlocks = 1320;
  constexpr int kThreads = 256;
  if (dtype == DType::kBf16) {
    fill<<<kBlocks, kThreads>>>(static_cast<__nv_bfloat16*>(to), count, seed);
  } else {
    fill<<<kBlocks, kThreads>>>(static_cast<__half*>(to), count, seed);
  }
  check_cuda(cudaGetLastError(), "random values");
}

}  // namespace jfa::cuda
