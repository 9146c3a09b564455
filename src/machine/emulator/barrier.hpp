// Models of the machine's barriers. They hold state only; who waits, and what a wrong use is
// reported as, is the primitives' business.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "machine/emulator/clock.hpp"
#include "machine/emulator/trace.hpp"

namespace jfa::emulator {

struct Lane;

// Who has arrived in the phase in progress and in the one before. NOTE [arrival order]: an arrival
// that is not ordered after the end of the phase before may, on other schedules, count in it.
struct Arrivals {
  ClockRef now;
  ClockRef before;

  void add(const Epoch& epoch) { raise(now, epoch); }
  void finish_phase() { before = std::exchange(now, nullptr); }
};

// What an acquire gains: what is ordered before, in each proxy and for tcgen05 instructions; and
// what must have happened before, which orders no memory (a copy ends after its issue, a value is
// seen after it was written).
struct Knowledge {
  ClockRef generic;
  ClockRef async;
  ClockRef tensor;
  ClockRef causal;
};
inline void join(Knowledge& knowledge, const Knowledge& other) {
  join(knowledge.generic, other.generic);
  join(knowledge.async, other.async);
  join(knowledge.tensor, other.tensor);
  join(knowledge.causal, other.causal);
}

struct Mbarrier {
  // A finished phase, as its waiters see it. Arrivals from other blocks order for waiters of
  // cluster scope only.
  struct Completed {
    std::int64_t phase = -1;
    Knowledge block;
    Knowledge cluster;
    std::int64_t cause = kNoEvent;
  };

  // Ends the phase in progress when nothing is missing; true if it did.
  bool complete_if_due(std::int64_t cause);

  std::string name;
  std::int64_t stage = -1;
  std::string shown;         // with the stage, in traces
  std::uint32_t object = 0;  // in the trace
  int expected_bytes = 0;    // by the label; 0: not said
  int count = 0;
  int pending = 0;
  std::int64_t bytes = 0;  // expected and not yet arrived; may be negative
  std::int64_t phase = 0;  // in progress
  Epoch init;
  bool init_fenced = false;  // visible to the async proxy and the cluster
  Arrivals arrivals;
  Knowledge gathered;                  // of the phase in progress
  Knowledge gathered_remote;           // from other blocks, at cluster scope
  std::array<Completed, 2> completed;  // by parity
  std::vector<Lane*> waiters;
};

// A hardware named barrier (id 0 is the block's own).
struct NamedBarrier {
  std::string name;
  std::string before;  // its name in the generation before
  std::uint32_t object = 0;
  int threads = 0;  // of the generation in progress
  int arrived = 0;
  std::int64_t generation = 0;
  Arrivals arrivals;
  Knowledge gathered;
  std::vector<Lane*> waiters;
};

struct ClusterBarrier {
  int arrived = 0;
  std::int64_t generation = 0;
  Knowledge gathered;
  Knowledge released;  // by the generation before
  std::int64_t cause = kNoEvent;
  std::vector<Lane*> waiters;
};

}  // namespace jfa::emulator
