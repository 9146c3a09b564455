// Enqueues kernels on a stream. Built by nvcc only.
#pragma once

#include "cuda/launch.hpp"

namespace jfa::cuda {

/// A stream of the current device.
struct Queue {
  cudaStream_t stream;
  int processors;

  int blocks() const { return processors; }

  template <class K>
  void launch(int grid, const typename K::Params& params) const {
    jfa::launch<K>(grid, params, stream);
  }
  void zero(void* memory, std::size_t bytes) const {
    check_cuda(cudaMemsetAsync(memory, 0, bytes, stream), "workspace");
  }
};

}  // namespace jfa::cuda
