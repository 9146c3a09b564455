// wgmma: groups in flight, and the registers that belong to them until they are waited for.
#include <cstring>
#include <string>

#include "machine/emulator/primitives.hpp"

namespace jfa::emulator {
namespace {

constexpr int kWarpsOfGroup = 4;

Warpgroup& warpgroup_of(const Warp& warp) {
  return warp.block->warpgroups[static_cast<std::size_t>(warp.index / kWarpsOfGroup)];
}

Agent tensor_unit(const Warp& warp) {
  return {static_cast<std::uint16_t>(warp.block->index),
          static_cast<std::uint8_t>(kWarpRows + warp.index), kWholeRow};
}

// One lane's part of an issue, with its place in the source.
struct IssueItem {
  MmaIssue issue;
  SiteId site;
};

// What the lanes of a warp know, each different knowledge once: an MMA needs all of them to.
std::vector<Viewpoint> viewpoints(const Warp& warp) {
  std::vector<Viewpoint> views;
  for (const auto& lane : warp.lanes) {
    bool known = false;
    for (const auto& view : views) {
      known = known || (*view.generic == lane.known.generic && *view.async == lane.known.async);
    }
    if (!known) views.push_back({&lane.known.generic, &lane.known.async, std::nullopt, 0});
  }
  return views;
}

void touch_operand(Engine& engine, Warp& warp, const OperandLayout& layout, const char* which,
                   SiteId site) {
  if (const auto error = descriptor_error(layout, engine.shape().smem_bytes); !error.empty()) {
    engine.fail({FindingKind::OutOfBounds, std::string(which) + ": " + error, site});
  }
  const Access access{{tensor_unit(warp), warp.mma_groups + 1}, site, AccessKind::Read, true};
  const auto views = viewpoints(warp);
  const auto conflict = warp.block->shadow->touch(granules(layout), access, views);
  if (!conflict) return;
  engine.fail_conflict(*conflict, access,
                       std::string("MMA operand ") + which + ", shared memory at offset " +
                           std::to_string(conflict->offset),
                       Memory::Shared, "MMA issued by " + engine.describe(engine.self()));
}

// The open group of a warp: the one after those it has committed.
MmaGroup& open_group(Warp& warp) {
  Warpgroup& group = warpgroup_of(warp);
  const auto index = static_cast<std::size_t>(warp.mma_groups - group.executed);
  while (group.open.size() <= index) group.open.emplace_back();
  return group.open[index];
}

bool same(const MmaIssue& a, const MmaIssue& b) {
  return a.type == b.type && a.columns == b.columns && a.accumulate == b.accumulate && a.a == b.a &&
         a.b == b.b;
}

void issue_warp(Engine& engine, Warp& warp, const Payloads& payloads) {
  const auto item = [&](std::size_t l) { return static_cast<const IssueItem*>(payloads[l]); };
  const MmaIssue& first = item(0)->issue;
  const SiteId site = item(0)->site;
  for (std::size_t l = 1; l < kLanes; ++l) {
    if (!same(item(l)->issue, first)) {
      engine.fail({FindingKind::Divergence, "lanes of one warp issue different MMAs", site});
    }
  }
  const bool a_in_registers = first.a.rows == 0;
  if (!a_in_registers) touch_operand(engine, warp, first.a, "A", site);
  touch_operand(engine, warp, first.b, "B", site);

  MmaGroup& group = open_group(warp);
  const auto member = static_cast<std::size_t>(warp.index % kWarpsOfGroup);
  const auto index = static_cast<std::size_t>(group.issued[member]++);
  MmaInstruction made;
  made.type = first.type;
  made.columns = first.columns;
  made.accumulate = first.accumulate;
  made.a_in_registers = a_in_registers;
  made.a = first.a;
  made.b = first.b;
  if (index == group.instructions.size()) {
    group.instructions.push_back(made);
  } else if (!group.instructions[index].same_shape(made)) {
    engine.fail({FindingKind::Divergence, "warps of one warpgroup issue different MMAs", site});
  }
  MmaInstruction& step = group.instructions[index];
  for (std::size_t l = 0; l < kLanes; ++l) {
    step.accumulators[member * kLanes + l] = item(l)->issue.accumulators;
    step.a_registers[member * kLanes + l] = item(l)->issue.a_registers;
  }
}

void start_front_group(Engine& engine, Block& block, std::size_t number, SiteId site) {
  Warpgroup& group = block.warpgroups[number];
  auto operation = std::make_shared<AsyncOperation>();
  operation->what = "MMA group of warpgroup " + std::to_string(number);
  operation->site = site;
  const Warp& warp = *block.warps[number * kWarpsOfGroup];
  operation->epoch = {tensor_unit(warp), group.executed + 1};
  operation->steps.emplace_back([&engine, &block, number, site] {
    Warpgroup& mine = block.warpgroups[number];
    execute(mine.open.front().instructions, block.smem);
    mine.open.pop_front();
    ++mine.executed;
    engine.wake_all(mine.waiters);
    if (!mine.open.empty() && mine.open.front().commits == kWarpsOfGroup) {
      start_front_group(engine, block, number, site);
    }
  });
  engine.launch_operation(operation, operation->epoch.agent);
}

void commit_warp(Engine& engine, Warp& warp, const Payloads& payloads) {
  const SiteId site = *static_cast<const SiteId*>(payloads[0]);
  MmaGroup& group = open_group(warp);
  ++warp.mma_groups;
  if (++group.commits < kWarpsOfGroup) return;
  for (const int issued : group.issued) {
    if (issued != static_cast<int>(group.instructions.size())) {
      engine.fail({FindingKind::Divergence,
                   "warps of one warpgroup commit groups of different MMAs", site});
    }
  }
  const Warpgroup& all = warpgroup_of(warp);
  if (&group != &all.open.front()) return;
  start_front_group(engine, *warp.block, static_cast<std::size_t>(warp.index / kWarpsOfGroup),
                    site);
}

void check_warpgroup(Engine& engine, SiteId site) {
  const Warp& warp = *engine.self().warp;
  const int first = warp.index / kWarpsOfGroup * kWarpsOfGroup;
  if ((first + kWarpsOfGroup) * kLanes <= engine.shape().threads) return;
  engine.fail({FindingKind::Divergence, "the block has no whole warpgroup here", site});
}

// What a wait for the warp's groups up to `target` gives; one clock for all its lanes.
const ClockRef& settled(Warp& warp, Time target) {
  if (target > warp.settled_groups) {
    warp.settled_groups = target;
    ClockRef fresh = warp.settled;
    raise(fresh, {tensor_unit(warp), target});
    warp.settled = std::move(fresh);
  }
  return warp.settled;
}

}  // namespace

FragmentState::~FragmentState() {
  Engine* engine = Engine::current_or_null();
  if (!in_flight_ || engine == nullptr || engine->aborting()) return;
  engine->fail_in_destructor(
      {FindingKind::MmaRegisters,
       "registers go out of scope while an MMA group that uses them is in flight"});
}

void FragmentState::touch(const char* what, const CallSite& call) {
  Engine& engine = Engine::current();
  if (in_flight_) {
    engine.fail({loading_ ? FindingKind::TensorMemory : FindingKind::MmaRegisters,
                 std::string("registers are ") + what +
                     " before a wait has named them and completed their " +
                     (loading_ ? "load" : "MMA group"),
                 engine.site(call)});
  }
  fence_needed_ = engine.self().mma_fences + 1;
}

void FragmentState::reading(const CallSite& call) {
  if (!in_flight_ && !written_) {
    Engine& engine = Engine::current();
    engine.fail({FindingKind::Uninitialized, "registers are read that nobody has written",
                 engine.site(call)});
  }
  touch("read", call);
}

void FragmentState::writing(const CallSite& call) {
  touch("written", call);
  written_ = true;
}

void FragmentState::issue(bool reads, Time group, const CallSite& call) {
  Engine& engine = Engine::current();
  if (reads && !written_ && !in_flight_) {
    engine.fail({FindingKind::Uninitialized, "an MMA reads registers that nobody has written",
                 engine.site(call)});
  }
  if (!in_flight_ && engine.self().mma_fences < fence_needed_) {
    engine.fail({FindingKind::MmaRegisters,
                 "no warpgroup fence between the last touch of these registers and the MMA",
                 engine.site(call)});
  }
  in_flight_ = true;
  written_ = true;
  group_ = group;
}

void FragmentState::load(Time number) {
  written_ = true;
  in_flight_ = true;
  loading_ = true;
  group_ = number;
}

void FragmentState::settle() {
  const Lane& lane = Engine::current().self();
  if (in_flight_ && (loading_ ? lane.tensor_loaded : lane.mma_settled) >= group_) {
    in_flight_ = false;
  }
}

void mma_fence(const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  check_warpgroup(engine, site);
  if (engine.sync_site(site, {Mutation::Drop})) return;
  meet(call, nullptr, nullptr);
  ++engine.self().mma_fences;
}

void mma_issue(MmaIssue issue, FragmentState& accumulators, FragmentState* a_registers,
               const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  check_warpgroup(engine, site);
  if (issue.columns < 8 || issue.columns > kMmaMaxColumns || issue.columns % 8 != 0) {
    engine.fail({FindingKind::Divergence,
                 "an MMA of " + std::to_string(issue.columns) +
                     " columns; allowed: multiples of 8 up to 256",
                 site});
  }
  const Time group = engine.self().warp->mma_groups + 1;
  accumulators.issue(issue.accumulate, group, call);
  if (a_registers != nullptr) a_registers->issue(true, group, call);
  IssueItem item{issue, site};
  meet(call, &item, issue_warp);
}

void mma_commit(const CallSite& call) {
  Engine& engine = Engine::current();
  SiteId site = engine.site(call);
  check_warpgroup(engine, site);
  if (engine.sync_site(site, {Mutation::Drop})) return;
  meet(call, &site, commit_warp);
  engine.maybe_yield();
}

void mma_wait(int groups_left, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  check_warpgroup(engine, site);
  const auto mutation = engine.sync_site(site, {Mutation::Drop, Mutation::Weaken});
  if (mutation == Mutation::Drop) return;
  if (mutation == Mutation::Weaken) ++groups_left;
  meet(call, nullptr, nullptr);
  Lane& lane = engine.self();
  Warp& warp = *lane.warp;
  const auto left = static_cast<Time>(groups_left);
  if (warp.mma_groups <= left) return;
  const Time target = warp.mma_groups - left;
  Warpgroup& group = warpgroup_of(warp);
  const auto done = [&] { return group.executed >= target; };
  if (!done()) {
    WaitState wait;
    wait.kind = WaitState::Kind::MmaGroup;
    wait.object = "MMA group " + std::to_string(target) + " of warpgroup " +
                  std::to_string(warp.index / kWarpsOfGroup);
    wait.site = site;
    engine.wait_until(wait, &group.waiters, done);
    engine.record(EventKind::Pass, site, engine.object("MMA group"));
  }
  const ClockRef& gained = settled(warp, target);
  join(lane.known.generic, gained);
  join(lane.known.async, gained);
  lane.mma_settled = std::max(lane.mma_settled, target);
}

}  // namespace jfa::emulator
