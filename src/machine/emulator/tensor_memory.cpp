// Tensor memory: allocation, loads and stores by warps, MMAs by threads, and what orders them.
#include "machine/emulator/tensor_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "machine/emulator/primitives.hpp"

namespace jfa::emulator {
namespace {

constexpr int kLeastColumns = 32;
constexpr int kOperandColumns = 8;  // of one k16 step of A: 16-bit elements in pairs
constexpr std::uint64_t kCellBytes = 4;

Agent tensor_unit(const Warp& warp, TensorUnit unit) {
  const int row = kWarpRows + static_cast<int>(unit) * kWarpRows + warp.index;
  return {static_cast<std::uint16_t>(warp.block->index), static_cast<std::uint8_t>(row), kWholeRow};
}

Time& issued(Warp& warp, TensorUnit unit) {
  return warp.tensor_issued[static_cast<std::size_t>(unit)];
}

[[noreturn]] void refuse(Engine& engine, std::string what, SiteId site) {
  engine.fail({FindingKind::TensorMemory, std::move(what), site});
}

std::string columns_text(int first, int count) {
  return "columns " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

TensorMemory& allocated(Engine& engine, Block& block, int first, int count, SiteId site) {
  auto& tensor = block.tensor;
  if (tensor == nullptr || !tensor->holds(first, count)) {
    refuse(engine,
           columns_text(first, count) + " of tensor memory" +
               (&block == engine.self().block ? "" : " of the pair's other block") +
               " are used and not allocated",
           site);
  }
  return *tensor;
}

void check_group(Engine& engine, const TensorMemory& tensor, int blocks, SiteId site) {
  if (tensor.blocks == blocks) return;
  refuse(engine,
         "cta_group::" + std::to_string(blocks) + ", where tensor memory was allocated with " +
             std::to_string(tensor.blocks),
         site);
}

// The block of the running lane, or both of its pair, the first first.
std::vector<Block*> group_of(Engine& engine, int blocks, SiteId site) {
  if (blocks == 1) return {engine.self().block};
  if (engine.shape().cluster != blocks) {
    refuse(engine, "a pair that is not a cluster of two blocks", site);
  }
  return {&engine.peer(0, site), &engine.peer(1, site)};
}

void touch(Engine& engine, TensorMemory& tensor, const Lane& lane, int row, int first, int count,
           const Access& access, const std::string& who) {
  // MMAs of one thread are in order; loads and stores are ordered by their waits alone.
  const bool is_mma = access.epoch.agent == tensor_unit(*lane.warp, TensorUnit::Mma);
  const Viewpoint view{&lane.tensor_seen, &lane.tensor_seen,
                       is_mma ? std::optional<Agent>(access.epoch.agent) : std::nullopt,
                       std::numeric_limits<Time>::max()};
  const auto offset = static_cast<std::uint64_t>(tensor.cell(row, first) - tensor.cells.data());
  const auto conflict = tensor.shadow.touch(
      offset * kCellBytes, static_cast<std::uint64_t>(count) * kCellBytes, access, {&view, 1});
  if (!conflict) return;
  const auto cell = static_cast<int>(conflict->offset / kCellBytes);
  std::string where = "tensor memory lane " + std::to_string(cell / kTensorColumns) + ", column " +
                      std::to_string(cell % kTensorColumns);
  if (conflict->verdict == Verdict::Unordered &&
      knows(lane.known.generic, conflict->earlier.epoch)) {
    where += " (threads are in order, a tcgen05 fence is missing)";
  }
  engine.fail_conflict(*conflict, access, where, Memory::Tensor, who);
}

// ---- loads and stores

struct MoveItem {
  std::uint32_t address;
  int columns;
  std::uint32_t* registers;
  SiteId site;
};

void move_warp(Engine& engine, Warp& warp, const Payloads& payloads, TensorUnit unit) {
  const auto& first = *static_cast<const MoveItem*>(payloads[0]);
  for (const auto* payload : payloads) {
    if (static_cast<const MoveItem*>(payload)->address != first.address) {
      refuse(engine, "lanes of one warp give different addresses of tensor memory", first.site);
    }
  }
  const TensorAddress at = TensorAddress::of(first.address);
  const int own = warp.index % 4 * kLanes;
  if (at.lane != own) {
    refuse(engine,
           "a warp reaches for lane " + std::to_string(at.lane) +
               " of tensor memory; its own are " + std::to_string(own) + " to " +
               std::to_string(own + kLanes - 1),
           first.site);
  }
  TensorMemory& tensor = allocated(engine, *warp.block, at.column, first.columns, first.site);
  const bool loads = unit == TensorUnit::Load;
  const Access access{{tensor_unit(warp, unit), ++issued(warp, unit)},
                      first.site,
                      loads ? AccessKind::Read : AccessKind::Write,
                      false};
  const std::string who =
      std::string(loads ? "load" : "store") + " issued by " + engine.describe(engine.self());
  for (int l = 0; l < kLanes; ++l) {
    const auto& item = *static_cast<const MoveItem*>(payloads[static_cast<std::size_t>(l)]);
    touch(engine, tensor, warp.lanes[static_cast<std::size_t>(l)], own + l, at.column, item.columns,
          access, who);
    std::uint32_t* cells = tensor.cell(own + l, at.column);
    if (loads) {
      std::copy_n(cells, item.columns, item.registers);
    } else {
      std::copy_n(item.registers, item.columns, cells);
    }
  }
}

// The loads or stores that a warp has issued are complete.
void wait_for_unit(TensorUnit unit, const CallSite& call) {
  Engine& engine = Engine::current();
  if (engine.sync_site(engine.site(call), {Mutation::Drop})) return;
  meet(call, nullptr, nullptr);
  Lane& lane = engine.self();
  const Epoch done{tensor_unit(*lane.warp, unit), issued(*lane.warp, unit)};
  raise(lane.tensor_seen, done);
  raise(lane.known.generic, done);
  if (unit == TensorUnit::Load) lane.tensor_loaded = done.time;
}

// ---- MMAs

void touch_operand(Engine& engine, const Block& block, const OperandLayout& layout,
                   const char* which, const Access& access, const std::string& who) {
  const Lane& lane = engine.self();
  std::string error = tensor_descriptor_error(layout);
  if (error.empty()) error = descriptor_error(layout, engine.shape().smem_bytes);
  if (!error.empty()) {
    engine.fail({FindingKind::OutOfBounds, std::string(which) + ": " + error, access.site});
  }
  const Viewpoint view = viewpoint(lane);
  if (const auto conflict = block.shadow->touch(granules(layout), access, {&view, 1})) {
    engine.fail_conflict(*conflict, access,
                         std::string("MMA operand ") + which + ", shared memory at offset " +
                             std::to_string(conflict->offset),
                         Memory::Shared, who);
  }
}

void touch_accumulator(Engine& engine, Block& block, const TensorInstruction& step, Access access,
                       const std::string& who) {
  const TensorAddress at = TensorAddress::of(step.d);
  if (at.lane != 0) refuse(engine, "an MMA of 128 rows begins at lane 0", access.site);
  TensorMemory& tensor = allocated(engine, block, at.column, step.columns, access.site);
  check_group(engine, tensor, step.blocks, access.site);
  access.async = false;
  for (int row = 0; row < kTensorLanes; ++row) {
    access.kind = AccessKind::Read;
    if (step.accumulate) {
      touch(engine, tensor, engine.self(), row, at.column, step.columns, access, who);
    }
    access.kind = AccessKind::Write;
    touch(engine, tensor, engine.self(), row, at.column, step.columns, access, who);
  }
}

void touch_left(Engine& engine, Block& block, const TensorInstruction& step, Access access,
                const std::string& who) {
  if (!step.a_in_tensor_memory) return touch_operand(engine, block, step.a, "A", access, who);
  const TensorAddress at = TensorAddress::of(step.a_address);
  if (at.lane != 0) refuse(engine, "an operand of 128 rows begins at lane 0", access.site);
  TensorMemory& tensor = allocated(engine, block, at.column, kOperandColumns, access.site);
  access.async = false;
  for (int row = 0; row < kTensorLanes; ++row) {
    touch(engine, tensor, engine.self(), row, at.column, kOperandColumns, access, who);
  }
}

void issue_mma(std::uint32_t d, std::uint32_t instruction, bool accumulate, TensorInstruction step,
               const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  if (auto error = decode_instruction(instruction, step); !error.empty()) {
    refuse(engine, std::move(error), site);
  }
  step.d = d;
  step.accumulate = accumulate;
  step.a.rows = kTensorLanes;
  step.b.rows = step.columns / step.blocks;
  Lane& lane = engine.self();
  Warp& warp = *lane.warp;
  const Access access{{tensor_unit(warp, TensorUnit::Mma), issued(warp, TensorUnit::Mma) + 1},
                      site,
                      AccessKind::Read,
                      true};
  const std::string who = "MMA issued by " + engine.describe(lane);
  // Steps of one product write the same cells at the same time.
  const auto& open = warp.tensor_pipe.open;
  const bool goes_on =
      accumulate && !open.empty() && open.back().d == d && open.back().columns == step.columns;
  for (Block* block : group_of(engine, step.blocks, site)) {
    touch_left(engine, *block, step, access, who);
    touch_operand(engine, *block, step.b, "B", access, who);
    if (!goes_on) touch_accumulator(engine, *block, step, access, who);
    raise(block->copies, access.epoch);
  }
  warp.tensor_pipe.open.push_back(step);
  warp.tensor_pipe.async = lane.known.async;
  warp.tensor_pipe.tensor = lane.tensor_seen;
}

void arrive(Engine& engine, const TensorCommit& commit) {
  Mbarrier& barrier = *commit.barrier;
  const auto fail = [&](const char* what) {
    Problem problem{FindingKind::Arrival, what, commit.site,
                    "block " + std::to_string(commit.epoch.agent.block) + " tensor core"};
    problem.barrier = state_of(barrier, commit.phase);
    engine.fail(std::move(problem));
  };
  if (barrier.phase != commit.phase)
    fail("a commit arrives in another phase than it was issued in");
  if (barrier.pending == 0) fail("a commit arrives where no arrival is missing");
  barrier.arrivals.add(commit.epoch);
  const bool remote = commit.epoch.agent.block != commit.block->index;
  Knowledge& gathered = remote ? barrier.gathered_remote : barrier.gathered;
  for (ClockRef* clock : {&gathered.generic, &gathered.async, &gathered.tensor, &gathered.causal}) {
    raise(*clock, commit.epoch);
  }
  raise(gathered.generic, commit.arrival);
  join(gathered.causal, commit.causal);
  join(gathered.generic, commit.async);
  join(gathered.async, commit.async);
  join(gathered.tensor, commit.tensor);
  --barrier.pending;
  const auto cause = engine.record(EventKind::Arrive, commit.epoch.agent, commit.site,
                                   barrier.object, barrier.phase);
  if (barrier.complete_if_due(cause)) engine.wake_all(barrier.waiters);
  engine.progress();
}

void start_arrival(Engine& engine, TensorCommit&& commit) {
  auto operation = std::make_shared<AsyncOperation>();
  operation->what = "commit";
  operation->site = commit.site;
  operation->epoch = commit.arrival;
  operation->targets.push_back(commit.block);
  operation->steps.emplace_back([&engine, commit] { arrive(engine, commit); });
  engine.launch_operation(operation, commit.epoch.agent);
}

// MMAs of a warp are done one after another; each commit arrives at some time after its own.
void start_front(Engine& engine, Block& block, std::size_t warp) {
  const TensorCommit& front = block.warps[warp]->tensor_pipe.commits.front();
  auto operation = std::make_shared<AsyncOperation>();
  operation->what = "MMAs of warp " + std::to_string(warp);
  operation->site = front.site;
  operation->epoch = front.epoch;
  std::vector<TensorBlock> memories;
  const bool pair = !front.instructions.empty() && front.instructions[0].blocks > 1;
  for (const auto& member : block.cluster->blocks) {
    if (!pair && member.get() != &block) continue;
    operation->targets.push_back(member.get());
    memories.push_back({member->smem, member->tensor.get()});
  }
  operation->steps.emplace_back([&engine, &block, warp, memories] {
    auto& commits = block.warps[warp]->tensor_pipe.commits;
    TensorCommit done = std::move(commits.front());
    commits.pop_front();
    execute(done.instructions, memories);
    start_arrival(engine, std::move(done));
    if (!commits.empty()) start_front(engine, block, warp);
  });
  engine.launch_operation(operation, front.epoch.agent);
}

}  // namespace

TensorMemory::TensorMemory(ReaderTable& readers, int of_blocks)
    : cells(std::size_t{kTensorLanes} * kTensorColumns, ~0u),
      shadow(cells.size() * kCellBytes, false, readers),
      blocks(of_blocks) {}

bool TensorMemory::holds(int first, int count) const {
  if (first < 0 || first + count > kTensorColumns) return false;
  for (int column = first; column < first + count;) {
    const auto after = allocations.upper_bound(column);
    if (after == allocations.begin()) return false;
    const auto [start, size] = *std::prev(after);
    if (column >= start + size) return false;
    column = start + size;
  }
  return true;
}

int TensorMemory::find_free(int count) const {
  for (int first = 0; first + count <= kTensorColumns; first += count) {
    const bool taken = std::any_of(allocations.begin(), allocations.end(), [&](const auto& one) {
      return one.first < first + count && one.first + one.second > first;
    });
    if (!taken) return first;
  }
  return -1;
}

void tensor_allocate(std::uint32_t* where, int columns, int blocks, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  meet(call, nullptr, nullptr);
  if (engine.self().agent.lane != 0) return;
  Block& block = *engine.self().block;
  if (!std::has_single_bit(static_cast<unsigned>(columns)) || columns < kLeastColumns ||
      columns > kTensorColumns) {
    refuse(engine,
           std::to_string(columns) +
               " columns of tensor memory; allowed: powers of two from 32 to 512",
           site);
  }
  if (!block.tensor) {
    block.tensor = std::make_unique<TensorMemory>(engine.device().readers(), blocks);
  }
  TensorMemory& tensor = *block.tensor;
  check_group(engine, tensor, blocks, site);
  if (tensor.relinquished) refuse(engine, "an allocation after the permit was given back", site);
  if (columns > tensor.last_count) {
    refuse(engine, "an allocation of more columns than the one before", site);
  }
  const int first = tensor.find_free(columns);
  if (first < 0) refuse(engine, "an allocation that waits forever: the columns are in use", site);
  tensor.allocations[first] = columns;
  tensor.last_count = columns;
  access_shared(where, sizeof(*where), AccessKind::Write, call);
  *where = static_cast<std::uint32_t>(first);
}

void tensor_relinquish(int blocks, const CallSite& call) {
  meet(call, nullptr, nullptr);
  Engine& engine = Engine::current();
  auto& tensor = engine.self().block->tensor;
  if (!tensor) return;
  check_group(engine, *tensor, blocks, engine.site(call));
  tensor->relinquished = true;
}

void tensor_free(std::uint32_t address, int columns, int blocks, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  if (engine.sync_site(site, {Mutation::Drop})) return;
  meet(call, nullptr, nullptr);
  Lane& lane = engine.self();
  if (lane.agent.lane != 0) return;
  const TensorAddress at = TensorAddress::of(address);
  TensorMemory& tensor = allocated(engine, *lane.block, at.column, columns, site);
  check_group(engine, tensor, blocks, site);
  const auto found = tensor.allocations.find(at.column);
  if (at.lane != 0 || found == tensor.allocations.end() || found->second != columns) {
    refuse(engine, columns_text(at.column, columns) + " are freed and were not allocated as one",
           site);
  }
  // Every access must be over; a free is no tcgen05 access of its own and needs no fence.
  const Access access{lane.now(), site, AccessKind::Write, false};
  const Viewpoint view = viewpoint(lane);
  for (int row = 0; row < kTensorLanes; ++row) {
    const auto cell = static_cast<std::uint64_t>(tensor.cell(row, at.column) - tensor.cells.data());
    if (const auto conflict =
            tensor.shadow.touch(cell * kCellBytes, static_cast<std::uint64_t>(columns) * kCellBytes,
                                access, {&view, 1})) {
      engine.fail_conflict(*conflict, access, columns_text(at.column, columns) + ", freed,",
                           Memory::Tensor, {});
    }
  }
  tensor.allocations.erase(found);
}

void tensor_load(std::uint32_t address, int columns, void* registers, FragmentState& state,
                 const CallSite& call) {
  Engine& engine = Engine::current();
  MoveItem item{address, columns, static_cast<std::uint32_t*>(registers), engine.site(call)};
  meet(call, &item, [](Engine& at, Warp& warp, const Payloads& payloads) {
    move_warp(at, warp, payloads, TensorUnit::Load);
  });
  state.load(issued(*engine.self().warp, TensorUnit::Load));
}

void tensor_store(std::uint32_t address, int columns, const void* registers, const CallSite& call) {
  Engine& engine = Engine::current();
  auto* values = const_cast<std::uint32_t*>(static_cast<const std::uint32_t*>(registers));
  MoveItem item{address, columns, values, engine.site(call)};
  meet(call, &item, [](Engine& at, Warp& warp, const Payloads& payloads) {
    move_warp(at, warp, payloads, TensorUnit::Store);
  });
}

void tensor_wait_loads(const CallSite& call) { wait_for_unit(TensorUnit::Load, call); }
void tensor_wait_stores(const CallSite& call) { wait_for_unit(TensorUnit::Store, call); }

void tensor_fence_before(const CallSite& call) {
  Engine& engine = Engine::current();
  if (engine.sync_site(engine.site(call), {Mutation::Drop})) return;
  Lane& lane = engine.self();
  join(lane.known.tensor, lane.tensor_seen);
}

void tensor_fence_after(const CallSite& call) {
  Engine& engine = Engine::current();
  if (engine.sync_site(engine.site(call), {Mutation::Drop})) return;
  Lane& lane = engine.self();
  join(lane.tensor_seen, lane.known.tensor);
}

void tensor_mma(std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t instruction,
                bool accumulate, int blocks, const CallSite& call) {
  TensorInstruction step;
  step.blocks = blocks;
  step.a.descriptor = a;
  step.b.descriptor = b;
  issue_mma(d, instruction, accumulate, step, call);
}

void tensor_mma(std::uint32_t d, std::uint32_t a, std::uint64_t b, std::uint32_t instruction,
                bool accumulate, int blocks, const CallSite& call) {
  TensorInstruction step;
  step.blocks = blocks;
  step.a_in_tensor_memory = true;
  step.a_address = a;
  step.b.descriptor = b;
  issue_mma(d, instruction, accumulate, step, call);
}

void tensor_commit(void* where, int blocks, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  const auto mutation = engine.sync_site(site, {Mutation::Drop, Mutation::Twice});
  if (mutation == Mutation::Drop) return;
  engine.maybe_yield();
  Lane& lane = engine.self();
  Warp& warp = *lane.warp;
  auto& pipe = warp.tensor_pipe;
  if (!pipe.open.empty()) ++issued(warp, TensorUnit::Mma);
  TensorCommit commit;
  commit.instructions = std::exchange(pipe.open, {});
  commit.epoch = {tensor_unit(warp, TensorUnit::Mma), issued(warp, TensorUnit::Mma)};
  commit.causal = lane.known.causal;
  commit.async = pipe.async;
  commit.tensor = pipe.tensor;
  commit.site = site;
  raise(commit.causal, lane.now());
  if (lane.block->tensor) check_group(engine, *lane.block->tensor, blocks, site);
  std::vector<Block*> targets = group_of(engine, blocks, site);
  if (mutation == Mutation::Twice) targets.push_back(targets.front());
  for (Block* target : targets) {
    Mbarrier& barrier = barrier_in(*target, where, target != lane.block, site);
    if (!ordered_after(lane, barrier.arrivals.before)) {
      Problem problem{FindingKind::Arrival,
                      "a commit not ordered after the end of the phase before", site};
      problem.barrier = state_of(barrier, -1);
      engine.fail(std::move(problem));
    }
    commit.block = target;
    commit.barrier = &barrier;
    commit.phase = barrier.phase;
    commit.arrival = engine.new_copy(*lane.block, "commit");
    raise(target->copies, commit.arrival);
    pipe.commits.push_back(commit);
    commit.instructions.clear();
    if (pipe.commits.size() == 1) {
      start_front(engine, *lane.block, static_cast<std::size_t>(warp.index));
    }
  }
}

}  // namespace jfa::emulator
