// The engine's findings: who, where, against whom, and what everybody waits for.
#include <algorithm>
#include <map>

#include "machine/emulator/primitives.hpp"

namespace jfa::emulator {
namespace {

constexpr std::size_t kRecentEvents = 4096;
constexpr std::size_t kReportedEvents = 16;
constexpr std::size_t kReportedPedantic = 16;

}  // namespace

BarrierState state_of(const Mbarrier& barrier, std::int64_t wanted) {
  BarrierState state;
  state.name = barrier.name;
  state.stage = barrier.stage;
  state.phase_wanted = wanted;
  state.phase_held = barrier.phase;
  state.arrivals_missing = barrier.pending;
  state.bytes_missing = barrier.bytes;
  return state;
}

namespace {

FindingKind kind_of(const Conflict& conflict, const Access& access, Memory memory) {
  if (conflict.verdict == Verdict::Uninitialized) return FindingKind::Uninitialized;
  if (memory == Memory::Tensor) return FindingKind::TensorMemory;
  if (conflict.verdict == Verdict::NoProxyFence) return FindingKind::ProxyFence;
  if (conflict.verdict == Verdict::WrittenTwice) return FindingKind::OutOfBounds;
  const bool other_block = conflict.earlier.epoch.agent.block != access.epoch.agent.block;
  const bool mixed =
      (conflict.earlier.kind == AccessKind::Reduce) != (access.kind == AccessKind::Reduce);
  if (memory == Memory::Global && (other_block || mixed)) return FindingKind::CrossBlock;
  const bool reads = access.kind == AccessKind::Read || access.kind == AccessKind::AtomicRead;
  return reads ? FindingKind::UnorderedRead : FindingKind::UnorderedOverwrite;
}

std::string text_of(const Conflict& conflict, const Access& access, const std::string& where) {
  const std::string now = std::string(access.async ? "async " : "") + to_string(access.kind);
  const std::string then =
      std::string(conflict.earlier.async ? "async " : "") + to_string(conflict.earlier.kind);
  switch (conflict.verdict) {
    case Verdict::Uninitialized:
      return now + " of " + where + ", which nobody has written";
    case Verdict::WrittenTwice:
      return now + " of " + where +
             ", which this launch has written before: a store past the rows " +
             "of its own sequence";
    case Verdict::NoProxyFence:
    case Verdict::Pedantic:
      return now + " of " + where + " after a " + then +
             " by a thread with no proxy fence on the way";
    default:
      return now + " of " + where + " is not ordered after an earlier " + then;
  }
}

}  // namespace

std::string Engine::describe(const Lane& lane) const {
  return "block " + std::to_string(lane.block->index) + " warp " +
         std::to_string(lane.warp->index) + " lane " + std::to_string(lane.agent.lane) +
         " (thread " + std::to_string(lane.thread) + ")";
}

std::string Engine::describe(const Agent& agent, Time time) const {
  const std::string block = "block " + std::to_string(agent.block);
  if (agent.row < kWarpRows) {
    std::string text =
        block + " warp " + std::to_string(agent.row) + " lane " + std::to_string(agent.lane);
    for (const Block* candidate : slots_) {
      if (candidate == nullptr || candidate->index != agent.block) continue;
      const char* role = candidate->warps[agent.row]->lanes[agent.lane].role;
      if (*role != '\0') text += std::string(", role \"") + role + '"';
    }
    return text;
  }
  if (agent.row < kWarpRows + kTensorRows) {
    constexpr const char* kOperations[] = {"MMA group", "load", "store"};
    const int unit = agent.row - kWarpRows;
    return block + " tensor unit of warp " + std::to_string(unit % kWarpRows) +
           (time != 0
                ? std::string(", ") + kOperations[unit / kWarpRows] + ' ' + std::to_string(time)
                : std::string());
  }
  const auto slot =
      static_cast<std::size_t>((agent.row - kWarpRows - kTensorRows) * kLanes) + agent.lane;
  const auto& name = copy_names_[agent.block][slot];
  const bool known = name.time == time || name.time + 1 == time;
  return block + ' ' + (known ? name.what : std::string("asynchronous copy"));
}

std::uint32_t Engine::object(const std::string& name) {
  if (name.empty()) return 0;
  const auto [place, fresh] =
      object_ids_.try_emplace(name, static_cast<std::uint32_t>(trace_.objects.size()));
  if (fresh) trace_.objects.push_back(name);
  return place->second;
}

std::int64_t Engine::record(EventKind kind, Agent who, SiteId at, std::uint32_t object,
                            std::int64_t phase, std::int64_t cause) {
  const std::int64_t number = events_++;
  const Event event{number, who, kind, at, object, phase, cause};
  if (options_.trace) trace_.events.push_back(event);
  if (recent_.size() < kRecentEvents) {
    recent_.push_back(event);
  } else {
    recent_[static_cast<std::size_t>(number) % kRecentEvents] = event;
  }
  return number;
}

std::string Engine::describe(const Event& event) const {
  std::string text = '#' + std::to_string(event.number) + ' ' + describe(event.who, 0) + ": " +
                     to_string(event.kind);
  if (event.object != 0) text += ' ' + trace_.objects[event.object];
  if (event.phase >= 0) text += " phase " + std::to_string(event.phase);
  if (event.site != kNoSite) text += " at " + to_string(sites_[event.site]);
  if (event.cause != kNoEvent) {
    const bool completes = event.kind == EventKind::Complete;
    text += (completes ? ", issued by #" : ", released by #") + std::to_string(event.cause);
  }
  return text;
}

// The last events; those of one warp at one place are one line, where its last lane stands.
std::vector<std::string> Engine::last_events() const {
  const auto alike = [](const Event& a, const Event& b) {
    return a.kind == b.kind && a.site == b.site && a.object == b.object && a.phase == b.phase &&
           a.who.row == b.who.row && a.who.block == b.who.block;
  };
  std::vector<std::pair<const Event*, int>> groups;
  const auto kept = static_cast<std::int64_t>(recent_.size());
  for (std::int64_t n = events_ - 1; n >= events_ - kept; --n) {
    const Event& event = recent_[static_cast<std::size_t>(n) % kRecentEvents];
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& group) { return alike(*group.first, event); });
    if (known != groups.end()) {
      ++known->second;
    } else if (groups.size() < kReportedEvents) {
      groups.emplace_back(&event, 1);
    } else {
      break;
    }
  }
  std::vector<std::string> lines;
  std::reverse(groups.begin(), groups.end());
  lines.reserve(groups.size());
  for (const auto& [event, count] : groups) {
    lines.push_back(describe(*event));
    if (count > 1) lines.back() += " (" + std::to_string(count) + " of its warp)";
  }
  return lines;
}

