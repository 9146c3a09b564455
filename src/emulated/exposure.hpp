// The memory of one call as an emulated device sees it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "emulated/emulated_kernels.hpp"
#include "launch/device_engine.hpp"
#include "machine/emulator/device.hpp"
#include "problem/problem.hpp"

namespace jfa {

/// Collects what a call reads and writes; views of one allocation may interleave.
class Exposure {
 public:
  void add(const std::string& name, const void* data, std::size_t bytes, emulator::BufferUse use);
  void add(const std::string& name, const ConstTensorView& view, emulator::BufferUse use);
  void add(const std::string& name, const ConstLseView& view, emulator::BufferUse use);
  void add(const std::string& name, const IndexView& view);
  /// Offsets, lengths and lists of blocks.
  void add_indices(const Problem& problem);
  /// q, k and v.
  void add_inputs(const Problem& problem);
  /// Of a backward call: results of forward, gradients, and the workspace but for its ticket.
  void add_backward(const BackwardInputs& given, const BackwardOutputs& outputs,
                    const std::byte* workspace, const BackwardParts& parts);

  /// Exposes it all, views that share a stretch of memory as one buffer.
  void expose(emulator::Device& device);

 private:
  struct Stretch {
    std::string name;
    std::uintptr_t begin;
    std::uintptr_t end;
    emulator::BufferUse use;
  };
  std::vector<Stretch> stretches_;
};

}  // namespace jfa
