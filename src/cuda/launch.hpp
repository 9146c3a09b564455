// Host side of the machine Hopper: tensor maps and kernel launches. Built by nvcc only.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda/driver.hpp"
#include "machine/hopper/hopper.hpp"

namespace jfa {
inline namespace gpu {

using cuda::check_cuda;

inline CUtensorMap encode_tensor_map(const TensorMapSpec& spec) {
  static auto* const encode =
      cuda::driver_function<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  const CUtensorMapDataType type = spec.type == ElementType::Bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                   : spec.type == ElementType::Fp16
                                       ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                       : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  const CUtensorMapSwizzle swizzle = spec.swizzle == Swizzle::B128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : spec.swizzle == Swizzle::B64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : spec.swizzle == Swizzle::B32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                                    : CU_TENSOR_MAP_SWIZZLE_NONE;
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  CUtensorMap map;
  check_cuda(encode(&map, type, static_cast<cuuint32_t>(spec.rank), spec.base, spec.dims,
                    spec.strides, spec.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                    CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
             "tensor map");
  return map;
}

/// Whether two maps differ in their address at most, which comes first.
inline bool alike(const TensorMapSpec& a, const TensorMapSpec& b) {
  static_assert(std::has_unique_object_representations_v<TensorMapSpec>);
  constexpr std::size_t kRest = offsetof(TensorMapSpec, type);
  static_assert(kRest == sizeof(a.base));
  const auto rest = [](const TensorMapSpec& x) {
    return reinterpret_cast<const char*>(&x) + kRest;
  };
  return std::memcmp(rest(a), rest(b), sizeof(TensorMapSpec) - kRest) == 0;
}

/// Maps that differ only in where they begin are encoded once: another address takes a fifth of the
/// time.
inline CUtensorMap Hopper::make_tensor_map(const TensorMapSpec& spec) {
  static auto* const replace =
      cuda::driver_function<decltype(cuTensorMapReplaceAddress)>("cuTensorMapReplaceAddress");
  struct Known {
    TensorMapSpec spec;
    CUtensorMap map;
  };
  static constexpr unsigned kMost = 8;
  thread_local Known known[kMost];
  thread_local unsigned count = 0;  // of maps encoded
  for (unsigned i = 0; i < std::min(count, kMost); ++i) {
    if (!alike(spec, known[i].spec)) continue;
    CUtensorMap map = known[i].map;
    if (replace(&map, spec.base) == CUDA_SUCCESS) return map;
  }
  Known& latest = known[count % kMost];
  latest = {spec, encode_tensor_map(spec)};
  ++count;
  return latest.map;
}

/// A kernel K, as launched on every machine, has
///   K::Params            plain values, global pointers and tensor maps
///   K::Smem              its memory map
///   K::kThreads          threads a block, K::kClusterSize blocks a cluster
///   K::kBlocksPerProcessor  blocks a multiprocessor has at once
///   K::run(params, smem) what each thread does
template <class K>
__global__ void __launch_bounds__(K::kThreads, K::kBlocksPerProcessor)
    kernel_entry(const __grid_constant__ typename K::Params params) {
  extern __shared__ __align__(1024) unsigned char memory[];
  K::run(params, *reinterpret_cast<typename K::Smem*>(memory));
}

/// An entry of kernel K in the current context, where it may have its shared memory.
template <class K, auto Entry>
CUfunction function_of() {
  thread_local std::uint64_t context = 0;
  thread_local cudaFunction_t function = nullptr;
  if (const std::uint64_t now = cuda::context_number(); now == 0 || now != context) {
    check_cuda(cudaFuncSetAttribute(Entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sizeof(typename K::Smem))),
               "shared memory of the kernel");
    check_cuda(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(Entry)), "kernel");
    context = cuda::context_number();  // the calls before give a thread without one the device's
  }
  return function;
}

/// Launches `blocks` blocks of an entry of kernel K on `stream`, which is of the current context.
/// Throws std::runtime_error when CUDA refuses. By the driver, since the runtime looks up every
/// launch's function.
template <class K, auto Entry>
void launch_entry(int blocks, const typename K::Params& params, cudaStream_t stream) {
  constexpr std::size_t kSmemBytes = sizeof(typename K::Smem);
  static_assert(kSmemBytes <= 227 * 1024, "Smem exceeds the 227 KiB of a block");
  static auto* const launch = cuda::driver_function<decltype(cuLaunchKernelEx)>("cuLaunchKernelEx");
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {K::kClusterSize, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(blocks);
  config.blockDimX = K::kThreads;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = kSmemBytes;
  config.hStream = stream;
  config.attrs = &cluster;
  config.numAttrs = K::kClusterSize > 1 ? 1 : 0;  // an attribute takes time
  void* values[] = {const_cast<typename K::Params*>(&params)};
  check_cuda(launch(&config, function_of<K, Entry>(), values, nullptr), "launch");
}

/// Launches `blocks` blocks of kernel K on `stream`. Throws std::runtime_error when CUDA refuses.
template <class K>
void launch(int blocks, const typename K::Params& params, cudaStream_t stream) {
  launch_entry<K, kernel_entry<K>>(blocks, params, stream);
}

}  // namespace gpu
}  // namespace jfa