std::vector<std::string> Engine::waiting_lanes() const {
  std::map<std::string, int> lines;
  for (const Block* block : slots_) {
    if (block == nullptr) continue;
    for (const auto& warp : block->warps) {
      for (const auto& lane : warp->lanes) {
        const bool runnable = (warp->runnable >> lane.agent.lane & 1) != 0;
        if (lane.exited || runnable || lane.wait.kind == WaitState::Kind::None) continue;
        std::string line = "block " + std::to_string(block->index);
        if (*lane.role != '\0') line += std::string(" role \"") + lane.role + '"';
        line += " warp " + std::to_string(warp->index) + " waits for " + lane.wait.object;
        if (lane.wait.phase >= 0) line += ", phase " + std::to_string(lane.wait.phase);
        if (const Mbarrier* barrier = lane.wait.mbarrier) {
          line += " (in progress " + std::to_string(barrier->phase) + ", arrivals missing " +
                  std::to_string(barrier->pending) + ", bytes missing " +
                  std::to_string(barrier->bytes) + ")";
        }
        if (const NamedBarrier* barrier = lane.wait.named) {
          line += " (" + std::to_string(barrier->arrived) + " of " +
                  std::to_string(barrier->threads) + " threads have come)";
        }
        ++lines[line + " at " + to_string(sites_[lane.wait.site])];
      }
    }
  }
  std::vector<std::string> result;
  result.reserve(lines.size());
  for (const auto& [line, lanes] : lines) {
    result.push_back(std::to_string(lanes) + " lane" + (lanes > 1 ? "s" : "") + " of " + line);
  }
  return result;
}

