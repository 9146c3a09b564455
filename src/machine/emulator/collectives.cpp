// Warp collectives, named barriers, cluster barriers and register budgets.
#include <algorithm>
#include <cstring>
#include <string>

#include "machine/emulator/primitives.hpp"

namespace jfa::emulator {
namespace {

bool covers_all_lanes(std::uint32_t lanes) { return lanes == ~0u; }

void check_collective(Engine& engine, const Warp& warp, const CallSite& call, SiteId site) {
  const Collective& open = warp.collective;
  if (warp.exited != 0) {
    engine.fail({FindingKind::Divergence,
                 std::string("lanes of the warp have exited and cannot come to ") + call.word,
                 site});
  }
  if (open.arrived == 0) return;
  if (open.site == site) return;
  Problem problem{FindingKind::Divergence,
                  std::string("lanes of one warp are at different collectives, ") + call.word +
                      " and " + open.word,
                  site};
  problem.other = "other lanes of the warp";
  problem.other_site = open.site;
  engine.fail(std::move(problem));
}

void order_lanes(Engine&, Warp& warp, const Payloads&) {
  Knowledge known = warp.lanes[0].known;
  Time time = 0;
  const Time fenced = warp.lanes[0].fenced;
  bool alike = true;
  for (auto& lane : warp.lanes) {
    join(known, lane.known);
    time = std::max(time, lane.time);
    alike = alike && lane.fenced == fenced;
  }
  Agent row = warp.lanes[0].agent;
  row.lane = kWholeRow;
  raise(known.generic, {row, time});
  raise(known.causal, {row, time});
  if (alike) {
    raise(known.async, {row, fenced});
  } else {
    for (const auto& lane : warp.lanes) raise(known.async, {lane.agent, lane.fenced});
  }
  for (auto& lane : warp.lanes) {
    lane.known = known;
    lane.time = time + 1;
  }
}

void shuffle_lanes(Engine&, Warp&, const Payloads& payloads) {
  struct Item {
    std::uint32_t bits;
    int from;
  };
  std::array<std::uint32_t, kLanes> bits;
  for (std::size_t l = 0; l < kLanes; ++l) bits[l] = static_cast<Item*>(payloads[l])->bits;
  for (auto* payload : payloads) {
    auto* item = static_cast<Item*>(payload);
    item->bits = bits[static_cast<std::size_t>(item->from) % kLanes];
  }
}

void count_votes(Engine&, Warp&, const Payloads& payloads) {
  std::uint32_t votes = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    if (*static_cast<std::uint32_t*>(payloads[l]) != 0) votes |= 1u << l;
  }
  for (auto* payload : payloads) *static_cast<std::uint32_t*>(payload) = votes;
}

// Matrix m of an ldmatrix or stmatrix has its 8 rows at lanes 8 m to 8 m + 7; thread t holds
// elements 2 (t % 4) and 2 (t % 4) + 1 of row t / 4.
constexpr std::size_t kMatrices = 4;
struct MatrixItem {
  std::byte* row;
  std::uint32_t* registers;
};

template <class Fn>
void for_each_element(const Payloads& payloads, Fn fn) {
  const auto item = [&](std::size_t l) { return static_cast<MatrixItem*>(payloads[l]); };
  for (std::size_t m = 0; m < kMatrices; ++m) {
    for (std::size_t t = 0; t < kLanes; ++t) {
      for (std::size_t i = 0; i < 2; ++i) {
        std::byte* memory = item(8 * m + t / 4)->row + 2 * (2 * (t % 4) + i);
        auto* half = reinterpret_cast<std::byte*>(item(t)->registers + m) + 2 * i;
        fn(memory, half);
      }
    }
  }
}

}  // namespace

void publish(Lane& lane, Knowledge& into) {
  join(into, lane.known);
  raise(into.generic, lane.now());
  raise(into.causal, lane.now());
  raise(into.async, {lane.agent, lane.fenced});
  ++lane.time;
}

bool ordered_after(const Lane& lane, const ClockRef& events) {
  if (covers(lane.known.causal, events)) return true;
  ClockRef known = lane.known.causal;
  raise(known, lane.now());
  return covers(known, events);
}

void acquire(Lane& lane, const Knowledge& knowledge) { join(lane.known, knowledge); }

Viewpoint viewpoint(const Lane& lane) {
  return {&lane.known.generic, &lane.known.async, lane.agent, lane.fenced};
}

