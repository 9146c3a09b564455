// Runs checks on the GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "cuda/launch.hpp"

namespace jfa {
inline namespace gpu {

class CudaDevice {
 public:
  using M = Hopper;

  /// Whether there is a GPU that runs sm_90a code.
  static bool available() {
    int major = 0;
    return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
           major == 9;
  }

  CudaDevice() = default;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() {
    for (void* buffer : buffers_) cudaFree(buffer);
  }

  template <class T>
  T* poisoned(std::size_t count) {
    return allocate<T>(count, 0xFF);
  }

  template <class T>
  T* scratch(std::size_t count) {
    return poisoned<T>(count);
  }

  template <class T>
  T* zeroed(std::size_t count) {
    return allocate<T>(count, 0);
  }

  template <class T>
  T* upload(const std::vector<T>& values) {
    T* buffer = poisoned<T>(values.size());
    check_cuda(cudaMemcpy(buffer, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
               "upload");
    return buffer;
  }

  template <class T>
  std::vector<T> download(const T* buffer, std::size_t count) {
    std::vector<T> values(count);
    check_cuda(cudaMemcpy(values.data(), buffer, count * sizeof(T), cudaMemcpyDeviceToHost),
               "download");
    return values;
  }

  template <class K>
  void launch(int blocks, const typename K::Params& params) {
    gpu::launch<K>(blocks, params, nullptr);
    check_cuda(cudaDeviceSynchronize(), "kernel");
  }

 private:
  template <class T>
  T* allocate(std::size_t count, int fill) {
    void* buffer = nullptr;
    check_cuda(cudaMalloc(&buffer, count * sizeof(T)), "cudaMalloc");
    buffers_.push_back(buffer);
    check_cuda(cudaMemset(buffer, fill, count * sizeof(T)), "cudaMemset");
    return static_cast<T*>(buffer);
  }

  std::vector<void*> buffers_;
};

/// Tests that are skipped without a GPU.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!CudaDevice::available()) GTEST_SKIP() << "no GPU of compute capability 9.0";
  }
};

}  // namespace gpu
}  // namespace jfa
