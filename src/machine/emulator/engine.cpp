#include "machine/emulator/engine.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace jfa::emulator {
namespace {

thread_local Engine* current_engine = nullptr;

// Ends a run: thrown through whatever a thread is doing, so that its stack is unwound.
struct Stopped {};

// The memory of a block starts at a multiple of this, so that an offset has a block.
constexpr std::size_t kSlotBytes = std::size_t{256} * 1024;
constexpr int kSecondChances = 4;
constexpr std::size_t kReaderSets = 1u << 16;

// Shared memory of `slots` blocks, kept by the host thread from run to run.
std::byte* shared_memory(std::size_t slots) {
  thread_local std::vector<std::byte> memory;
  const std::size_t wanted = (slots + 1) * kSlotBytes;
  if (memory.size() < wanted) memory.resize(wanted);
  const auto past = reinterpret_cast<std::uintptr_t>(memory.data()) % kSlotBytes;
  return memory.data() + (kSlotBytes - past) % kSlotBytes;
}

int registers_at_entry(const LaunchShape& shape) {
  if (shape.registers != 0) return shape.registers;
  return std::min(255, kRegisterFile / shape.threads / 8 * 8);
}

void check_shape(const LaunchShape& shape) {
  const auto refuse = [](const std::string& what) {
    throw std::invalid_argument("launch: " + what);
  };
  if (shape.threads < kLanes || shape.threads > 1024 || shape.threads % kLanes != 0) {
    refuse("threads is " + std::to_string(shape.threads) + "; allowed: multiples of 32 up to 1024");
  }
  if (shape.cluster < 1 || shape.cluster > 16) {
    refuse("cluster is " + std::to_string(shape.cluster) + "; allowed: 1 to 16");
  }
  if (shape.grid < 0 || shape.grid > 0xffff || shape.grid % shape.cluster != 0) {
    refuse("grid is " + std::to_string(shape.grid) +
           "; allowed: multiples of the cluster up to 65535");
  }
}

}  // namespace

Engine::Engine(Device& device, const RunOptions& options)
    : device_(device),
      options_(options),
      scheduler_(options.schedule, options.seed),
      reader_limit_(kReaderSets) {}

Engine& Engine::current() { return *current_engine; }
Engine* Engine::current_or_null() { return current_engine; }

RunResult Engine::run(const LaunchShape& shape, Body body) {
  check_shape(shape);
  shape_ = shape;
  body_ = std::move(body);
  if (shape.smem_bytes > kMaxSmemBytes) {
    set_finding({FindingKind::Divergence, "shared memory of " + std::to_string(shape.smem_bytes) +
                                              " bytes; an SM has " +
                                              std::to_string(kMaxSmemBytes)});
    return std::move(result_);
  }
  const int most = options_.resident_blocks == 0 ? shape.grid : options_.resident_blocks;
  const int resident = std::max(shape.cluster, most / shape.cluster * shape.cluster);
  slots_.assign(static_cast<std::size_t>(std::min(resident, std::max(shape.grid, 1))), nullptr);
  arena_ = shared_memory(slots_.size());
  copy_names_.resize(static_cast<std::size_t>(shape.grid));
  device_.launch_boundary();

  Engine* outer = std::exchange(current_engine, this);
  try {
    main_loop();
  } catch (const Stopped&) {
  }
  if (aborting_) unwind_lanes();
  current_engine = outer;
  for (const auto& cluster : clusters_) give_stacks_back(*cluster);
  clusters_.clear();
  if (exception_) std::rethrow_exception(exception_);
  for (auto& site : sync_sites_) {
    if (site) result_.sites.push_back(std::move(*site));
  }
  result_.events = static_cast<std::uint64_t>(events_);
  for (SiteId id = 0; id < sites_.size(); ++id) trace_.sites.push_back(sites_[id]);
  result_.trace = std::move(trace_);
  return std::move(result_);
}

void Engine::main_loop() {
  while (!aborting_) {
    while (next_block_ < shape_.grid &&
           std::count(slots_.begin(), slots_.end(), nullptr) >= shape_.cluster) {
      start_cluster(next_block_);
      next_block_ += shape_.cluster;
    }
    Lane* lane = choose(nullptr);
    if (lane != nullptr) {
      running_ = lane;
      Context::switch_to(main_, lane->context);
    } else if (clusters_.empty()) {
      break;
    } else if (!cluster_ended_) {
      report_deadlock();
      break;
    }
    if (cluster_ended_ && !aborting_) retire_clusters();
  }
}

// Ends the run from wherever it is.
void Engine::stop() {
  aborting_ = true;
  throw Stopped{};
}