void meet(const CallSite& call, void* payload, Combine combine) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  Lane& lane = engine.self();
  Warp& warp = *lane.warp;
  check_collective(engine, warp, call, site);
  Collective& open = warp.collective;
  open.word = call.word;
  open.site = site;
  open.payload[lane.agent.lane] = payload;
  open.arrived |= 1u << lane.agent.lane;
  if (!covers_all_lanes(open.arrived)) {
    WaitState wait;
    wait.kind = WaitState::Kind::Collective;
    wait.object = call.word;
    wait.site = site;
    const auto number = open.number;
    engine.wait_until(wait, nullptr, [&] { return open.number != number; });
    return;
  }
  if (combine != nullptr) combine(engine, warp, open.payload);
  open.arrived = 0;
  ++open.number;
  for (auto& other : warp.lanes) {
    if (&other != &lane) engine.wake(other);
  }
}

std::uint32_t exchange(std::uint32_t bits, int from, const CallSite& call) {
  struct {
    std::uint32_t bits;
    int from;
  } item{bits, from};
  meet(call, &item, shuffle_lanes);
  return item.bits;
}

std::uint32_t ballot(bool vote, const CallSite& call) {
  std::uint32_t votes = vote;
  meet(call, &votes, count_votes);
  return votes;
}

void sync_warp(const CallSite& call) {
  Engine& engine = Engine::current();
  if (engine.sync_site(engine.site(call), {Mutation::Drop})) return;
  meet(call, nullptr, order_lanes);
}

void load_matrices(const void* row, std::uint32_t* registers, const CallSite& call) {
  access_shared(row, 16, AccessKind::Read, call);
  MatrixItem item{static_cast<std::byte*>(const_cast<void*>(row)), registers};
  meet(call, &item, [](Engine&, Warp&, const Payloads& payloads) {
    for_each_element(payloads,
                     [](std::byte* memory, std::byte* half) { std::memcpy(half, memory, 2); });
  });
}

void store_matrices(void* row, const std::uint32_t* registers, const CallSite& call) {
  access_shared(row, 16, AccessKind::Write, call);
  MatrixItem item{static_cast<std::byte*>(row), const_cast<std::uint32_t*>(registers)};
  meet(call, &item, [](Engine&, Warp&, const Payloads& payloads) {
    for_each_element(payloads,
                     [](std::byte* memory, std::byte* half) { std::memcpy(memory, half, 2); });
  });
}

namespace {

void check_named(Engine& engine, NamedBarrier& barrier, int id, int threads, const char* name,
                 SiteId site) {
  const auto refuse = [&](std::string what) {
    Problem problem{FindingKind::Arrival, std::move(what), site};
    problem.barrier.name = name;
    engine.fail(std::move(problem));
  };
  if (threads % kLanes != 0 || threads < kLanes || threads > engine.shape().threads) {
    refuse("named barrier for " + std::to_string(threads) + " threads in a block of " +
           std::to_string(engine.shape().threads));
  }
  if (barrier.arrived == 0) {
    if (barrier.name != name) barrier.object = engine.object(name);
    barrier.name = name;
    barrier.threads = threads;
  } else if (barrier.name != name) {
    refuse("named barrier " + std::to_string(id) + " is in use as \"" + barrier.name +
           "\" and is used as \"" + name + '"');
  } else if (barrier.threads != threads) {
    refuse("named barrier of " + std::to_string(barrier.threads) + " threads is used with " +
           std::to_string(threads));
  }
  if (!ordered_after(engine.self(), barrier.arrivals.before)) {
    refuse("an arrival not ordered after the end of the generation before, of \"" + barrier.before +
           "\": it may count in that one");
  }
  auto& last = engine.self().named_generation[static_cast<std::size_t>(id)];
  if (last == barrier.generation + 1) refuse("the thread arrives twice in one generation");
  last = barrier.generation + 1;
}

// The last thread has come: everyone who waits goes on.
Knowledge open_named(Engine& engine, NamedBarrier& barrier, std::int64_t cause) {
  Knowledge released = std::exchange(barrier.gathered, {});
  for (Lane* waiter : barrier.waiters) {
    acquire(*waiter, released);
    engine.record(EventKind::Pass, waiter->agent, waiter->wait.site, barrier.object,
                  barrier.generation, cause);
  }
  ++barrier.generation;
  barrier.arrived = 0;
  barrier.arrivals.finish_phase();
  barrier.before = barrier.name;
  engine.wake_all(barrier.waiters);
  engine.progress();
  return released;
}

}  // namespace

