// mbarriers: absolute phases, pending arrivals, transaction bytes that may be negative.
#include <cstdlib>
#include <string>
#include <utility>

#include "machine/emulator/primitives.hpp"

namespace jfa::emulator {
namespace {

constexpr std::int64_t kMaxBytes = (1 << 20) - 1;
constexpr std::int64_t kMutatedBytes = 16;
constexpr int kMaxCount = (1 << 20) - 1;

[[noreturn]] void refuse(Engine& engine, FindingKind kind, const std::string& what, SiteId site,
                         const Mbarrier& barrier, std::int64_t wanted = -1) {
  Problem problem{kind, what, site};
  problem.barrier = state_of(barrier, wanted);
  engine.fail(std::move(problem));
}

void finish_phase_if_due(Engine& engine, Mbarrier& barrier, std::int64_t cause) {
  if (barrier.complete_if_due(cause)) engine.wake_all(barrier.waiters);
  engine.progress();
}

void arrive(Engine& engine, Mbarrier& barrier, Knowledge* into, SiteId site) {
  if (barrier.pending == 0) {
    refuse(engine, FindingKind::Arrival,
           "an arrival where none is missing: the phase waits for bytes only", site, barrier);
  }
  if (!ordered_after(engine.self(), barrier.arrivals.before)) {
    refuse(engine, FindingKind::Arrival,
           "an arrival not ordered after the end of the phase before: it may count in that one",
           site, barrier);
  }
  Lane& lane = engine.self();
  barrier.arrivals.add(lane.now());
  join(barrier.gathered.causal, lane.known.causal);
  raise(barrier.gathered.causal, lane.now());
  if (into != nullptr) publish(lane, *into);
  --barrier.pending;
  const auto cause = engine.record(EventKind::Arrive, site, barrier.object, barrier.phase);
  finish_phase_if_due(engine, barrier, cause);
}

// Whether the phase is complete; anything but "complete" or "in progress" is a finding.
bool is_complete(Engine& engine, const Mbarrier& barrier, std::int64_t phase, SiteId site) {
  if (barrier.phase == phase + 1) return true;
  if (barrier.phase == phase) return false;
  if (barrier.phase > phase) {
    refuse(engine, FindingKind::Arrival,
           "the phase waited for was lapped: " + std::to_string(barrier.phase - phase - 1) +
               " more completed before this thread looked, and its parity means another one now",
           site, barrier, phase);
  }
  refuse(engine, FindingKind::UnorderedRead,
         "the wait is for a phase that has not begun; its parity says it is complete", site,
         barrier, phase);
}

void take(Engine& engine, const Mbarrier& barrier, std::int64_t phase, ScopeKind scope,
          SiteId site) {
  if (phase < 0) return;
  const auto& completed = barrier.completed[static_cast<std::size_t>(phase & 1)];
  acquire(engine.self(), completed.block);
  if (scope != ScopeKind::Block) acquire(engine.self(), completed.cluster);
  engine.record(EventKind::Pass, site, barrier.object, phase, completed.cause);
}

WaitState waiting_for(const Mbarrier& barrier, std::int64_t phase, SiteId site) {
  WaitState wait;
  wait.kind = WaitState::Kind::Mbarrier;
  wait.object = barrier.shown;
  wait.site = site;
  wait.phase = phase;
  wait.mbarrier = &barrier;
  return wait;
}

ScopeKind weakened(ScopeKind scope, const std::optional<Mutation>& mutation) {
  return mutation == Mutation::Weaken ? ScopeKind::Block : scope;
}

std::optional<Mutation> wait_site(Engine& engine, SiteId site, ScopeKind scope) {
  if (scope == ScopeKind::Block) return engine.sync_site(site, {Mutation::Drop});
  return engine.sync_site(site, {Mutation::Drop, Mutation::Weaken});
}

}  // namespace

bool Mbarrier::complete_if_due(std::int64_t cause) {
  if (pending != 0 || bytes != 0) return false;
  completed[static_cast<std::size_t>(phase & 1)] = {phase, std::exchange(gathered, {}),
                                                    std::exchange(gathered_remote, {}), cause};
  arrivals.finish_phase();
  ++phase;
  pending = count;
  return true;
}

Mbarrier& barrier_in(Block& block, void* mine, bool async, SiteId site) {
  Engine& engine = Engine::current();
  Lane& lane = engine.self();
  Block* own = engine.block_of(mine);
  if (own != lane.block) {
    engine.fail({FindingKind::OutOfBounds, "a barrier outside the block's shared memory", site});
  }
  const auto found = block.mbarriers.find(engine.offset_in(*own, mine));
  if (found == block.mbarriers.end()) {
    engine.fail({FindingKind::Uninitialized,
                 "a barrier at offset " + std::to_string(engine.offset_in(*own, mine)) +
                     " that nobody has initialized",
                 site});
  }
  Mbarrier& barrier = found->second;
  const bool mine_init = barrier.init.agent == lane.agent;
  const bool visible = mine_init || knows(lane.known.generic, barrier.init);
  const bool fenced = barrier.init_fenced || (mine_init ? barrier.init.time <= lane.fenced
                                                        : knows(lane.known.async, barrier.init));
  if (!visible || (async && !fenced)) {
    refuse(engine, FindingKind::Uninitialized,
           visible ? "the barrier's init is not fenced for copies and other blocks"
                   : "the barrier's init is not visible to this thread",
           site, barrier);
  }
  return barrier;
}

void mbarrier_init(void* where, int count, const Label& label, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  Lane& lane = engine.self();
  access_shared(where, 8, AccessKind::Write, call);
  if (count < 1 || count > kMaxCount) {
    engine.fail(
        {FindingKind::Arrival, "an mbarrier for " + std::to_string(count) + " arrivals", site});
  }
  Mbarrier& barrier = lane.block->mbarriers[engine.offset_in(*lane.block, where)];
  if (barrier.count != 0) {
    refuse(engine, FindingKind::Uninitialized, "the barrier is initialized twice", site, barrier);
  }
  barrier.name = label.name;
  if (*label.kind != '\0') barrier.name += std::string(" ") + label.kind;
  barrier.stage = label.stage;
  barrier.shown = barrier.name;
  if (label.stage >= 0) barrier.shown += '[' + std::to_string(label.stage) + ']';
  barrier.object = engine.object(barrier.shown);
  barrier.expected_bytes = label.expected_bytes;
  barrier.count = barrier.pending = count;
  barrier.init = lane.now();
  ++lane.time;
}

void mbarrier_fence_init(const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  if (engine.sync_site(site, {Mutation::Drop})) return;
  for (auto& [offset, barrier] : engine.self().block->mbarriers) {
    if (barrier.init.agent == engine.self().agent) barrier.init_fenced = true;
  }
  engine.record(EventKind::Fence, site);
}

void mbarrier_arrive(void* where, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  const auto mutation = engine.sync_site(site, {Mutation::Drop, Mutation::Twice});
  if (mutation == Mutation::Drop) return;
  engine.maybe_yield();
  Mbarrier& barrier = barrier_in(*engine.self().block, where, false, site);
  arrive(engine, barrier, &barrier.gathered, site);
  if (mutation == Mutation::Twice) arrive(engine, barrier, &barrier.gathered, site);
}

void mbarrier_arrive_expect(void* where, std::uint32_t bytes, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  const auto mutation = engine.sync_site(
      site, {Mutation::Drop, Mutation::Twice, Mutation::MoreBytes, Mutation::LessBytes});
  if (mutation == Mutation::Drop) return;
  std::int64_t expected = bytes;
  if (mutation == Mutation::MoreBytes) expected += kMutatedBytes;
  if (mutation == Mutation::LessBytes) expected -= kMutatedBytes;
  engine.maybe_yield();
  Mbarrier& barrier = barrier_in(*engine.self().block, where, false, site);
  barrier.bytes += expected;
  if (barrier.bytes > kMaxBytes) {
    refuse(engine, FindingKind::BarrierBytes, "more than 2^20 - 1 bytes are expected", site,
           barrier);
  }
  arrive(engine, barrier, &barrier.gathered, site);
  if (mutation == Mutation::Twice) arrive(engine, barrier, &barrier.gathered, site);
}

void mbarrier_arrive_remote(void* mine, int rank, ScopeKind scope, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  const auto mutation = engine.sync_site(site, {Mutation::Drop, Mutation::Twice, Mutation::Weaken});
  if (mutation == Mutation::Drop) return;
  engine.maybe_yield();
  Block& block = engine.peer(rank, site);
  const bool remote = &block != engine.self().block;
  Mbarrier& barrier = barrier_in(block, mine, remote, site);
  Knowledge* into = &barrier.gathered;
  if (remote) {
    into = weakened(scope, mutation) == ScopeKind::Block ? nullptr : &barrier.gathered_remote;
  }
  arrive(engine, barrier, into, site);
  if (mutation == Mutation::Twice) arrive(engine, barrier, into, site);
}

void mbarrier_wait(void* where, std::int64_t phase, ScopeKind scope, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  const auto mutation = wait_site(engine, site, scope);
  if (mutation == Mutation::Drop) return;
  engine.maybe_yield();
  Mbarrier& barrier = barrier_in(*engine.self().block, where, false, site);
  if (phase < 0 && barrier.phase == 0) return;
  const auto complete = [&] { return is_complete(engine, barrier, phase, site); };
  if (!complete()) {
    engine.wait_until(waiting_for(barrier, phase, site), &barrier.waiters, complete);
  }
  take(engine, barrier, phase, weakened(scope, mutation), site);
}

void complete_bytes(Block& block, Mbarrier& barrier, std::uint32_t bytes, std::int64_t phase,
                    const AsyncOperation& operation) {
  Engine& engine = Engine::current();
  barrier.bytes -= bytes;
  if (barrier.phase != phase || barrier.bytes < -kMaxBytes) {
    Problem problem{FindingKind::BarrierBytes,
                    "bytes of a copy issued in phase " + std::to_string(phase) +
                        " arrive in phase " + std::to_string(barrier.phase) +
                        ": fewer were expected than are copied, and the phase completed early",
                    operation.site, "block " + std::to_string(block.index) + ' ' + operation.what};
    problem.barrier = state_of(barrier, -1);
    engine.fail(std::move(problem));
  }
  barrier.arrivals.add(operation.epoch);
  raise(barrier.gathered.generic, operation.epoch);
  raise(barrier.gathered.async, operation.epoch);
  raise(barrier.gathered.causal, operation.epoch);
  join(barrier.gathered.causal, operation.causal);
  finish_phase_if_due(engine, barrier, operation.issue);
}

}  // namespace jfa::emulator
