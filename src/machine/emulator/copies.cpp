// TMA tensor copies, bulk copies, and their groups.
#include <cstring>
#include <string>

#include "machine/emulator/primitives.hpp"

namespace jfa::emulator {
namespace {

constexpr std::uint32_t kTensorAlignment = 128;
constexpr std::uint32_t kBulkAlignment = 16;

// A copy being issued by the running lane.
struct Issue {
  Engine& engine;
  Lane& lane;
  SiteId site;
  AsyncRef operation;
  std::string who;
};

Issue begin(const CallSite& call, std::string what) {
  Engine& engine = Engine::current();
  engine.maybe_yield();
  Lane& lane = engine.self();
  const SiteId site = engine.site(call);
  auto operation = std::make_shared<AsyncOperation>();
  operation->epoch = engine.new_copy(*lane.block, what);
  operation->site = site;
  operation->causal = lane.known.causal;
  raise(operation->causal, lane.now());
  std::string who = what + " issued by " + engine.describe(lane);
  operation->what = std::move(what);
  return {engine, lane, site, std::move(operation), std::move(who)};
}

void refuse(const Issue& issue, std::string what) {
  issue.engine.fail({FindingKind::OutOfBounds, std::move(what), issue.site});
}

std::uint32_t shared_range(const Issue& issue, const void* pointer, std::uint32_t bytes,
                           std::uint32_t alignment) {
  if (issue.engine.block_of(pointer) != issue.lane.block) {
    refuse(issue, "a copy's shared-memory address is outside the block's memory");
  }
  const std::uint32_t offset = issue.engine.offset_in(*issue.lane.block, pointer);
  if (offset % alignment != 0) {
    refuse(issue, "a copy's shared-memory offset is " + std::to_string(offset) +
                      "; allowed: multiples of " + std::to_string(alignment));
  }
  if (std::uint64_t{offset} + bytes > issue.engine.shape().smem_bytes) {
    refuse(issue, "a copy of " + std::to_string(bytes) + " bytes at shared-memory offset " +
                      std::to_string(offset) + " leaves the block's memory");
  }
  return offset;
}

void touch_shared(const Issue& issue, Block& block, std::uint32_t offset, std::uint32_t bytes,
                  AccessKind kind) {
  const Access access{issue.operation->epoch, issue.site, kind, true};
  const Viewpoint view = viewpoint(issue.lane);
  const auto where = [](std::uint64_t at) {
    return "shared memory at offset " + std::to_string(at);
  };
  if (const auto conflict = block.shadow->touch(offset, bytes, access, {&view, 1})) {
    issue.engine.fail_conflict(*conflict, access, where(conflict->offset), Memory::Shared,
                               issue.who);
  }
  if (const auto pedantic = block.shadow->take_pedantic()) {
    issue.engine.note_pedantic(*pedantic, access, where(pedantic->offset));
  }
}

void touch_global(const Issue& issue, const void* pointer, std::uint32_t bytes, AccessKind kind) {
  Epoch epoch = issue.operation->epoch;
  if (kind != AccessKind::Read) ++epoch.time;
  issue.engine.touch_global(pointer, bytes, {epoch, issue.site, kind, true}, issue.who);
}

void check_bulk(const Issue& issue, const void* global, std::uint32_t bytes) {
  if (bytes == 0 || bytes % kBulkAlignment != 0) {
    refuse(issue, "a bulk copy of " + std::to_string(bytes) + " bytes; allowed: multiples of 16");
  }
  if (global != nullptr && reinterpret_cast<std::uintptr_t>(global) % kBulkAlignment != 0) {
    refuse(issue, "a bulk copy's global address is not a multiple of 16");
  }
}

// Where each 16-byte granule of a box row lies.
template <class Fn>
void for_each_granule(const TensorMap& map, const BoxRow& row, std::uint32_t offset, Fn fn) {
  for (std::uint32_t at = 0; at < map.row_bytes(); at += 16) {
    fn(swizzle(offset + row.shared + at, map.swizzle_span), at);
  }
}

void load_box(const TensorMap& map, const std::vector<BoxRow>& rows, std::byte* smem,
              std::uint32_t offset) {
  alignas(16) std::array<std::byte, 1024> line;
  for (const auto& row : rows) {
    std::memset(line.data(), 0, map.row_bytes());
    if (row.valid != 0) std::memcpy(line.data() + row.skip, row.global, row.valid);
    for_each_granule(map, row, offset, [&](std::uint32_t to, std::uint32_t at) {
      std::memcpy(smem + to, line.data() + at, 16);
    });
  }
}

std::vector<std::byte> read_box(const TensorMap& map, const std::vector<BoxRow>& rows,
                                const std::byte* smem, std::uint32_t offset) {
  std::vector<std::byte> values(map.box_bytes());
  for (const auto& row : rows) {
    for_each_granule(map, row, offset, [&](std::uint32_t from, std::uint32_t at) {
      std::memcpy(values.data() + row.shared + at, smem + from, 16);
    });
  }
  return values;
}

void add(ElementType type, std::byte* to, const std::byte* from, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += static_cast<std::uint32_t>(bytes_of(type))) {
    if (type == ElementType::Fp32) {
      float sum, term;
      std::memcpy(&sum, to + at, 4);
      std::memcpy(&term, from + at, 4);
      sum += term;
      std::memcpy(to + at, &sum, 4);
    } else if (type == ElementType::Int32) {
      std::uint32_t sum, term;
      std::memcpy(&sum, to + at, 4);
      std::memcpy(&term, from + at, 4);
      sum += term;
      std::memcpy(to + at, &sum, 4);
    } else {
      const HalfFormat format = type == ElementType::Bf16 ? kBf16Format : kF16Format;
      std::uint16_t sum, term;
      std::memcpy(&sum, to + at, 2);
      std::memcpy(&term, from + at, 2);
      sum = encode_half(decode_half(sum, format) + decode_half(term, format), format);
      std::memcpy(to + at, &sum, 2);
    }
  }
}

void store_rows(const TensorMap& map, const std::vector<BoxRow>& rows,
                const std::vector<std::byte>& values, bool reduce) {
  for (const auto& row : rows) {
    if (row.valid == 0) continue;
    const std::byte* from = values.data() + row.shared + row.skip;
    if (reduce) {
      add(map.type, row.global, from, row.valid);
    } else {
      std::memcpy(row.global, from, row.valid);
    }
  }
}

void check_map(const Issue& issue, const TensorMap& map, std::span<const int> coordinates) {
  if (const std::string error = map.error(); !error.empty()) refuse(issue, "tensor map: " + error);
  if (coordinates.size() != static_cast<std::size_t>(map.rank)) {
    refuse(issue, std::to_string(coordinates.size()) + " coordinates for a tensor map of rank " +
                      std::to_string(map.rank));
  }
}

// Where the bytes of a load arrive.
struct Arrival {
  Block* block;
  Mbarrier* barrier;
  std::int64_t phase;
};

void add_target(AsyncOperation& operation, const Arrival& target) {
  operation.targets.push_back(target.block);
  raise(target.block->copies, operation.epoch);
  operation.barrier = target.barrier;
  operation.phase = target.phase;
}

std::vector<Arrival> arrivals(const Issue& issue, void* barrier, std::uint32_t block_mask) {
  std::vector<Arrival> result;
  const auto add_block = [&](Block& block) {
    Mbarrier& at = barrier_in(block, barrier, true, issue.site);
    result.push_back({&block, &at, at.phase});
  };
  if (block_mask == 0) {
    add_block(*issue.lane.block);
    return result;
  }
  for (int rank = 0; rank < 16; ++rank) {
    if ((block_mask >> rank & 1) != 0) add_block(issue.engine.peer(rank, issue.site));
  }
  return result;
}

// The operation of a store: it reads shared memory, then writes global memory.
template <class Read, class Write>
void store_operation(Issue& issue, Read read, Write write) {
  auto values = std::make_shared<std::vector<std::byte>>();
  issue.operation->steps.emplace_back([values, read] { *values = read(); });
  issue.operation->steps.emplace_back([values, write] { write(*values); });
  issue.lane.bulk_open.push_back(issue.operation);
  issue.engine.launch_operation(issue.operation, issue.lane.agent);
}

}  // namespace