void Engine::set_finding(Problem problem) {
  Finding& finding = result_.finding;
  finding.kind = problem.kind;
  finding.what = std::move(problem.what);
  finding.site = sites_[problem.site];
  finding.who = std::move(problem.who);
  if (running_ != nullptr) {
    if (finding.who.empty()) finding.who = describe(*running_);
    finding.role = running_->role;
  }
  finding.other = std::move(problem.other);
  finding.other_site = sites_[problem.other_site];
  finding.barrier = std::move(problem.barrier);
  finding.schedule = to_string(options_.schedule);
  finding.seed = options_.seed;
  finding.waiting = waiting_lanes();
  finding.last_events = last_events();
}

void Engine::fail(Problem problem) {
  set_finding(std::move(problem));
  stop();
}

void Engine::fail_in_destructor(Problem problem) {
  set_finding(std::move(problem));
  stop_here();
}

void Engine::fail_conflict(const Conflict& conflict, const Access& access, const std::string& where,
                           Memory memory, const std::string& who) {
  Problem problem{kind_of(conflict, access, memory), text_of(conflict, access, where), access.site};
  problem.who = who;
  if (conflict.verdict != Verdict::Uninitialized) {
    problem.other = describe(conflict.earlier.epoch.agent, conflict.earlier.epoch.time);
    problem.other_site = conflict.earlier.site;
  }
  fail(std::move(problem));
}

void Engine::note_pedantic(const Conflict& conflict, const Access& access,
                           const std::string& where) {
  if (result_.pedantic.size() == kReportedPedantic) return;
  const std::string line = text_of(conflict, access, where) + "; " +
                           to_string(sites_[access.site]) + " after " +
                           to_string(sites_[conflict.earlier.site]);
  const auto& known = result_.pedantic;
  if (std::find(known.begin(), known.end(), line) == known.end()) result_.pedantic.push_back(line);
}

// Nothing can move. Bytes that were expected and never sent, and register budgets, have findings of
// their own.
void Engine::report_deadlock() {
  aborting_ = true;
  const Lane* culprit = nullptr;
  FindingKind kind = FindingKind::Deadlock;
  for (const Block* block : slots_) {
    if (block == nullptr) continue;
    for (const auto& warp : block->warps) {
      for (const auto& lane : warp->lanes) {
        if (lane.exited || lane.wait.kind == WaitState::Kind::None) continue;
        FindingKind own = FindingKind::Deadlock;
        const Mbarrier* barrier = lane.wait.mbarrier;
        if (barrier != nullptr && barrier->pending == 0 && barrier->bytes != 0) {
          own = FindingKind::BarrierBytes;
        } else if (lane.wait.kind == WaitState::Kind::Registers) {
          own = FindingKind::Divergence;
        }
        const bool stronger = kind == FindingKind::Deadlock && own != FindingKind::Deadlock;
        if (culprit != nullptr && !stronger) continue;
        culprit = &lane;
        kind = own;
      }
    }
  }
  if (culprit == nullptr) {
    set_finding({FindingKind::Deadlock, "no block can start", kNoSite, "the grid"});
    return;
  }
  Problem problem{kind, "nothing can move: waits for " + culprit->wait.object, culprit->wait.site,
                  describe(*culprit)};
  if (culprit->wait.mbarrier != nullptr) {
    problem.barrier = state_of(*culprit->wait.mbarrier, culprit->wait.phase);
  } else {
    problem.barrier.name = culprit->wait.object;
  }
  set_finding(std::move(problem));
  result_.finding.role = culprit->role;
}

}  // namespace jfa::emulator
