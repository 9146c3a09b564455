#include "machine/emulator/scheduler.hpp"

#include <algorithm>
#include <bit>

namespace jfa::emulator {
namespace {

constexpr std::uint64_t kPriorityChanges = 3;
constexpr std::uint64_t kPrioritySteps = 4096;  // changes fall in the first so many choices
constexpr std::uint64_t kSlowWarps = 16;        // the slow lane is in one of the first so many
constexpr std::uint64_t kSlowRoles = 3;

}  // namespace

const char* to_string(Schedule schedule) {
  switch (schedule) {
    case Schedule::RoundRobin:
      return "round-robin";
    case Schedule::Random:
      return "random";
    case Schedule::Priority:
      return "priority";
    case Schedule::CopiesEarly:
      return "copies-early";
    case Schedule::CopiesLate:
      return "copies-late";
    case Schedule::SlowLane:
      return "slow-lane";
    case Schedule::SlowRole:
      return "slow-role";
  }
  return "";
}

Scheduler::Scheduler(Schedule schedule, std::uint64_t seed)
    : schedule_(schedule),
      random_(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(schedule)) {
  patience_ = std::uint64_t{2} << 2 * draw(4);
  slow_warp_ = static_cast<int>(draw(kSlowWarps));
  slow_lane_ = static_cast<int>(draw(kLanes));
  slow_role_ = draw(kSlowRoles);
  for (std::uint64_t i = 0; i < kPriorityChanges; ++i) changes_.push_back(draw(kPrioritySteps));
}

std::uint64_t Scheduler::draw(std::uint64_t below) { return random_() % below; }

void Scheduler::add(Warp& warp) {
  const auto free = std::find(warps_.begin(), warps_.end(), nullptr);
  warp.number = static_cast<int>(free - warps_.begin());
  const auto priority = static_cast<std::int64_t>(draw(1u << 20)) + 1;
  if (free == warps_.end()) {
    warps_.push_back(&warp);
    priority_.push_back(priority);
  } else {
    *free = &warp;
    priority_[static_cast<std::size_t>(warp.number)] = priority;
  }
}

void Scheduler::remove(Warp& warp) { warps_[static_cast<std::size_t>(warp.number)] = nullptr; }

void Scheduler::wake(Lane& lane) { lane.warp->runnable |= 1u << lane.agent.lane; }

void Scheduler::park(Lane& lane) { lane.warp->runnable &= ~(1u << lane.agent.lane); }

void Scheduler::enter_role(Lane& lane) {
  const auto known = std::find(roles_.begin(), roles_.end(), lane.role);
  const auto number = static_cast<std::size_t>(known - roles_.begin());
  if (known == roles_.end()) roles_.emplace_back(lane.role);
  lane.warp->slow = schedule_ == Schedule::SlowRole && number == slow_role_;
}

// The runnable lanes of a warp that are slow, or those that are not.
std::uint32_t Scheduler::lanes_of(const Warp& warp, bool slow) const {
  std::uint32_t slow_lanes = warp.slow ? ~0u : 0u;
  if (schedule_ == Schedule::SlowLane) {
    const bool here = slow_warp_ % static_cast<int>(warps_.size()) == warp.number;
    slow_lanes = here ? 1u << slow_lane_ : 0u;
  }
  return warp.runnable & (slow ? slow_lanes : ~slow_lanes);
}

bool Scheduler::runnable(const Warp& warp, bool slow) const { return lanes_of(warp, slow) != 0; }

Warp* Scheduler::cyclic_warp(bool slow) {
  const auto count = static_cast<int>(warps_.size());
  for (int i = 0; i < count; ++i) {
    Warp* warp = warps_[static_cast<std::size_t>((current_ + i) % count)];
    if (warp != nullptr && runnable(*warp, slow)) return warp;
  }
  return nullptr;
}

Warp* Scheduler::pick_warp(bool slow) {
  if (schedule_ == Schedule::RoundRobin) return cyclic_warp(slow);
  if (schedule_ == Schedule::Priority) {
    Warp* best = nullptr;
    for (Warp* warp : warps_) {
      if (warp == nullptr || !runnable(*warp, slow)) continue;
      const auto at = [&](const Warp* w) { return priority_[static_cast<std::size_t>(w->number)]; };
      if (best == nullptr || at(warp) > at(best)) best = warp;
    }
    return best;
  }
  if (draw(patience_) == 0) current_ = static_cast<int>(draw(warps_.size()));
  return cyclic_warp(slow);
}

Lane* Scheduler::pick_lane(Warp& warp) {
  const bool slow = lanes_of(warp, false) == 0;
  const std::uint32_t lanes = lanes_of(warp, slow);
  int from = warp.last_lane + 1;
  if (schedule_ != Schedule::RoundRobin && draw(patience_) == 0) {
    from = static_cast<int>(draw(kLanes));
  }
  const std::uint32_t turned = std::rotr(lanes, from % kLanes);
  warp.last_lane = (from + std::countr_zero(turned)) % kLanes;
  return &warp.lanes[static_cast<std::size_t>(warp.last_lane)];
}

Lane* Scheduler::next(const Lane* yielding) {
  ++steps_;
  if (yielding != nullptr) {
    if (schedule_ == Schedule::Priority) {
      priority_[static_cast<std::size_t>(yielding->warp->number)] = --lowest_;
    } else if (current_ == yielding->warp->number) {
      current_ = (current_ + 1) % static_cast<int>(warps_.size());
    }
  }
  if (warps_.empty()) return nullptr;
  Warp* warp = pick_warp(false);
  if (warp == nullptr) warp = pick_warp(true);
  if (warp == nullptr) return nullptr;
  current_ = warp->number;
  return pick_lane(*warp);
}

bool Scheduler::gives_way() {
  switch (schedule_) {
    case Schedule::RoundRobin:
      return false;
    case Schedule::Priority:
      return std::find(changes_.begin(), changes_.end(), ++steps_) != changes_.end();
    default:
      return draw(patience_ * 4) == 0;
  }
}

AsyncRef Scheduler::due_operation() {
  if (in_flight_.empty() || schedule_ == Schedule::CopiesLate) return nullptr;
  if (schedule_ == Schedule::RoundRobin) return steps_ % 32 == 0 ? in_flight_.front() : nullptr;
  return draw(patience_) == 0 ? any_operation() : nullptr;
}

AsyncRef Scheduler::any_operation() {
  if (in_flight_.empty()) return nullptr;
  if (schedule_ == Schedule::RoundRobin) return in_flight_.front();
  return in_flight_[draw(in_flight_.size())];
}

AsyncRef Scheduler::copy_into(const Block& block) const {
  for (const auto& operation : in_flight_) {
    const auto& targets = operation->targets;
    for (std::size_t i = operation->done; i < targets.size(); ++i) {
      if (targets[i] == &block) return operation;
    }
  }
  return nullptr;
}

void Scheduler::retire(const AsyncRef& operation) {
  in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), operation));
}

}  // namespace jfa::emulator
