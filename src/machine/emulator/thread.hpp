// Threads, warps, blocks and what they have in flight.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/emulator/barrier.hpp"
#include "machine/emulator/fiber.hpp"
#include "machine/emulator/mma.hpp"
#include "machine/emulator/shadow.hpp"
#include "machine/emulator/tensor_memory.hpp"

namespace jfa::emulator {

struct Block;
struct Warp;

// A copy in flight: steps that happen one after another, each at a moment the schedule chooses.
struct AsyncOperation {
  std::string what;
  Epoch epoch;  // of its accesses; a store writes global memory at the next time of its agent
  std::vector<const Block*> targets;  // whose shared memory each step writes
  std::vector<std::function<void()>> steps;
  std::size_t done = 0;
  ClockRef causal;  // what had happened at its issue
  std::int64_t issue = kNoEvent;
  SiteId site = kNoSite;
  const Mbarrier* barrier = nullptr;  // a load's, with the phase it was issued in
  std::int64_t phase = -1;
  bool read_waited = false;  // by the thread that issued it
  std::vector<Lane*> waiters;

  bool read_done() const { return done >= 1; }
  bool finished() const { return done == steps.size(); }
};
using AsyncRef = std::shared_ptr<AsyncOperation>;

// What a lane that cannot move is waiting for.
struct WaitState {
  enum class Kind { None, Mbarrier, Named, Cluster, Collective, Bulk, MmaGroup, Registers, Poll };
  Kind kind = Kind::None;
  std::string object;
  SiteId site = kNoSite;
  std::int64_t phase = -1;
  const Mbarrier* mbarrier = nullptr;
  const NamedBarrier* named = nullptr;
};

struct Lane {
  Agent agent;
  Block* block = nullptr;
  Warp* warp = nullptr;
  int thread = 0;  // in the block
  Context context;
  Stack stack;
  bool started = false;
  bool exited = false;
  bool stuck = false;  // where a finding in a destructor left it

  Knowledge known;
  Time time = 1;             // of accesses from now on
  Time fenced = 0;           // own accesses up to here are ordered in the async proxy
  Knowledge fence_released;  // at the last fence of GPU scope, for relaxed atomics after it
  Knowledge seen;            // gained by relaxed atomics, acquired by the next such fence
  const char* role = "";
  WaitState wait;
  std::int64_t polled_at = -1;
  const void* asked = nullptr;  // by the last acquire load
  SiteId asked_site = kNoSite;
  std::int64_t asked_at = -1;
  std::array<std::int64_t, 16> named_generation{};  // of the last arrival, plus one
  std::vector<AsyncRef> bulk_open;
  std::deque<std::vector<AsyncRef>> bulk_groups;
  std::int64_t cluster_generation = -1;  // of the cluster arrival not yet waited for
  std::uint64_t mma_fences = 0;
  Time mma_settled = 0;    // MMA groups up to here are complete for this lane
  ClockRef tensor_seen;    // what its tcgen05 instructions are ordered after
  Time tensor_loaded = 0;  // loads of tensor memory up to here are complete for this lane

  Epoch now() const { return {agent, time}; }
};

// Lanes of a warp on their way to the same collective.
struct Collective {
  const char* word = nullptr;
  SiteId site = kNoSite;
  std::uint32_t arrived = 0;
  std::uint64_t number = 0;
  std::array<void*, kLanes> payload{};
};

struct Warp {
  Block* block = nullptr;
  int index = 0;   // in the block
  int number = 0;  // among the warps of the machine, for the scheduler
  std::array<Lane, kLanes> lanes;
  std::uint32_t runnable = 0;
  std::uint32_t exited = 0;
  int last_lane = 0;
  bool slow = false;  // its role is the slow one of this schedule
  Collective collective;
  int registers = 0;
  Time mma_groups = 0;      // committed
  Time settled_groups = 0;  // waited for, and the knowledge that gives
  ClockRef settled;
  std::array<Time, kTensorUnits> tensor_issued{};  // tcgen05 loads and stores, MMAs by commit
  TensorPipe tensor_pipe;
};

// The four warps that issue MMAs together.
struct Warpgroup {
  std::deque<MmaGroup> open;  // those not executed; the first is group `executed` + 1
  Time executed = 0;
  std::vector<Lane*> waiters;
};

struct Cluster;

struct Block {
  int index = 0;
  int slot = 0;
  int rank = 0;  // in the cluster
  Cluster* cluster = nullptr;
  std::byte* smem = nullptr;
  std::unique_ptr<Shadow> shadow;
  std::unique_ptr<TensorMemory> tensor;  // once some of it is allocated
  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<Warpgroup> warpgroups;
  std::unordered_map<std::uint32_t, Mbarrier> mbarriers;  // by offset
  std::array<NamedBarrier, 16> named;
  ClockRef copies;      // that read or write its shared memory and end on an mbarrier
  ClockRef exit_known;  // what its exited threads knew
  int live = 0;
  int free_registers = 0;
  std::vector<Lane*> register_waiters;
  std::array<Time, kCopySlots> copy_times{};
  std::size_t next_copy = 0;
};

struct Cluster {
  std::vector<std::unique_ptr<Block>> blocks;
  ClusterBarrier barrier;
  int live = 0;  // threads
};

}  // namespace jfa::emulator
