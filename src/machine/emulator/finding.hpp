// What the emulator finds, and the report a person can act on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/emulator/call_site.hpp"

namespace jfa::emulator {

// The numbers are those of docs/emulator.md.
enum class FindingKind {
  None = 0,
  UnorderedRead = 1,       // read not ordered after its write, or of the wrong phase
  UnorderedOverwrite = 2,  // overwrite of what a reader or an async unit may still read
  ProxyFence = 3,          // generic write, async read, and no proxy fence between
  MmaRegisters = 4,        // accumulator or register operand touched in flight; missing wgmma fence
  BarrierBytes = 5,        // too many, too few, or a phase that completes early
  Deadlock = 6,            // nothing can move
  Arrival = 7,             // arrival overflow, lapped phase, named-barrier count or id clash
  Uninitialized = 8,       // read of what nobody wrote; barrier before its init is visible
  OutOfBounds = 9,         // global access outside its buffer or past the rows of its sequence
  Divergence = 10,         // divergent collective; registers or memory over capacity
  TensorMemory = 11,       // Blackwell's TMEM
  CrossBlock = 12,         // cross-block access unordered or of the wrong scope
};

const char* to_string(FindingKind kind);

// A barrier as a report shows it. Negative numbers are absent.
struct BarrierState {
  std::string name;
  std::int64_t stage = -1;
  std::int64_t phase_wanted = -1;
  std::int64_t phase_held = -1;
  std::int64_t arrivals_missing = -1;
  std::int64_t bytes_missing = 0;
};

// One finding. `who` and `role` name the thread or the copy that ran into it, `other` the earlier
// access or the waiting parties.
struct Finding {
  FindingKind kind = FindingKind::None;
  std::string what;
  CallSite site;
  std::string who;
  std::string role;
  std::string other;
  CallSite other_site;
  BarrierState barrier;
  std::string schedule;
  std::uint64_t seed = 0;
  std::vector<std::string> waiting;
  std::vector<std::string> last_events;

  bool found() const { return kind != FindingKind::None; }
};

std::string report(const Finding& finding);

}  // namespace jfa::emulator
