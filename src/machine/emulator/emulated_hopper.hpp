// The machine `EmulatedHopper`: every primitive of the machine layer, run by the emulator. Built by
// g++ and clang only. What each does on a GPU is said beside its namesake in machine/hopper.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "machine/emulator/primitives.hpp"
#include "machine/types.hpp"

namespace jfa {
inline namespace emulated {

inline emulator::CallSite call_site(Site site, const char* word) {
  return {site.file, site.line, site.column, word};
}

constexpr emulator::ScopeKind scope_kind(Scope scope) {
  switch (scope) {
    case Scope::Block:
      return emulator::ScopeKind::Block;
    case Scope::Cluster:
      return emulator::ScopeKind::Cluster;
    case Scope::Gpu:
      return emulator::ScopeKind::Gpu;
  }
  return emulator::ScopeKind::Block;
}

struct EmulatedThreads {
  static emulator::Lane& self() { return emulator::Engine::current().self(); }

  static int thread_index() { return self().thread; }
  static int block_index() { return self().block->index; }
  static int grid_size() { return emulator::Engine::current().shape().grid; }
  static int lane() { return self().agent.lane; }
  static int warp_index(Site site = Site::here()) {
    emulator::meet(call_site(site, "warp_index"), nullptr, nullptr);
    return self().warp->index;
  }
  static int cluster_rank() { return self().block->rank; }

  static bool elect(Site site = Site::here()) {
    emulator::meet(call_site(site, "elect"), nullptr, nullptr);
    return lane() == 0;
  }
  template <class T>
  static T uniform(T x, Site site = Site::here()) {
    return exchange(x, 0, call_site(site, "uniform"));
  }
  template <class T>
  static T shuffle(T x, int from, Site site = Site::here()) {
    return exchange(x, from, call_site(site, "shuffle"));
  }
  template <class T>
  static T shuffle_xor(T x, int mask, Site site = Site::here()) {
    return exchange(x, lane() ^ mask, call_site(site, "shuffle_xor"));
  }
  static bool any(bool x, Site site = Site::here()) {
    return emulator::ballot(x, call_site(site, "any")) != 0;
  }
  static bool all(bool x, Site site = Site::here()) {
    return emulator::ballot(x, call_site(site, "all")) == ~0u;
  }
  static std::uint32_t ballot(bool x, Site site = Site::here()) {
    return emulator::ballot(x, call_site(site, "ballot"));
  }
  static void sync_warp(Site site = Site::here()) {
    emulator::sync_warp(call_site(site, "sync_warp"));
  }

  template <Name N>
  static void enter_role(Site = Site::here()) {
    emulator::Engine::current().enter_role(N.text);
  }
  static void leave_role(Site = Site::here()) { emulator::Engine::current().enter_role(""); }

  static void sleep_ns(std::uint32_t) { emulator::Engine::current().maybe_yield(); }
  [[noreturn]] static void trap(Site site = Site::here()) {
    auto& engine = emulator::Engine::current();
    engine.fail({emulator::FindingKind::OutOfBounds, "the kernel traps",
                 engine.site(call_site(site, "trap"))});
  }

 private:
  template <class T>
  static T exchange(T x, int from, const emulator::CallSite& call) {
    static_assert(sizeof(T) == 4, "a shuffle moves 4 bytes");
    return std::bit_cast<T>(emulator::exchange(std::bit_cast<std::uint32_t>(x), from, call));
  }
};

struct EmulatedBarriers {
  struct Phase {
    std::int64_t number;
    static Phase first() { return {0}; }
    Phase next() const { return {number + 1}; }
    Phase previous() const { return {number - 1}; }
  };

  static void sync_block(Site site = Site::here()) {
    emulator::named_barrier(0, emulator::Engine::current().shape().threads, "block", true,
                            call_site(site, "sync_block"));
  }
  template <Name N>
  static void named_sync(int id, int threads, Site site = Site::here()) {
    emulator::named_barrier(id, threads, N.text, true, call_site(site, "named_sync"));
  }
  template <Name N>
  static void named_arrive(int id, int threads, Site site = Site::here()) {
    emulator::named_barrier(id, threads, N.text, false, call_site(site, "named_arrive"));
  }
  static void sync_cluster(Site site = Site::here()) {
    emulator::cluster_arrive(call_site(site, "cluster_arrive"));
    emulator::cluster_wait(call_site(site, "cluster_wait"));
  }

  template <Name N>
  static void mbarrier_init(Mbarrier* barrier, int count, BarrierKind kind, int slot, int bytes,
                            Site site = Site::here()) {
    constexpr const char* kKinds[] = {"full", "empty", ""};
    const emulator::Label label{N.text, kKinds[static_cast<int>(kind)],
                                kind == BarrierKind::Gate ? -1 : slot, bytes};
    emulator::mbarrier_init(barrier, count, label, call_site(site, "mbarrier_init"));
  }
  static void mbarrier_fence_init(Site site = Site::here()) {
    emulator::mbarrier_fence_init(call_site(site, "mbarrier_fence_init"));
  }
  static void mbarrier_arrive(Mbarrier* barrier, Site site = Site::here()) {
    emulator::mbarrier_arrive(barrier, call_site(site, "mbarrier_arrive"));
  }
  static void mbarrier_arrive_expect(Mbarrier* barrier, std::uint32_t bytes,
                                     Site site = Site::here()) {
    emulator::mbarrier_arrive_expect(barrier, bytes, call_site(site, "mbarrier_arrive_expect"));
  }
  static void mbarrier_arrive_remote(Mbarrier* barrier, int rank, Site site = Site::here()) {
    emulator::mbarrier_arrive_remote(barrier, rank, emulator::ScopeKind::Cluster,
                                     call_site(site, "mbarrier_arrive_remote"));
  }
  template <Scope S>
  static void mbarrier_wait(Mbarrier* barrier, Phase phase, Site site = Site::here()) {
    emulator::mbarrier_wait(barrier, phase.number, scope_kind(S), call_site(site, "mbarrier_wait"));
  }

  template <Space S>
  static void fence_proxy_async(Site site = Site::here()) {
    emulator::fence_proxy_async(call_site(site, "fence_proxy_async"));
  }
  static void fence_gpu(Site site = Site::here()) {
    emulator::fence_gpu(call_site(site, "fence_gpu"));
  }

  template <int Count, bool Up>
  static void set_registers(Site site = Site::here()) {
    emulator::set_registers(Count, Up, call_site(site, "set_registers"));
  }
};

struct EmulatedCopies {
  using TensorMap = emulator::TensorMap;

  /// Throws std::invalid_argument where the driver would refuse the specification.
  static TensorMap make_tensor_map(const TensorMapSpec& spec) {
    TensorMap map;
    map.base = static_cast<std::byte*>(spec.base);
    map.type = spec.type == ElementType::Bf16   ? emulator::ElementType::Bf16
               : spec.type == ElementType::Fp16 ? emulator::ElementType::Fp16
                                                : emulator::ElementType::Fp32;
    map.rank = spec.rank;
    std::copy_n(spec.dims, 5, map.dims.begin());
    std::copy_n(spec.strides, 4, map.strides.begin());
    std::copy_n(spec.box, 5, map.box.begin());
    map.swizzle_span = static_cast<int>(spec.swizzle);
    if (const auto error = map.error(); !error.empty()) {
      throw std::invalid_argument("tensor map: " + error);
    }
    return map;
  }

  template <CopyKind Kind, CacheHint Hint, int Rank>
  static void tensor_copy(void* tile, const TensorMap& map, const int (&at)[Rank],
                          Mbarrier* barrier, std::uint16_t blocks, Site site = Site::here()) {
    constexpr const char* kWords[] = {"tensor_load", "tensor_load_multicast", "tensor_store",
                                      "tensor_reduce_add"};
    const emulator::CallSite call = call_site(site, kWords[static_cast<int>(Kind)]);
    if constexpr (Kind == CopyKind::Load || Kind == CopyKind::LoadMulticast) {
      emulator::tensor_load(tile, map, at, barrier, blocks, call);
    } else {
      emulator::tensor_store(map, at, tile, Kind == CopyKind::ReduceAdd, call);
    }
  }
  static void bulk_load(void* tile, const void* from, std::uint32_t bytes, Mbarrier* barrier,
                        Site site = Site::here()) {
    emulator::bulk_load(tile, from, bytes, barrier, call_site(site, "bulk_load"));
  }
  static void bulk_store(void* to, const void* tile, std::uint32_t bytes,
                         Site site = Site::here()) {
    emulator::bulk_store(to, tile, bytes, false, call_site(site, "bulk_store"));
  }
  static void bulk_send(void* to, const void* tile, std::uint32_t bytes, Mbarrier* barrier,
                        int rank, Site site = Site::here()) {
    emulator::bulk_send(to, tile, bytes, barrier, rank, call_site(site, "bulk_send"));
  }
  static void bulk_reduce_add(float* to, const float* tile, std::uint32_t bytes,
                              Site site = Site::here()) {
    emulator::bulk_store(to, tile, bytes, true, call_site(site, "bulk_reduce_add"));
  }
  static void bulk_commit(Site site = Site::here()) {
    emulator::bulk_commit(call_site(site, "bulk_commit"));
  }
  template <int Pending, bool Read>
  static void bulk_wait(Site site = Site::here()) {
    emulator::bulk_wait(Pending, Read, call_site(site, Read ? "bulk_wait_read" : "bulk_wait"));
  }
};

struct EmulatedMma {
  static constexpr std::uint32_t kDescriptorVersion = 0;
  struct FragmentState : emulator::FragmentState {
    void reading(Site site) { emulator::FragmentState::reading(call_site(site, "fragment_read")); }
    void writing(Site site) { emulator::FragmentState::writing(call_site(site, "fragment_write")); }
  };

  /// Above an address within the block, which block of the cluster it is, as on an H200.
  static std::uint32_t shared_address(const void* pointer) {
    auto& engine = emulator::Engine::current();
    auto& block = *engine.self().block;
    const auto rank = static_cast<std::uint32_t>(block.rank);
    return rank << 24 | (emulator::kSharedBase + engine.offset_in(block, pointer));
  }

  static void wgmma_fence(Site site = Site::here()) {
    emulator::mma_fence(call_site(site, "wgmma_fence"));
  }
  static void wgmma_commit(Site site = Site::here()) {
    emulator::mma_commit(call_site(site, "wgmma_commit"));
  }
  template <int Pending>
  static void wgmma_wait(Site site = Site::here()) {
    emulator::mma_wait(Pending, call_site(site, "wgmma_wait"));
  }
  template <MmaShape S, int Size>
  static void wgmma(float (&acc)[Size], MmaDescriptor a, MmaDescriptor b, bool accumulate,
                    FragmentState& state, Site site = Site::here()) {
    emulator::MmaIssue issue = issue_of<S>(acc, b, accumulate);
    issue.a = {bits_of(a), S.transpose_a, emulator::kMmaRows};
    emulator::mma_issue(issue, state, nullptr, call_site(site, "wgmma"));
  }
  template <MmaShape S, int Size>
  static void wgmma(float (&acc)[Size], const std::uint32_t* a, MmaDescriptor b, bool accumulate,
                    FragmentState& state, FragmentState& a_state, Site site = Site::here()) {
    emulator::MmaIssue issue = issue_of<S>(acc, b, accumulate);
    issue.a_registers = a;
    emulator::mma_issue(issue, state, &a_state, call_site(site, "wgmma"));
  }
  template <class T, int Size>
  static void settle(T (&)[Size], FragmentState& state, Site = Site::here()) {
    state.settle();
  }

  static void ldmatrix(std::uint32_t* r, const void* row, Site site = Site::here()) {
    emulator::load_matrices(row, r, call_site(site, "ldmatrix"));
  }
  static void stmatrix(void* row, const std::uint32_t* r, Site site = Site::here()) {
    emulator::store_matrices(row, r, call_site(site, "stmatrix"));
  }

 protected:
  static std::uint64_t bits_of(MmaDescriptor descriptor) {
    return std::uint64_t{descriptor.high} << 32 | descriptor.low;
  }

 private:
  template <MmaShape S>
  static emulator::MmaIssue issue_of(float* acc, MmaDescriptor b, bool accumulate) {
    emulator::MmaIssue issue;
    issue.type = S.type == ElementType::Bf16 ? emulator::MmaType::Bf16 : emulator::MmaType::Fp16;
    issue.columns = S.n;
    issue.accumulate = accumulate;
    issue.b = {bits_of(b), S.transpose_b, S.n};
    issue.accumulators = acc;
    return issue;
  }
};

struct EmulatedMemory {
  template <class T>
  static T load_shared(const T* pointer, Site site = Site::here()) {
    emulator::access_shared(pointer, sizeof(T), emulator::AccessKind::Read,
                            call_site(site, "load_shared"));
    return *pointer;
  }
  template <class T>
  static void store_shared(T* pointer, T value, Site site = Site::here()) {
    emulator::access_shared(pointer, sizeof(T), emulator::AccessKind::Write,
                            call_site(site, "store_shared"));
    *pointer = value;
  }
  template <class T>
  static T load_global(const T* pointer, Site site = Site::here()) {
    emulator::access_global(pointer, sizeof(T), emulator::AccessKind::Read,
                            call_site(site, "load_global"));
    return *pointer;
  }
  template <class T>
  static void store_global(T* pointer, T value, Site site = Site::here()) {
    emulator::access_global(pointer, sizeof(T), emulator::AccessKind::Write,
                            call_site(site, "store_global"));
    *pointer = value;
  }

  template <class T>
  static T load_acquire(const T* pointer, Site site = Site::here()) {
    emulator::acquire_global(pointer, sizeof(T), kGpu, call_site(site, "load_acquire"));
    return *pointer;
  }
  static int await(const int* from, int value, Site site = Site::here()) {
    int now = load_acquire(from, site);
    for (; now < value; now = load_acquire(from, site)) emulator::Engine::current().maybe_yield();
    return now;
  }
  template <class T>
  static void store_release(T* pointer, T value, Site site = Site::here()) {
    emulator::release_global(pointer, sizeof(T), kGpu, false, true,
                             call_site(site, "store_release"));
    *pointer = value;
  }
  template <class T>
  static void reduce_add_release(T* pointer, T value, Site site = Site::here()) {
    emulator::release_global(pointer, sizeof(T), kGpu, true, true,
                             call_site(site, "reduce_add_release"));
    *pointer += value;
  }
  template <class T>
  static T atomic_add(T* pointer, T value, Site site = Site::here()) {
    emulator::release_global(pointer, sizeof(T), kGpu, true, false, call_site(site, "atomic_add"));
    return std::exchange(*pointer, *pointer + value);
  }
  static void reduce_add(Pack<float, 4>* pointer, const Pack<float, 4>& values,
                         Site site = Site::here()) {
    emulator::reduce_global(pointer, sizeof(*pointer), call_site(site, "reduce_add"));
    for (int i = 0; i < 4; ++i) pointer->values[i] += values.values[i];
  }

 private:
  static constexpr emulator::ScopeKind kGpu = emulator::ScopeKind::Gpu;
};

struct EmulatedMath {
  static float exp2(float x) { return std::exp2(x); }
  static float log2(float x) { return std::log2(x); }
  static float tanh(float x) { return std::tanh(x); }
  static float reciprocal(float x) { return 1.0F / x; }
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }
  /// As fmaxf: the other operand when one is NaN.
  static float max(float a, float b) { return std::fmax(a, b); }

  template <class T>
  static std::uint32_t pack(float low, float high) {
    constexpr HalfFormat kFormat = kElementType<T> == ElementType::Bf16 ? kBf16Format : kF16Format;
    return encode_half(low, kFormat) | std::uint32_t{encode_half(high, kFormat)} << 16;
  }
  static float to_float(float x) { return x; }
  static float to_float(bf16 x) { return decode_half(x.bits, kBf16Format); }
  static float to_float(fp16 x) { return decode_half(x.bits, kF16Format); }
};

struct EmulatedHopper : EmulatedThreads,
                        EmulatedBarriers,
                        EmulatedCopies,
                        EmulatedMma,
                        EmulatedMemory,
                        EmulatedMath {};

/// Launches `blocks` blocks of kernel K (see cuda/launch.hpp for what K has).
/// Throws std::invalid_argument for a shape no GPU takes.
template <class K>
emulator::RunResult launch(emulator::Device& device, const emulator::RunOptions& options,
                           int blocks, const typename K::Params& params) {
  using Smem = typename K::Smem;
  emulator::LaunchShape shape;
  shape.grid = blocks;
  shape.threads = K::kThreads;
  shape.cluster = K::kClusterSize;
  shape.smem_bytes = sizeof(Smem);
  shape.registers = std::min(255, launch_registers(K::kThreads, K::kBlocksPerProcessor));
  emulator::Engine engine(device, options);
  return engine.run(shape,
                    [&](std::byte* smem) { K::run(params, *reinterpret_cast<Smem*>(smem)); });
}

}  // namespace emulated
}  // namespace jfa
