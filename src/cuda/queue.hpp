// Enqueues kernels on a stream. Built by nvcc only.
#pragma once

#include "cuda/launch.hpp"

namespace jfa::cuda {

/// A stream of the current device.
struct Queue {
  static constexpr int kPlannerThreads = 1024;
  static constexpr int kRowBlocks = 16;
  static constexpr int kFewTasks = 264;  // two for each of an H200's multiprocessors
  static constexpr int kLongTokens = 1536;
  static constexpr int kListThreads = 256;

  cudaStream_t stream;
  int processors;

  int blocks() const { return processors; }

  template <class K>
  void launch(int grid, const typename K::Params& params) const {
    jfa::launch<K>(grid, params, stream);
  }
  void zero(int* memory) const {
    check_cuda(cudaMemsetAsync(memory, 0, sizeof(*memory), stream), "workspace");
  }
};

}  // namespace jfa::cuda