void tensor_load(void* to, const TensorMap& map, std::span<const int> coordinates, void* barrier,
                 std::uint32_t block_mask, const CallSite& call) {
  Issue issue = begin(call, "tensor load");
  check_map(issue, map, coordinates);
  const std::uint32_t bytes = map.box_bytes();
  const std::uint32_t offset = shared_range(issue, to, bytes, kTensorAlignment);
  auto rows = box_rows(map, coordinates);
  for (const auto& row : rows) {
    if (row.valid != 0) touch_global(issue, row.global, row.valid, AccessKind::Read);
  }
  auto targets = arrivals(issue, barrier, block_mask);
  for (const auto& target : targets) {
    touch_shared(issue, *target.block, offset, bytes, AccessKind::Write);
  }
  const AsyncOperation* operation = issue.operation.get();
  for (const auto& target : targets) {
    add_target(*issue.operation, target);
    issue.operation->steps.emplace_back([target, map, rows, offset, bytes, operation] {
      load_box(map, rows, target.block->smem, offset);
      complete_bytes(*target.block, *target.barrier, bytes, target.phase, *operation);
    });
  }
  issue.engine.launch_operation(issue.operation, issue.lane.agent);
}

void tensor_store(const TensorMap& map, std::span<const int> coordinates, const void* from,
                  bool reduce, const CallSite& call) {
  Issue issue = begin(call, reduce ? "tensor reduce-add" : "tensor store");
  check_map(issue, map, coordinates);
  const std::uint32_t bytes = map.box_bytes();
  const std::uint32_t offset = shared_range(issue, from, bytes, kTensorAlignment);
  touch_shared(issue, *issue.lane.block, offset, bytes, AccessKind::Read);
  auto rows = box_rows(map, coordinates);
  for (const auto& row : rows) {
    if (row.valid == 0) continue;
    touch_global(issue, row.global, row.valid, reduce ? AccessKind::Reduce : AccessKind::Write);
  }
  const std::byte* smem = issue.lane.block->smem;
  store_operation(
      issue, [map, rows, smem, offset] { return read_box(map, rows, smem, offset); },
      [map, rows, reduce](const std::vector<std::byte>& values) {
        store_rows(map, rows, values, reduce);
      });
}