void named_barrier(int id, int threads, const char* name, bool wait, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  if (id < 0 || id >= kNamedBarriers) {
    engine.fail(
        {FindingKind::Arrival, "named barrier " + std::to_string(id) + "; the block has 16", site});
  }
  if (engine.sync_site(site, {Mutation::Drop})) return;
  engine.maybe_yield();
  Lane& lane = engine.self();
  NamedBarrier& barrier = lane.block->named[static_cast<std::size_t>(id)];
  check_named(engine, barrier, id, threads, name, site);
  const std::int64_t generation = barrier.generation;
  const auto arrival = engine.record(EventKind::Arrive, site, barrier.object, generation);
  barrier.arrivals.add(lane.now());
  publish(lane, barrier.gathered);
  if (++barrier.arrived == barrier.threads) {
    const Knowledge released = open_named(engine, barrier, arrival);
    if (wait) acquire(lane, released);
  } else if (wait) {
    WaitState state;
    state.kind = WaitState::Kind::Named;
    state.object = barrier.name;
    state.site = site;
    state.phase = generation;
    state.named = &barrier;
    engine.wait_until(state, &barrier.waiters, [&] { return barrier.generation != generation; });
  }
}

void cluster_arrive(const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  if (engine.sync_site(site, {Mutation::Drop})) return;
  Lane& lane = engine.self();
  ClusterBarrier& barrier = lane.block->cluster->barrier;
  if (lane.cluster_generation == barrier.generation) {
    engine.fail({FindingKind::Arrival, "the thread arrives twice at the cluster's barrier", site});
  }
  lane.cluster_generation = barrier.generation;
  publish(lane, barrier.gathered);
  const auto cause =
      engine.record(EventKind::Arrive, site, engine.object("cluster"), barrier.generation);
  if (++barrier.arrived < lane.block->cluster->live) return;
  barrier.released = std::exchange(barrier.gathered, {});
  barrier.cause = cause;
  barrier.arrived = 0;
  ++barrier.generation;
  engine.wake_all(barrier.waiters);
  engine.progress();
}

void cluster_wait(const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  if (engine.sync_site(site, {Mutation::Drop})) return;
  Lane& lane = engine.self();
  ClusterBarrier& barrier = lane.block->cluster->barrier;
  const std::int64_t mine = lane.cluster_generation;
  if (mine < 0) {
    engine.fail(
        {FindingKind::Arrival, "the thread waits for the cluster without an arrival", site});
  }
  if (barrier.generation == mine) {
    WaitState state;
    state.kind = WaitState::Kind::Cluster;
    state.object = "cluster";
    state.site = site;
    state.phase = mine;
    engine.wait_until(state, &barrier.waiters, [&] { return barrier.generation != mine; });
  }
  acquire(lane, barrier.released);
  lane.cluster_generation = -1;
  engine.record(EventKind::Pass, site, engine.object("cluster"), mine, barrier.cause);
}

void set_registers(int count, bool up, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  meet(call, nullptr, nullptr);
  Lane& lane = engine.self();
  Warp& warp = *lane.warp;
  if (count < 24 || count > 256 || count % 8 != 0) {
    engine.fail(
        {FindingKind::Divergence,
         "setmaxnreg of " + std::to_string(count) + "; allowed: multiples of 8 from 24 to 256",
         site});
  }
  if (warp.registers == count) return;
  if ((count > warp.registers) != up) {
    engine.fail({FindingKind::Divergence,
                 "setmaxnreg of " + std::to_string(count) + " where the warp has " +
                     std::to_string(warp.registers) + " registers a thread",
                 site});
  }
  Block& block = *lane.block;
  const auto fits = [&] {
    return warp.registers == count || (count - warp.registers) * kLanes <= block.free_registers;
  };
  if (!fits()) {
    WaitState state;
    state.kind = WaitState::Kind::Registers;
    state.object = std::to_string(count) + " registers a thread (free in the file: " +
                   std::to_string(block.free_registers) + ")";
    state.site = site;
    engine.wait_until(state, &block.register_waiters, fits);
  }
  if (warp.registers == count) return;
  block.free_registers -= (count - warp.registers) * kLanes;
  warp.registers = count;
  engine.wake_all(block.register_waiters);
  engine.progress();
}

}  // namespace jfa::emulator
