// One launch of one kernel: runs its threads as fibers, its copies as agents, and stops at the
// first finding. Everything happens on one host thread; the same options give the same run.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine/emulator/device.hpp"
#include "machine/emulator/options.hpp"
#include "machine/emulator/scheduler.hpp"
#include "machine/emulator/thread.hpp"

namespace jfa::emulator {

// What a thread runs: the kernel, on its block's shared memory.
using Body = std::function<void(std::byte* smem)>;

// Hardware limits of an SM with compute capability 9.0.
inline constexpr std::size_t kMaxSmemBytes = std::size_t{227} * 1024;
inline constexpr int kRegisterFile = 64 * 1024;
inline constexpr int kNamedBarriers = 16;

// A finding in the making; the engine adds who, where and when.
struct Problem {
  FindingKind kind;
  std::string what;
  SiteId site = kNoSite;
  std::string who = {};  // empty: the lane that runs
  std::string other = {};
  SiteId other_site = kNoSite;
  BarrierState barrier = {};
};

// Which memory an access is to.
enum class Memory : std::uint8_t { Shared, Global, Tensor };

class Engine {
 public:
  Engine(Device& device, const RunOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  RunResult run(const LaunchShape& shape, Body body);

  // The engine whose kernel runs on this host thread.
  static Engine& current();
  // Null outside a launch (destructors of host objects ask).
  static Engine* current_or_null();

  // --- for the primitives ---
  Lane& self() { return *running_; }
  Device& device() { return device_; }
  const LaunchShape& shape() const { return shape_; }
  std::uint64_t events() const { return static_cast<std::uint64_t>(events_); }
  bool aborting() const { return aborting_; }

  SiteId site(const CallSite& site);
  // The mutation asked for at this site, if any; lists the site as one that orders something.
  std::optional<Mutation> sync_site(SiteId site, std::initializer_list<Mutation> applicable);

  // Gives way to other lanes if the schedule says so.
  void maybe_yield();
  // A failed poll: gives way, and once nothing has changed since the last one, waits for a change.
  void poll(const WaitState& wait);
  // Something happened that a poll may see.
  void progress() {
    ++progress_;
    wake_pollers();
  }
  void wake(Lane& lane) { scheduler_.wake(lane); }
  void wake_all(std::vector<Lane*>& lanes);
  // Waits until `ready()`, which does not hold yet; `waiters` is where whoever makes it ready finds
  // this lane.
  template <class Ready>
  void wait_until(const WaitState& wait, std::vector<Lane*>* waiters, Ready ready);
  // True if the running lane has already asked this at this site and nothing has changed since.
  bool asks_again(const void* what, SiteId site);

  // Puts an operation in flight and lets it act at once if the schedule says so.
  void launch_operation(const AsyncRef& operation, const Agent& issuer);
  Epoch new_copy(Block& block, const std::string& what);

  Block* block_of(const void* smem_pointer);
  std::uint32_t offset_in(const Block& block, const void* pointer) const;
  // The block of the running lane's cluster with this rank; its launch has not ended.
  Block& peer(int rank, SiteId site);

  // Checks and records an access of global memory by the running lane or a copy it issues, which
  // `who` then names.
  void touch_global(const void* pointer, std::size_t bytes, const Access& access,
                    const std::string& who);
  // What releases to an address of global memory have ordered, by scope.
  struct GlobalOrder {
    Knowledge grid;
    std::unordered_map<int, Knowledge> block;  // by block
  };
  GlobalOrder& global_order(const void* pointer) { return global_order_[pointer]; }

  // Reports a problem and ends the run: does not return, and unwinds the thread that runs.
  [[noreturn]] void fail(Problem problem);
  // The same where nothing may be thrown.
  [[noreturn]] void fail_in_destructor(Problem problem);
  [[noreturn]] void fail_conflict(const Conflict& conflict, const Access& access,
                                  const std::string& where, Memory memory, const std::string& who);
  void note_pedantic(const Conflict& conflict, const Access& access, const std::string& where);
  std::string describe(const Lane& lane) const;
  std::string describe(const Agent& agent, Time time) const;

  std::int64_t record(EventKind kind, Agent who, SiteId site, std::uint32_t object = 0,
                      std::int64_t phase = -1, std::int64_t cause = kNoEvent);
  std::int64_t record(EventKind kind, SiteId site, std::uint32_t object = 0,
                      std::int64_t phase = -1, std::int64_t cause = kNoEvent) {
    return record(kind, running_->agent, site, object, phase, cause);
  }
  std::uint32_t object(const std::string& name);
  void enter_role(const char* name);

 private:
  static void lane_main(void* lane);
  Lane* exit_lane();
  void check_exit(Lane& lane);
  [[noreturn]] void refuse_flight(const AsyncRef& operation);
  void start_cluster(int first_block);
  void start_block(Cluster& cluster, int index, int rank);
  void start_lane(Block& block, Warp& warp, int lane);
  void retire_clusters();
  void give_stacks_back(const Cluster& cluster);
  void main_loop();
  // Leaves the running lane, which is parked or yields, for the next one.
  void reschedule(const Lane* yielding);
  void act(const AsyncRef& operation);
  Lane* choose(const Lane* yielding);
  void wake_pollers();
  bool second_chance();
  void block();
  [[noreturn]] void stop();
  [[noreturn]] void stop_here();
  void unwind_lanes();
  void compact_readers();
  void report_deadlock();
  void set_finding(Problem problem);
  std::vector<std::string> waiting_lanes() const;
  std::vector<std::string> last_events() const;
  std::string describe(const Event& event) const;

  Device& device_;
  RunOptions options_;
  LaunchShape shape_;
  Body body_;
  Scheduler scheduler_;
  SiteTable sites_;
  std::vector<std::optional<SyncSite>> sync_sites_;  // by SiteId
  SiteId mutant_site_ = kNoSite;

  Context main_;
  StackPool& stacks_ = StackPool::of_this_thread();
  std::byte* arena_ = nullptr;  // the blocks' shared memory, a slot a resident block
  std::vector<Block*> slots_;
  std::vector<std::unique_ptr<Cluster>> clusters_;  // resident
  int next_block_ = 0;
  Lane* running_ = nullptr;
  bool aborting_ = false;
  bool cluster_ended_ = false;
  std::vector<Lane*> pollers_;
  std::int64_t progress_ = 0;
  int second_chances_ = 0;
  std::int64_t second_chance_at_ = -1;

  struct CopyName {
    Time time = 0;
    std::string what;
  };
  std::unordered_map<const void*, GlobalOrder> global_order_;
  std::vector<std::vector<CopyName>> copy_names_;  // by block, by slot of the clock
  Trace trace_;
  std::unordered_map<std::string, std::uint32_t> object_ids_;
  std::vector<Event> recent_;
  std::int64_t events_ = 0;
  RunResult result_;
  std::exception_ptr exception_;
  std::size_t reader_limit_;
};

template <class Ready>
void Engine::wait_until(const WaitState& wait, std::vector<Lane*>* waiters, Ready ready) {
  Lane& lane = self();
  lane.wait = wait;
  if (wait.kind != WaitState::Kind::Collective) {
    record(EventKind::Wait, wait.site, object(wait.object), wait.phase);
  }
  while (!ready()) {
    if (waiters != nullptr) waiters->push_back(&lane);
    block();
  }
  lane.wait = {};
}

}  // namespace jfa::emulator
