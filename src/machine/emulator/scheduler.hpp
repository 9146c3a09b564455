// Who moves next: the schedules, each replayable by its seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "machine/emulator/options.hpp"
#include "machine/emulator/thread.hpp"

namespace jfa::emulator {

class Scheduler {
 public:
  Scheduler(Schedule schedule, std::uint64_t seed);

  void add(Warp& warp);
  void remove(Warp& warp);
  void wake(Lane& lane);
  void park(Lane& lane);
  // Says that `lane` runs in a role from now on.
  void enter_role(Lane& lane);

  // The next lane to run, or null when every lane waits. `yielding`: the lane that gives way.
  Lane* next(const Lane* yielding);
  // Whether the lane that runs gives way at this synchronization.
  bool gives_way();

  void issue(AsyncRef operation) { in_flight_.push_back(std::move(operation)); }
  bool acts_at_issue() const { return schedule_ == Schedule::CopiesEarly; }
  // An operation that is to act before the next lane moves, or null.
  AsyncRef due_operation();
  // Any operation in flight, for when no lane can move; null when none is.
  AsyncRef any_operation();
  // An operation in flight that writes the shared memory of `block`, or null.
  AsyncRef copy_into(const Block& block) const;
  // Takes a finished operation out.
  void retire(const AsyncRef& operation);

 private:
  std::uint64_t draw(std::uint64_t below);
  Warp* pick_warp(bool slow);
  Warp* cyclic_warp(bool slow);
  Lane* pick_lane(Warp& warp);
  bool runnable(const Warp& warp, bool slow) const;
  std::uint32_t lanes_of(const Warp& warp, bool slow) const;

  Schedule schedule_;
  std::mt19937_64 random_;
  std::uint64_t patience_;              // a lane gives way once in so many synchronizations
  std::vector<Warp*> warps_;            // by number; null where free
  std::vector<std::int64_t> priority_;  // by warp number
  std::uint64_t steps_ = 0;
  std::vector<std::uint64_t> changes_;  // PCT: steps at which the running warp falls behind
  std::int64_t lowest_ = 0;
  int current_ = 0;
  int slow_warp_ = -1;
  int slow_lane_ = -1;
  std::size_t slow_role_ = 0;
  std::vector<std::string> roles_;
  std::vector<AsyncRef> in_flight_;
};

}  // namespace jfa::emulator
