// What a run of the emulator is told, and what it tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "machine/emulator/finding.hpp"
#include "machine/emulator/trace.hpp"

namespace jfa::emulator {

enum class Schedule {
  RoundRobin,   // warp after warp, copies in between
  Random,       // any lane, any copy
  Priority,     // PCT: priorities of warps, with a few changes
  CopiesEarly,  // an asynchronous operation acts at its issue
  CopiesLate,   // ... only when no thread can move
  SlowLane,     // one lane moves only when nothing else can
  SlowRole,     // ... one role
};
inline constexpr Schedule kSchedules[] = {
    Schedule::RoundRobin, Schedule::Random,   Schedule::Priority, Schedule::CopiesEarly,
    Schedule::CopiesLate, Schedule::SlowLane, Schedule::SlowRole};
const char* to_string(Schedule schedule);

// What can be done to the synchronization at one call site.
enum class Mutation : std::uint8_t {
  Drop,       // the word does nothing
  Twice,      // an arrival arrives twice
  Weaken,     // narrower scope, wait_read for wait, one group fewer waited for, relaxed for acquire
  MoreBytes,  // 16 bytes more are expected
  LessBytes,  // 16 bytes fewer are expected
};
inline constexpr Mutation kMutations[] = {Mutation::Drop, Mutation::Twice, Mutation::Weaken,
                                          Mutation::MoreBytes, Mutation::LessBytes};
const char* to_string(Mutation mutation);

struct Mutant {
  CallSite site;
  Mutation mutation;
};

struct RunOptions {
  Schedule schedule = Schedule::RoundRobin;
  std::uint64_t seed = 0;
  int resident_blocks = 0;  // blocks on the machine at once; 0: the whole grid
  bool trace = false;       // keep every event, not the last ones only
  std::optional<Mutant> mutant;
};

struct LaunchShape {
  int grid = 1;
  int threads = 128;  // a block; a multiple of 32
  int cluster = 1;    // blocks of a cluster; divides the grid
  std::size_t smem_bytes = 0;
  int registers = 0;  // a thread at entry; 0: the most that the SM's file allows
};

// A word that orders something, where it stands, and the mutations that apply to it.
struct SyncSite {
  CallSite site;
  std::vector<Mutation> mutations;
};

struct RunResult {
  Finding finding;
  std::vector<std::string> pedantic;
  std::vector<SyncSite> sites;
  Trace trace;
  std::uint64_t events = 0;
};

}  // namespace jfa::emulator