// The same from a destructor, which cannot throw: the thread stays where it is.
void Engine::stop_here() {
  aborting_ = true;
  running_->stuck = true;
  Lane* lane = std::exchange(running_, nullptr);
  Context::finish(lane->context, main_);
}

// After a run that ended early: unwinds every thread that has begun and is not done.
void Engine::unwind_lanes() {
  for (const auto& cluster : clusters_) {
    for (const auto& block : cluster->blocks) {
      for (const auto& warp : block->warps) {
        for (auto& lane : warp->lanes) {
          if (!lane.started || lane.exited || lane.stuck) continue;
          running_ = &lane;
          Context::switch_to(main_, lane.context);
        }
      }
    }
  }
}

void Engine::start_cluster(int first_block) {
  auto cluster = std::make_unique<Cluster>();
  for (int rank = 0; rank < shape_.cluster; ++rank) start_block(*cluster, first_block + rank, rank);
  clusters_.push_back(std::move(cluster));
}

void Engine::start_block(Cluster& cluster, int index, int rank) {
  auto block = std::make_unique<Block>();
  const auto slot = std::find(slots_.begin(), slots_.end(), nullptr);
  *slot = block.get();
  block->index = index;
  block->slot = static_cast<int>(slot - slots_.begin());
  block->rank = rank;
  block->cluster = &cluster;
  block->smem = arena_ + kSlotBytes * static_cast<std::size_t>(block->slot);
  std::memset(block->smem, 0xff, shape_.smem_bytes);
  block->shadow = std::make_unique<Shadow>(shape_.smem_bytes, false, device_.readers());
  block->warpgroups.resize(static_cast<std::size_t>((shape_.threads + 127) / 128));
  block->live = shape_.threads;
  cluster.live += shape_.threads;
  const int registers = registers_at_entry(shape_);
  block->free_registers = kRegisterFile - registers * shape_.threads;
  copy_names_[static_cast<std::size_t>(index)].resize(kCopySlots);
  for (int w = 0; w < shape_.threads / kLanes; ++w) {
    auto warp = std::make_unique<Warp>();
    warp->block = block.get();
    warp->index = w;
    warp->registers = registers;
    scheduler_.add(*warp);
    for (int l = 0; l < kLanes; ++l) start_lane(*block, *warp, l);
    block->warps.push_back(std::move(warp));
  }
  cluster.blocks.push_back(std::move(block));
}

void Engine::start_lane(Block& block, Warp& warp, int l) {
  Lane& lane = warp.lanes[static_cast<std::size_t>(l)];
  lane.agent = {static_cast<std::uint16_t>(block.index), static_cast<std::uint8_t>(warp.index),
                static_cast<std::uint8_t>(l)};
  lane.block = &block;
  lane.warp = &warp;
  lane.thread = warp.index * kLanes + l;
  lane.stack = stacks_.take();
  lane.context.start(lane.stack, &Engine::lane_main, &lane);
  scheduler_.wake(lane);
}

void Engine::lane_main(void* argument) {
  Engine& engine = current();
  Lane& lane = *static_cast<Lane*>(argument);
  lane.started = true;
  Lane* next = nullptr;
  try {
    engine.body_(lane.block->smem);
    next = engine.exit_lane();
  } catch (const Stopped&) {
  } catch (...) {
    engine.exception_ = std::current_exception();
    engine.aborting_ = true;
  }
  lane.exited = true;
  engine.running_ = next;
  Context::finish(lane.context, next != nullptr ? next->context : engine.main_);
}

// The running lane has done its work: says who runs next, null for the main loop.
Lane* Engine::exit_lane() {
  Lane& lane = self();
  check_exit(lane);
  record(EventKind::Exit, kNoSite);
  lane.exited = true;
  lane.warp->exited |= 1u << lane.agent.lane;
  scheduler_.park(lane);
  --lane.block->live;
  if (--lane.block->cluster->live == 0) cluster_ended_ = true;
  progress();
  return cluster_ended_ ? nullptr : choose(nullptr);
}

// The block's last thread exits while a copy into its memory is in flight.
void Engine::refuse_flight(const AsyncRef& op) {
  const bool early = op->barrier != nullptr && op->barrier->phase > op->phase;
  Problem problem{early ? FindingKind::BarrierBytes : FindingKind::UnorderedOverwrite,
                  "the block exits while a copy into its shared memory is in flight",
                  op->site,
                  {},
                  op->what,
                  op->site};
  if (early) problem.what += ": its phase completed without it";
  fail(std::move(problem));
}

