// Host side of the machine Hopper: tensor maps and kernel launches. Built by nvcc only.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>

#include "machine/hopper/hopper.hpp"

namespace jfa {
inline namespace gpu {

/// Throws std::runtime_error naming `what` unless `result` is success.
inline void check_cuda(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}

/// A function of the driver, which is not linked to.
template <class Function>
Function* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found),
             name);
  return reinterpret_cast<Function*>(function);
}

inline CUtensorMap encode_tensor_map(const TensorMapSpec& spec) {
  static auto* const encode =
      driver_function<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
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
  const CUresult result =
      encode(&map, type, static_cast<cuuint32_t>(spec.rank), spec.base, spec.dims, spec.strides,
             spec.box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw std::runtime_error("the driver refuses a tensor map (CUresult " +
                             std::to_string(static_cast<int>(result)) + ")");
  }
  return map;
}

/// Maps that differ only in where they begin are encoded once: another address takes a fifth of the
/// time.
inline CUtensorMap Hopper::make_tensor_map(const TensorMapSpec& spec) {
  static auto* const replace =
      driver_function<decltype(cuTensorMapReplaceAddress)>("cuTensorMapReplaceAddress");
  struct Known {
    TensorMapSpec spec;
    CUtensorMap map;
  };
  static constexpr unsigned kMost = 8;
  thread_local Known known[kMost];
  thread_local unsigned count = 0;  // of maps encoded
  for (unsigned i = 0; i < std::min(count, kMost); ++i) {
    TensorMapSpec there = spec;
    there.base = known[i].spec.base;
    if (there != known[i].spec) continue;
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

inline int current_device() {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "current device");
  return device;
}

/// Lets an entry of kernel K have its shared memory, once a device.
template <class K, auto Entry>
void allow_shared_memory(int device) {
  constexpr int kMaxDevices = 64;
  static std::atomic<bool> allowed[kMaxDevices];
  const bool counted = device < kMaxDevices;
  if (counted && allowed[device].load(std::memory_order_acquire)) return;
  check_cuda(cudaFuncSetAttribute(Entry, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(sizeof(typename K::Smem))),
             "shared memory of the kernel");
  if (counted) allowed[device].store(true, std::memory_order_release);
}

/// Launches `blocks` blocks of an entry of kernel K on `stream`, of `device`, the current one.
/// Throws std::runtime_error when CUDA refuses.
template <class K, auto Entry>
void launch_entry(int blocks, const typename K::Params& params, cudaStream_t stream, int device) {
  constexpr std::size_t kSmemBytes = sizeof(typename K::Smem);
  static_assert(kSmemBytes <= 227 * 1024, "Smem exceeds the 227 KiB of a block");
  allow_shared_memory<K, Entry>(device);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {K::kClusterSize, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(K::kThreads);
  config.dynamicSmemBytes = kSmemBytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = K::kClusterSize > 1 ? 1 : 0;  // an attribute takes time
  check_cuda(cudaLaunchKernelEx(&config, Entry, params), "launch");
}

/// Launches `blocks` blocks of kernel K on `stream`. Throws std::runtime_error when CUDA refuses.
template <class K>
void launch(int blocks, const typename K::Params& params, cudaStream_t stream,
            int device = current_device()) {
  launch_entry<K, kernel_entry<K>>(blocks, params, stream, device);
}

}  // namespace gpu
}  // namespace jfa