void bulk_load(void* to, const void* from, std::uint32_t bytes, void* barrier,
               const CallSite& call) {
  Issue issue = begin(call, "bulk load");
  check_bulk(issue, from, bytes);
  const std::uint32_t offset = shared_range(issue, to, bytes, kBulkAlignment);
  touch_global(issue, from, bytes, AccessKind::Read);
  const Arrival target = arrivals(issue, barrier, 0).front();
  touch_shared(issue, *target.block, offset, bytes, AccessKind::Write);
  add_target(*issue.operation, target);
  const AsyncOperation* operation = issue.operation.get();
  issue.operation->steps.emplace_back([target, from, offset, bytes, operation] {
    std::memcpy(target.block->smem + offset, from, bytes);
    complete_bytes(*target.block, *target.barrier, bytes, target.phase, *operation);
  });
  issue.engine.launch_operation(issue.operation, issue.lane.agent);
}

void bulk_store(void* to, const void* from, std::uint32_t bytes, bool reduce,
                const CallSite& call) {
  Issue issue = begin(call, reduce ? "bulk reduce-add" : "bulk store");
  check_bulk(issue, to, bytes);
  const std::uint32_t offset = shared_range(issue, from, bytes, kBulkAlignment);
  touch_shared(issue, *issue.lane.block, offset, bytes, AccessKind::Read);
  touch_global(issue, to, bytes, reduce ? AccessKind::Reduce : AccessKind::Write);
  const std::byte* source = issue.lane.block->smem + offset;
  auto* target = static_cast<std::byte*>(to);
  store_operation(
      issue, [source, bytes] { return std::vector<std::byte>(source, source + bytes); },
      [target, reduce](const std::vector<std::byte>& values) {
        const auto count = static_cast<std::uint32_t>(values.size());
        if (reduce) {
          add(ElementType::Fp32, target, values.data(), count);
        } else {
          std::memcpy(target, values.data(), count);
        }
      });
}

