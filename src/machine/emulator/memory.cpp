// Ordinary loads and stores, fences, and acquire and release in global memory.
#include <string>

#include "machine/emulator/primitives.hpp"

namespace jfa::emulator {
namespace {

bool only_reads(AccessKind kind) {
  return kind == AccessKind::Read || kind == AccessKind::AtomicRead;
}

// Order through one address of global memory.
Knowledge& order_at(Engine& engine, const void* pointer, ScopeKind scope) {
  auto& order = engine.global_order(pointer);
  return scope == ScopeKind::Block ? order.block[engine.self().block->index] : order.grid;
}

}  // namespace

void access_shared(const void* pointer, std::size_t bytes, AccessKind kind, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  Lane& lane = engine.self();
  if (engine.block_of(pointer) != lane.block) {
    engine.fail(
        {FindingKind::OutOfBounds, "a shared-memory access outside the block's own memory", site});
  }
  const std::uint32_t offset = engine.offset_in(*lane.block, pointer);
  if (offset + bytes > engine.shape().smem_bytes) {
    engine.fail({FindingKind::OutOfBounds,
                 "shared memory at offset " + std::to_string(offset) + " of " +
                     std::to_string(engine.shape().smem_bytes) + " bytes",
                 site});
  }
  const Access access{lane.now(), site, kind, false};
  const Viewpoint view = viewpoint(lane);
  if (const auto conflict = lane.block->shadow->touch(offset, bytes, access, {&view, 1})) {
    engine.fail_conflict(*conflict, access,
                         "shared memory at offset " + std::to_string(conflict->offset),
                         Memory::Shared, {});
  }
}

void access_global(const void* pointer, std::size_t bytes, AccessKind kind, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  const Access access{engine.self().now(), site, kind, false};
  engine.touch_global(pointer, bytes, access, {});
  if (!only_reads(kind)) engine.progress();
}

void acquire_global(const void* pointer, std::size_t bytes, ScopeKind scope, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  const auto mutation = engine.sync_site(site, {Mutation::Weaken});
  engine.maybe_yield();
  if (engine.asks_again(pointer, site)) {
    WaitState wait;
    wait.kind = WaitState::Kind::Poll;
    wait.object = "a value in global memory";
    wait.site = site;
    engine.poll(wait);
    engine.asks_again(pointer, site);
  }
  access_global(pointer, bytes, AccessKind::AtomicRead, call);
  Lane& lane = engine.self();
  Knowledge gained = order_at(engine, pointer, ScopeKind::Block);
  if (scope != ScopeKind::Block) join(gained, order_at(engine, pointer, scope));
  join(lane.known.causal, gained.causal);
  if (mutation == Mutation::Weaken) {
    join(lane.seen, gained);
  } else {
    acquire(lane, gained);
  }
}

void release_global(const void* pointer, std::size_t bytes, ScopeKind scope, bool update,
                    bool release, const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  if (release && engine.sync_site(site, {Mutation::Weaken})) release = false;
  engine.maybe_yield();
  access_global(pointer, bytes, update ? AccessKind::AtomicUpdate : AccessKind::AtomicWrite, call);
  Lane& lane = engine.self();
  Knowledge given = lane.fence_released;
  if (release) publish(lane, given);
  join(given.causal, lane.known.causal);
  raise(given.causal, lane.now());
  for (const ScopeKind at : {ScopeKind::Block, ScopeKind::Gpu}) {
    if (at != ScopeKind::Block && scope == ScopeKind::Block) continue;
    Knowledge& order = order_at(engine, pointer, at);
    if (update) {
      join(lane.seen, order);
      join(lane.known.causal, order.causal);
      join(order, given);
    } else {
      order = given;
    }
  }
  engine.record(EventKind::Arrive, site);
}

void reduce_global(const void* pointer, std::size_t bytes, const CallSite& call) {
  Engine::current().maybe_yield();
  access_global(pointer, bytes, AccessKind::AtomicUpdate, call);
}

void fence_proxy_async(const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  if (engine.sync_site(site, {Mutation::Drop})) return;
  Lane& lane = engine.self();
  join(lane.known.async, lane.known.generic);
  lane.fenced = lane.time++;
  engine.record(EventKind::Fence, site);
}

void fence_gpu(const CallSite& call) {
  Engine& engine = Engine::current();
  const SiteId site = engine.site(call);
  if (engine.sync_site(site, {Mutation::Drop})) return;
  Lane& lane = engine.self();
  acquire(lane, lane.seen);
  lane.fence_released = {};
  publish(lane, lane.fence_released);
  engine.record(EventKind::Fence, site);
}

}  // namespace jfa::emulator
