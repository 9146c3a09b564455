// The kernels as the emulator runs them.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "launch/backward_kernel.hpp"
#include "launch/forward_kernel.hpp"
#include "machine/emulator/emulated_hopper.hpp"

namespace jfa {

/// Runs what it is given at once.
struct EmulatedQueue {
  static constexpr int kPlannerThreads = 64;  // fewer than on a GPU: each is a fiber
  static constexpr int kRowBlocks = 1;
  static constexpr int kFewTasks = 1;
  static constexpr int kLongTokens = 250;
  static constexpr int kListThreads = 64;
  static constexpr int kBlocks = 2;  // enough to meet

  emulator::Device device;
  emulator::RunOptions options;
  int grid = kBlocks;          ///< of a persistent kernel
  emulator::RunResult result;  ///< of all launches; the trace is that of the longest

  int blocks() const { return grid; }

  /// Throws std::runtime_error with the report of a finding.
  template <class K>
  void launch(int blocks, const typename K::Params& params) {
    add(emulated::launch<K>(device, options, blocks, params));
    if (!result.finding.found()) return;
    throw std::runtime_error("emulator: " + emulator::report(result.finding));
  }
  void add(emulator::RunResult one) {
    one.sites.insert(one.sites.end(), result.sites.begin(), result.sites.end());
    one.pedantic.insert(one.pedantic.end(), result.pedantic.begin(), result.pedantic.end());
    if (one.events < result.events && !one.finding.found()) {
      std::swap(one.trace, result.trace);
      one.events = result.events;
    }
    result = std::move(one);
  }
  void zero(int* memory) const { *memory = 0; }
};

std::span<const ForwardKernel<EmulatedQueue>> emulated_forward_kernels();
std::span<const ForwardKernel<EmulatedQueue>> emulated_blackwell_forward_kernels();
std::span<const BackwardKernel<EmulatedQueue>> emulated_backward_kernels();
std::span<const BackwardKernel<EmulatedQueue>> emulated_blackwell_backward_kernels();

}  // namespace jfa
