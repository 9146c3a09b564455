// What warps of a traced kernel did on a GPU, and its forms: Perfetto JSON and a table of waiting.
// Plain C++; the recording machine is in traced_hopper.hpp.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace jfa {

enum class TraceKind : std::uint32_t {
  kRole,         // from entering a role to leaving it
  kBarrier,      // an mbarrier gets its name; no duration
  kBarrierWait,  // `object` is the mbarrier's address
  kMeeting,      // at a named barrier, sync_block (id 0) or the cluster's barrier
  kMmaWait,      // for groups of MMAs
  kStoreWait,    // for stores and reduce-adds
};

/// Written by the GPU. Times are cycles of the multiprocessor's clock.
struct TraceRecord {
  std::int64_t begin;
  std::int64_t end;
  TraceKind kind;
  std::uint32_t object;
  std::int32_t slot;       // of a ring; -1: none
  std::uint32_t is_empty;  // an empty barrier, not a full one
  char name[24];
};

/// A slice of a warp's time, in nanoseconds from the first block's start.
struct TraceSlice {
  int block;
  int warp;
  TraceKind kind;
  std::string role;
  std::string name;
  double begin_ns;
  double end_ns;
};

/// Two readings of both clocks of a block, at its start and its end.
struct TraceClocks {
  std::int64_t start_cycles;
  std::int64_t start_ns;
  std::int64_t end_cycles;
  std::int64_t end_ns;
};

/// One block: its clocks and the records of each warp in order.
struct TracedBlock {
  TraceClocks clocks;
  std::vector<std::vector<TraceRecord>> warps;
};

/// Names barriers and roles and puts all blocks on one time line.
std::vector<TraceSlice> slices_of(const std::vector<TracedBlock>& blocks);

/// Chrome/Perfetto trace events: a process a block, a thread a warp, a slice a role and a wait.
void write_perfetto(const std::vector<TraceSlice>& slices, std::ostream& out);

/// Time spent waiting by role and what was waited for, longest first, as a Markdown table.
void write_waiting(const std::vector<TraceSlice>& slices, std::ostream& out);

}  // namespace jfa