void bulk_send(void* mine_to, const void* from, std::uint32_t bytes, void* mine_barrier, int rank,
               const CallSite& call) {
  Issue issue = begin(call, "bulk send");
  check_bulk(issue, nullptr, bytes);
  const std::uint32_t source = shared_range(issue, from, bytes, kBulkAlignment);
  const std::uint32_t offset = shared_range(issue, mine_to, bytes, kBulkAlignment);
  touch_shared(issue, *issue.lane.block, source, bytes, AccessKind::Read);
  raise(issue.lane.block->copies, issue.operation->epoch);
  Block& peer = issue.engine.peer(rank, issue.site);
  Mbarrier& barrier = barrier_in(peer, mine_barrier, true, issue.site);
  touch_shared(issue, peer, offset, bytes, AccessKind::Write);
  const Arrival target{&peer, &barrier, barrier.phase};
  add_target(*issue.operation, target);
  const AsyncOperation* operation = issue.operation.get();
  const std::byte* smem = issue.lane.block->smem;
  issue.operation->steps.emplace_back([target, smem, source, offset, bytes, operation] {
    std::memcpy(target.block->smem + offset, smem + source, bytes);
    complete_bytes(*target.block, *target.barrier, bytes, target.phase, *operation);
  });
  issue.engine.launch_operation(issue.operation, issue.lane.agent);
}

void bulk_commit(const CallSite& call) {
  Engine& engine = Engine::current();
  if (engine.sync_site(engine.site(call), {Mutation::Drop})) return;
  Lane& lane = engine.self();
  lane.bulk_groups.push_back(std::exchange(lane.bulk_open, {}));
}

void bulk_wait(int groups_left, bool read_only, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  std::optional<Mutation> mutation;
  if (read_only) {
    mutation = engine.sync_site(site, {Mutation::Drop});
  } else {
    mutation = engine.sync_site(site, {Mutation::Drop, Mutation::Weaken});
  }
  if (mutation == Mutation::Drop) return;
  if (mutation == Mutation::Weaken) read_only = true;
  engine.maybe_yield();
  Lane& lane = engine.self();
  const auto due = lane.bulk_groups.size() -
                   std::min(lane.bulk_groups.size(), static_cast<std::size_t>(groups_left));
  for (std::size_t g = 0; g < due; ++g) {
    for (const AsyncRef& operation : lane.bulk_groups[g]) {
      const auto ready = [&] { return read_only ? operation->read_done() : operation->finished(); };
      if (!ready()) {
        WaitState wait;
        wait.kind = WaitState::Kind::Bulk;
        wait.object = operation->what;
        wait.site = site;
        engine.wait_until(wait, &operation->waiters, ready);
        engine.record(EventKind::Pass, site, engine.object(operation->what), -1, operation->issue);
      }
      Epoch done = operation->epoch;
      if (!read_only) ++done.time;
      raise(lane.known.generic, done);
      raise(lane.known.async, done);
      operation->read_waited = true;
    }
  }
  if (!read_only)
    lane.bulk_groups.erase(lane.bulk_groups.begin(),
                           lane.bulk_groups.begin() + static_cast<std::ptrdiff_t>(due));
}

}  // namespace jfa::emulator