void Engine::check_exit(Lane& lane) {
  const auto refuse = [&](const AsyncRef& op, const char* what) {
    fail({FindingKind::UnorderedOverwrite, what, op->site, {}, op->what, op->site});
  };
  for (const auto& group : lane.bulk_groups) {
    for (const auto& op : group) {
      if (!op->read_waited) {
        refuse(op, "the thread exits without waiting for a copy that reads its shared memory");
      }
    }
  }
  if (!lane.bulk_open.empty()) {
    refuse(lane.bulk_open.front(), "the thread exits with a bulk copy that it never committed");
  }
  join(lane.block->exit_known, lane.known.generic);
  if (lane.block->live == 1) {
    if (const AsyncRef op = scheduler_.copy_into(*lane.block)) refuse_flight(op);
    if (!covers(lane.block->exit_known, lane.block->copies)) {
      fail({FindingKind::UnorderedOverwrite,
            "the block exits, and no thread of it has waited for the end of a copy that uses its "
            "shared memory"});
    }
    if (lane.block->tensor && !lane.block->tensor->allocations.empty()) {
      fail({FindingKind::TensorMemory, "the block exits with tensor memory that it has not freed"});
    }
  }
  const Collective& collective = lane.warp->collective;
  if (collective.arrived != 0) {
    fail({FindingKind::Divergence,
          std::string("the thread exits while lanes of its warp are at ") + collective.word,
          collective.site});
  }
}

void Engine::retire_clusters() {
  cluster_ended_ = false;
  std::erase_if(clusters_, [&](const std::unique_ptr<Cluster>& cluster) {
    if (cluster->live != 0) return false;
    for (auto& block : cluster->blocks) {
      slots_[static_cast<std::size_t>(block->slot)] = nullptr;
      for (auto& warp : block->warps) scheduler_.remove(*warp);
    }
    give_stacks_back(*cluster);
    return true;
  });
}

void Engine::give_stacks_back(const Cluster& cluster) {
  for (const auto& block : cluster.blocks) {
    for (const auto& warp : block->warps) {
      for (const auto& lane : warp->lanes) stacks_.give(lane.stack);
    }
  }
}

Lane* Engine::choose(const Lane* yielding) {
  while (AsyncRef due = scheduler_.due_operation()) {
    act(due);
    if (options_.schedule != Schedule::Random) break;
  }
  while (true) {
    if (Lane* lane = scheduler_.next(yielding)) return lane;
    if (AsyncRef any = scheduler_.any_operation()) {
      act(any);
    } else if (!second_chance()) {
      return nullptr;
    }
  }
}

void Engine::act(const AsyncRef& operation) {
  operation->steps[operation->done]();
  ++operation->done;
  if (operation->finished()) {
    record(EventKind::Complete, operation->epoch.agent, operation->site, object(operation->what),
           -1, operation->issue);
    scheduler_.retire(operation);
  }
  wake_all(operation->waiters);
  progress();
}

void Engine::launch_operation(const AsyncRef& operation, const Agent& issuer) {
  operation->issue = record(EventKind::Issue, issuer, operation->site, object(operation->what));
  scheduler_.issue(operation);
  if (!scheduler_.acts_at_issue()) return;
  while (!operation->finished()) act(operation);
}

Epoch Engine::new_copy(Block& block, const std::string& what) {
  const std::size_t slot = block.next_copy++ % kCopySlots;
  Time& time = block.copy_times[slot];
  time += 2;  // a store's write to global memory is the moment after its read
  copy_names_[static_cast<std::size_t>(block.index)][slot] = {time, what};
  const auto row = static_cast<std::uint8_t>(kWarpRows + kTensorRows + slot / kLanes);
  return {{static_cast<std::uint16_t>(block.index), row, static_cast<std::uint8_t>(slot % kLanes)},
          time};
}

void Engine::reschedule(const Lane* yielding) {
  compact_readers();
  Lane* before = running_;
  Lane* next = choose(yielding);
  if (next == before) return;
  running_ = next;
  Context::switch_to(before->context, next != nullptr ? next->context : main_);
  if (aborting_) throw Stopped{};
}

void Engine::block() {
  scheduler_.park(self());
  reschedule(nullptr);
}

void Engine::maybe_yield() {
  if (scheduler_.gives_way()) reschedule(&self());
}

void Engine::poll(const WaitState& wait) {
  Lane& lane = self();
  if (lane.polled_at != progress_) {
    lane.polled_at = progress_;
    reschedule(&lane);
    return;
  }
  lane.wait = wait;
  pollers_.push_back(&lane);
  block();
  lane.wait = {};
}

bool Engine::asks_again(const void* what, SiteId at) {
  Lane& lane = self();
  const bool again = lane.asked == what && lane.asked_site == at && lane.asked_at == progress_;
  lane.asked = what;
  lane.asked_site = at;
  lane.asked_at = progress_;
  return again;
}

void Engine::wake_pollers() {
  if (pollers_.empty()) return;
  for (Lane* lane : pollers_) scheduler_.wake(*lane);
  pollers_.clear();
}

