// Tensor memory of a block, and the tcgen05 MMAs on their way to it.
// https://docs.nvidia.com/cuda/parallel-thread-execution/#tensor-memory
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "machine/emulator/barrier.hpp"
#include "machine/emulator/mma.hpp"
#include "machine/emulator/shadow.hpp"

namespace jfa::emulator {

struct Block;

inline constexpr int kTensorLanes = 128;
inline constexpr int kTensorColumns = 512;

// An address: a lane and a column of 32 bits.
struct TensorAddress {
  int lane;
  int column;

  static TensorAddress of(std::uint32_t bits) {
    return {static_cast<int>(bits >> 16), static_cast<int>(bits & 0xffff)};
  }
};

struct TensorMemory {
  TensorMemory(ReaderTable& readers, int of_blocks);

  std::uint32_t* cell(int lane, int column) {
    return cells.data() + static_cast<std::size_t>(lane) * kTensorColumns + column;
  }
  // Whether columns first .. first + count - 1 are allocated.
  bool holds(int first, int count) const;
  // The first column of `count` free ones at a multiple of their number, or -1.
  int find_free(int count) const;

  std::vector<std::uint32_t> cells;  // [lane][column]
  Shadow shadow;
  std::map<int, int> allocations;   // columns by first column
  int last_count = kTensorColumns;  // of the last allocation
  int blocks;                       // that share its MMAs: 1, or 2 of a pair
  bool relinquished = false;
};

// One tcgen05.mma m{128 blocks} n{columns} k16.
struct TensorInstruction {
  int blocks = 1;
  MmaType type = MmaType::Bf16;
  int columns = 0;
  bool accumulate = true;
  std::uint32_t d = 0;
  bool a_in_tensor_memory = false;
  std::uint32_t a_address = 0;
  OperandLayout a;  // of shared memory
  OperandLayout b;
};

// MMAs and the barrier at which a commit arrives when they, and all before, are complete.
struct TensorCommit {
  std::vector<TensorInstruction> instructions;
  Epoch epoch;
  Epoch arrival;           // writes the barrier: somebody must wait for it before the block exits
  Block* block = nullptr;  // where it arrives
  Mbarrier* barrier = nullptr;
  std::int64_t phase = 0;
  ClockRef causal;  // what had happened at its issue
  ClockRef async;   // what its MMAs come after, in shared memory
  ClockRef tensor;  // ... and in tensor memory
  SiteId site = kNoSite;
};

// What a warp has issued. NOTE [MMA order]: MMAs of one thread execute in the order of their issue.
// PTX promises that for MMAs of one shape and accumulator; kernels in use rely on it for all.
struct TensorPipe {
  std::vector<TensorInstruction> open;  // not committed
  ClockRef async, tensor;               // what the last MMA comes after
  std::deque<TensorCommit> commits;     // in flight, the first is next
};

// Decodes the instruction descriptor; empty, or what is wrong with it.
// https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-instruction-descriptor
std::string decode_instruction(std::uint32_t descriptor, TensorInstruction& into);

// On the memories of a block, or of both of a pair.
struct TensorBlock {
  const std::byte* smem;
  TensorMemory* tensor;
};
void execute(const std::vector<TensorInstruction>& steps, std::span<const TensorBlock> blocks);

}  // namespace jfa::emulator
