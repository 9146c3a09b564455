// Where an engine's tensors lie: in host memory, or in copies on the GPU.
#pragma once

#include <cstddef>
#include <list>

#include "batch/batch.hpp"
#include "cuda/device_memory.hpp"
#include "jfa/attention.hpp"

namespace jfa::tool {

/// Gives the engine of one device memory to read and write. The tensors it is given outlive it, and
/// it outlives the calls on its memory.
class Placement {
 public:
  explicit Placement(Device device) : on_gpu_(device == Device::kCuda) {}

  /// `host` itself for an engine that reads host memory, else a copy of it.
  const void* in(const HostTensor& host);

  /// `host` itself, or memory of its size whose contents fetch() brings.
  void* out(HostTensor& host);

  /// Memory for the engine alone, aligned to 64 bytes.
  void* scratch(std::size_t bytes);

  /// Waits for the engine.
  void wait() const;

  /// Waits, and brings what was written to the tensors given to out().
  void fetch() const;

 private:
  struct Output {
    HostTensor* host;
    const cuda::DeviceMemory* memory;
  };

  bool on_gpu_;
  std::list<cuda::DeviceMemory> device_memory_;
  std::list<HostTensor> host_scratch_;
  std::list<Output> outputs_;
};

}  // namespace jfa::tool