// Nothing can move: pollers look again a few times before that counts as a deadlock.
bool Engine::second_chance() {
  if (pollers_.empty()) return false;
  if (second_chance_at_ != progress_) {
    second_chance_at_ = progress_;
    second_chances_ = 0;
  }
  if (++second_chances_ > kSecondChances) return false;
  wake_pollers();
  return true;
}

void Engine::wake_all(std::vector<Lane*>& lanes) {
  for (Lane* lane : lanes) scheduler_.wake(*lane);
  lanes.clear();
}

Block* Engine::block_of(const void* pointer) {
  const auto* at = static_cast<const std::byte*>(pointer);
  if (at < arena_ || at >= arena_ + kSlotBytes * slots_.size()) return nullptr;
  Block* block = slots_[static_cast<std::size_t>(at - arena_) / kSlotBytes];
  if (block == nullptr || at >= block->smem + shape_.smem_bytes) return nullptr;
  return block;
}

std::uint32_t Engine::offset_in(const Block& block, const void* pointer) const {
  return static_cast<std::uint32_t>(static_cast<const std::byte*>(pointer) - block.smem);
}

Block& Engine::peer(int rank, SiteId at) {
  Cluster& cluster = *self().block->cluster;
  if (rank < 0 || rank >= static_cast<int>(cluster.blocks.size())) {
    fail({FindingKind::OutOfBounds,
          "rank " + std::to_string(rank) + " of a cluster of " +
              std::to_string(cluster.blocks.size()),
          at});
  }
  Block& block = *cluster.blocks[static_cast<std::size_t>(rank)];
  if (block.live == 0) {
    fail({FindingKind::CrossBlock,
          "shared memory of a block that has exited",
          at,
          {},
          "block " + std::to_string(block.index)});
  }
  return block;
}

void Engine::touch_global(const void* pointer, std::size_t bytes, const Access& access,
                          const std::string& who) {
  Buffer* buffer = device_.find(pointer);
  const auto* at = static_cast<const std::byte*>(pointer);
  const bool reads = access.kind == AccessKind::Read || access.kind == AccessKind::AtomicRead;
  if (buffer == nullptr || at + bytes > buffer->begin + buffer->bytes) {
    fail({FindingKind::OutOfBounds,
          std::string(to_string(access.kind)) + " of " + std::to_string(bytes) + " bytes " +
              device_.locate(pointer),
          access.site, who});
  }
  if (!buffer->shadow) {
    if (reads) return;
    fail({FindingKind::OutOfBounds,
          std::string(to_string(access.kind)) + " of input " + buffer->name, access.site, who});
  }
  const Lane& lane = self();
  const Viewpoint view{&lane.known.generic, &lane.known.async, lane.agent, lane.fenced};
  const auto offset = static_cast<std::uint64_t>(at - buffer->begin);
  if (const auto conflict = buffer->shadow->touch(offset, bytes, access, {&view, 1})) {
    fail_conflict(*conflict, access, buffer->name + " at byte " + std::to_string(conflict->offset),
                  Memory::Global, who);
  }
}

SiteId Engine::site(const CallSite& call) {
  const SiteId id = sites_.id(call);
  if (id >= sync_sites_.size()) {
    sync_sites_.resize(id + 1);
    if (options_.mutant && same_place(call, options_.mutant->site)) mutant_site_ = id;
  }
  return id;
}

std::optional<Mutation> Engine::sync_site(SiteId id, std::initializer_list<Mutation> applicable) {
  auto& known = sync_sites_[id];
  if (!known) known = SyncSite{sites_[id], applicable};
  if (id == mutant_site_ && id != kNoSite) {
    const Mutation asked = options_.mutant->mutation;
    if (std::find(applicable.begin(), applicable.end(), asked) != applicable.end()) return asked;
  }
  return std::nullopt;
}

// Forgets the reader sets that no cell holds any more.
void Engine::compact_readers() {
  ReaderTable& readers = device_.readers();
  if (readers.size() < reader_limit_) return;
  ReaderTable kept;
  device_.move_readers(kept);
  for (Block* block : slots_) {
    if (block == nullptr) continue;
    block->shadow->move_readers(kept);
    if (block->tensor) block->tensor->shadow.move_readers(kept);
  }
  readers = std::move(kept);
  reader_limit_ = std::max(kReaderSets, 2 * readers.size());
}

void Engine::enter_role(const char* name) {
  Lane& lane = self();
  lane.role = name;
  if (*name == '\0') return;
  scheduler_.enter_role(lane);
  if (options_.trace) trace_.lanes.push_back({lane.agent, name});
  record(EventKind::Role, kNoSite, object(name));
}

}  // namespace jfa::emulator
