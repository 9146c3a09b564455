// A GPU of compute capability 9.0 (sm_90a), built by nvcc only. One bare instruction a function,
// its PTX section linked: P stands for https://docs.nvidia.com/cuda/parallel-thread-execution/.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "machine/generated/wgmma.hpp"

namespace jfa::inline gpu {

/// An instruction without results, before and after which memory is as the program says.
#define JFA_PTX(TEXT, ...) asm volatile(TEXT : : __VA_ARGS__ : "memory")

struct Hopper {
  static JFA_DEVICE std::uint32_t shared_address(const void* pointer) {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
  }
  static JFA_DEVICE std::size_t global_address(const void* pointer) {
    return __cvta_generic_to_global(pointer);
  }

  // Threads
  static constexpr unsigned kAll = ~0u;  // lanes of the warp
  static JFA_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
  static JFA_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
  static JFA_DEVICE int grid_size() { return static_cast<int>(gridDim.x); }
  static JFA_DEVICE int lane() { return static_cast<int>(threadIdx.x % 32); }
  /// Known to be the same in all lanes, so that what depends on it stays in uniform registers.
  static JFA_DEVICE int warp_index() { return uniform(static_cast<int>(threadIdx.x / 32)); }
  /// P#special-registers-cluster-ctarank
  static JFA_DEVICE int cluster_rank() {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
  }
  /// P#parallel-synchronization-and-communication-instructions-elect-sync
  static JFA_DEVICE bool elect(Site = {}) {
    int elected;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p;}"
                 : "=r"(elected)::"memory");
    return elected != 0;
  }
  /// P#data-movement-and-conversion-instructions-shfl-sync
  /// `uniform`: a value that all lanes hold, told to the compiler.
  static JFA_DEVICE auto uniform(auto x, Site = {}) { return __shfl_sync(kAll, x, 0); }
  static JFA_DEVICE auto shuffle(auto x, int lane, Site = {}) { return __shfl_sync(kAll, x, lane); }
  static JFA_DEVICE auto shuffle_xor(auto x, int mask, Site = {}) {
    return __shfl_xor_sync(kAll, x, mask);
  }
  /// P#parallel-synchronization-and-communication-instructions-vote-sync
  static JFA_DEVICE bool any(bool x, Site = {}) { return __any_sync(kAll, x) != 0; }
  static JFA_DEVICE bool all(bool x, Site = {}) { return __all_sync(kAll, x) != 0; }
  static JFA_DEVICE std::uint32_t ballot(bool x, Site = {}) { return __ballot_sync(kAll, x); }
  /// P#parallel-synchronization-and-communication-instructions-bar-warp-sync
  static JFA_DEVICE void sync_warp(Site = {}) { __syncwarp(); }
  template <Name N>
  static JFA_DEVICE void enter_role(Site = {}) {}
  static JFA_DEVICE void leave_role(Site = {}) {}
  /// P#miscellaneous-instructions-nanosleep, -trap
  static JFA_DEVICE void sleep_ns(std::uint32_t nanoseconds) { __nanosleep(nanoseconds); }
  [[noreturn]] static JFA_DEVICE void trap(Site = {}) { __trap(); }

  // Barriers, fences, registers
  struct Phase {
    std::uint32_t parity;
    static JFA_DEVICE Phase first() { return {0}; }
    JFA_DEVICE Phase next() const { return {parity ^ 1}; }
    JFA_DEVICE Phase previous() const { return {parity ^ 1}; }
  };
  /// P#parallel-synchronization-and-communication-instructions-bar
  static JFA_DEVICE void sync_block(Site = {}) { JFA_PTX("barrier.cta.sync.aligned 0;"); }
  template <Name N>
  static JFA_DEVICE void named_sync(int id, int threads, Site = {}) {
    JFA_PTX("barrier.cta.sync.aligned %0, %1;", "r"(id), "r"(threads));
  }
  template <Name N>
  static JFA_DEVICE void named_arrive(int id, int threads, Site = {}) {
    JFA_PTX("barrier.cta.arrive.aligned %0, %1;", "r"(id), "r"(threads));
  }
  /// P#parallel-synchronization-and-communication-instructions-barrier-cluster
  /// All threads of the cluster meet; what they wrote, to each other's memory too, is ordered.
  static JFA_DEVICE void sync_cluster(Site = {}) {
    JFA_PTX("barrier.cluster.arrive.release.aligned;");
    JFA_PTX("barrier.cluster.wait.acquire.aligned;");
  }
  /// P#parallel-synchronization-and-communication-instructions-mbarrier-init
  template <Name N>
  static JFA_DEVICE void mbarrier_init(Mbarrier* barrier, int count, auto... /*for reports*/) {
    JFA_PTX("mbarrier.init.shared::cta.b64 [%0], %1;", "r"(shared_address(barrier)), "r"(count));
  }
  /// P#parallel-synchronization-and-communication-instructions-mbarrier-arrive
  static JFA_DEVICE void mbarrier_arrive(Mbarrier* barrier, Site = {}) {
    JFA_PTX("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];", "r"(shared_address(barrier)));
  }
  static JFA_DEVICE void mbarrier_arrive_expect(Mbarrier* barrier, std::uint32_t bytes, Site = {}) {
    JFA_PTX("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;",
            "r"(shared_address(barrier)), "r"(bytes));
  }
  /// P#data-movement-and-conversion-instructions-mapa, then an arrival at that block's barrier.
  static JFA_DEVICE void mbarrier_arrive_remote(Mbarrier* barrier, int rank, Site = {}) {
    JFA_PTX(
        "{.reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; "
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];}",
        "r"(shared_address(barrier)), "r"(rank));
  }
  /// P#parallel-synchronization-and-communication-instructions-mbarrier-test-wait-mbarrier-try-wait
  /// A loop in asm: one that the compiler sees makes ptxas serialize wgmma around it (C7520).
  template <Scope S>
  static JFA_DEVICE void mbarrier_wait(Mbarrier* barrier, Phase phase, Site = {}) {
#define JFA_WAIT(SCOPE)                                                   \
  JFA_PTX("{.reg .pred p; again: mbarrier.try_wait.parity.acquire." SCOPE \
          ".shared::cta.b64 p, [%0], %1; @!p bra again;}",                \
          "r"(shared_address(barrier)), "r"(phase.parity))
    if constexpr (S == Scope::Cluster) JFA_WAIT("cluster");
    if constexpr (S == Scope::Block) JFA_WAIT("cta");
#undef JFA_WAIT
  }
  /// P#parallel-synchronization-and-communication-instructions-membar-fence
  static JFA_DEVICE void mbarrier_fence_init(Site = {}) {
    JFA_PTX("fence.mbarrier_init.release.cluster;");
  }
  template <Space S>
  static JFA_DEVICE void fence_proxy_async(Site = {}) {
    if constexpr (S == Space::Shared) JFA_PTX("fence.proxy.async.shared::cta;");
    if constexpr (S == Space::Global) JFA_PTX("fence.proxy.async.global;");
    if constexpr (S == Space::Both) JFA_PTX("fence.proxy.async;");
  }
  static JFA_DEVICE void fence_gpu(Site = {}) { JFA_PTX("fence.acq_rel.gpu;"); }
  /// P#miscellaneous-instructions-setmaxnreg
  template <int Count, bool Up>
  static JFA_DEVICE void set_registers(Site = {}) {
    if constexpr (Up) asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
    if constexpr (!Up) asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
  }

  // Copies
  using TensorMap = CUtensorMap;
  /// What createpolicy.fractional.L2::evict_{first,last} gives for a fraction of 1.
  template <CacheHint Hint>
  static constexpr std::uint64_t kPolicy = Hint == CacheHint::EvictFirst  ? 0x12F0000000000000
                                           : Hint == CacheHint::EvictLast ? 0x14F0000000000000
                                                                          : 0;
  /// Encodes a tensor map, on the host. Throws std::runtime_error when the driver refuses it.
  static TensorMap make_tensor_map(const TensorMapSpec& spec);
// One asm statement for each rank. Operands: %0 tile, %1 map, %2 barrier, %3 blocks, %4 policy,
// then coordinates; a form leaves out those it does not use.
#define JFA_RANK(RANK, LIST, HEAD, KIND, BEFORE, AFTER)                                          \
  if constexpr (Rank == RANK)                                                                    \
  JFA_PTX(HEAD #RANK "d." KIND " " BEFORE LIST AFTER ";", "r"(shared_address(tile)), "l"(&map),  \
          "r"(shared_address(barrier)), "h"(blocks), "l"(kPolicy<Hint>), "r"(at[0]), "r"(at[1]), \
          "r"(at[Rank > 2 ? 2 : 0]), "r"(at[Rank > 3 ? 3 : 0]), "r"(at[Rank > 4 ? 4 : 0]))
#define JFA_COPY(...)                           \
  JFA_RANK(2, "{%5, %6}", __VA_ARGS__);         \
  JFA_RANK(3, "{%5, %6, %7}", __VA_ARGS__);     \
  JFA_RANK(4, "{%5, %6, %7, %8}", __VA_ARGS__); \
  JFA_RANK(5, "{%5, %6, %7, %8, %9}", __VA_ARGS__)
#define JFA_HINTED(KIND_OF_COPY, HEAD, KIND, BEFORE, AFTER)                  \
  if constexpr (Kind == CopyKind::KIND_OF_COPY && Hint == CacheHint::None) { \
    JFA_COPY(HEAD, KIND, BEFORE, AFTER);                                     \
  } else if constexpr (Kind == CopyKind::KIND_OF_COPY) {                     \
    JFA_COPY(HEAD, KIND ".L2::cache_hint", BEFORE, AFTER ", %4");            \
  }
  /// P#data-movement-and-conversion-instructions-cp-async-bulk-tensor
  /// P#data-movement-and-conversion-instructions-cp-reduce-async-bulk-tensor
  template <CopyKind Kind, CacheHint Hint, int Rank>
  static JFA_DEVICE void tensor_copy(void* tile, const TensorMap& map, const int (&at)[Rank],
                                     Mbarrier* barrier, std::uint16_t blocks, Site = {}) {
    static_assert(Rank >= 2 && Rank <= 5, "a tensor map has 2 to 5 dimensions");
    JFA_HINTED(Load, "cp.async.bulk.tensor.",
               "shared::cluster.global.tile.mbarrier::complete_tx::bytes", "[%0], [%1, ", "], [%2]")
    JFA_HINTED(LoadMulticast, "cp.async.bulk.tensor.",
               "shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
               "[%0], [%1, ", "], [%2], %3")
    JFA_HINTED(Store, "cp.async.bulk.tensor.", "global.shared::cta.tile.bulk_group", "[%1, ",
               "], [%0]")
    JFA_HINTED(ReduceAdd, "cp.reduce.async.bulk.tensor.", "global.shared::cta.add.tile.bulk_group",
               "[%1, ", "], [%0]")
  }
#undef JFA_RANK
#undef JFA_COPY
#undef JFA_HINTED
  /// P#data-movement-and-conversion-instructions-cp-async-bulk
  static JFA_DEVICE void bulk_load(void* tile, const void* from, std::uint32_t bytes,
                                   Mbarrier* barrier, Site = {}) {
    JFA_PTX(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];",
        "r"(shared_address(tile)), "l"(global_address(from)), "r"(bytes),
        "r"(shared_address(barrier)));
  }
  static JFA_DEVICE void bulk_store(void* to, const void* tile, std::uint32_t bytes, Site = {}) {
    JFA_PTX("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;", "l"(global_address(to)),
            "r"(shared_address(tile)), "r"(bytes));
  }
  /// To the same places of tile and barrier in block `rank` of the cluster.
  static JFA_DEVICE void bulk_send(void* to, const void* tile, std::uint32_t bytes,
                                   Mbarrier* barrier, int rank, Site = {}) {
    JFA_PTX(
        "{.reg .b32 there, done; mapa.shared::cluster.u32 there, %0, %4; "
        "mapa.shared::cluster.u32 done, %3, %4; "
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [there], [%1], %2, "
        "[done];}",
        "r"(shared_address(to)), "r"(shared_address(tile)), "r"(bytes),
        "r"(shared_address(barrier)), "r"(rank));
  }
  /// P#data-movement-and-conversion-instructions-cp-reduce-async-bulk
  static JFA_DEVICE void bulk_reduce_add(float* to, const float* tile, std::uint32_t bytes,
                                         Site = {}) {
    JFA_PTX("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;",
            "l"(global_address(to)), "r"(shared_address(tile)), "r"(bytes));
  }
  /// P#data-movement-and-conversion-instructions-cp-async-bulk-commit-group
  static JFA_DEVICE void bulk_commit(Site = {}) { JFA_PTX("cp.async.bulk.commit_group;"); }
  /// P#data-movement-and-conversion-instructions-cp-async-bulk-wait-group
  template <int Pending, bool Read>
  static JFA_DEVICE void bulk_wait(Site = {}) {
    if constexpr (Read) JFA_PTX("cp.async.bulk.wait_group.read %0;", "n"(Pending));
    if constexpr (!Read) JFA_PTX("cp.async.bulk.wait_group %0;", "n"(Pending));
  }

  // Matrices
  static constexpr std::uint32_t kDescriptorVersion = 0;  // of matrix descriptors
  struct FragmentState {  // nothing to keep: the compiler and ptxas see the registers
    JFA_DEVICE void reading(Site) const {}
    JFA_DEVICE void writing(Site) const {}
  };
  /// P#asynchronous-warpgroup-level-matrix-instructions-wgmma-fence
  static JFA_DEVICE void wgmma_fence(Site = {}) { JFA_PTX("wgmma.fence.sync.aligned;"); }
  /// P#asynchronous-warpgroup-level-matrix-instructions-wgmma-commit-group
  static JFA_DEVICE void wgmma_commit(Site = {}) { JFA_PTX("wgmma.commit_group.sync.aligned;"); }
  /// P#asynchronous-warpgroup-level-matrix-instructions-wgmma-wait-group
  template <int Pending>
  static JFA_DEVICE void wgmma_wait(Site = {}) {
    JFA_PTX("wgmma.wait_group.sync.aligned %0;", "n"(Pending));
  }
  /// P#asynchronous-warpgroup-level-matrix-instructions-wgmma-mma
  template <MmaShape S>
  static JFA_DEVICE void wgmma(auto& acc, auto a, MmaDescriptor b, bool accumulate, auto&&...) {
    wgmma_k16<S>(acc, a, b, accumulate);
  }
  template <class T, int Size>
  static JFA_DEVICE void settle(T (&values)[Size], FragmentState&, Site = {}) {
    JFA_UNROLL
    for (int i = 0; i < Size; ++i) {
      if constexpr (__is_same(T, float)) asm volatile("" : "+f"(values[i])::"memory");
      if constexpr (!__is_same(T, float)) asm volatile("" : "+r"(values[i])::"memory");
    }
  }
  /// Four 8 x 8 matrices of 16-bit elements; lane l gives the place of row l % 8 of matrix l / 8.
  /// P#warp-level-matrix-instructions-ldmatrix
  static JFA_DEVICE void ldmatrix(std::uint32_t* r, const void* row, Site = {}) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
  }
  /// P#warp-level-matrix-instructions-stmatrix
  static JFA_DEVICE void stmatrix(void* row, const std::uint32_t* r, Site = {}) {
    JFA_PTX("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};",
            "r"(shared_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
  }

  // Ordinary accesses are plain C++: the compiler orders them by the clobbers of the words around.
  static JFA_DEVICE auto load_shared(const auto* from, Site = {}) { return *from; }
  static JFA_DEVICE auto load_global(const auto* from, Site = {}) { return *from; }
  static JFA_DEVICE void store_shared(auto* to, auto value, Site = {}) { *to = value; }
  static JFA_DEVICE void store_global(auto* to, auto value, Site = {}) { *to = value; }
  /// P#data-movement-and-conversion-instructions-ld, -st, -red, -atom: 32-bit integers, GPU scope.
  static JFA_DEVICE int load_acquire(const int* pointer, Site = {}) {
    int value;
    const std::size_t at = global_address(pointer);
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
  }
  /// Waits until the value is at least `value`, and gives it. A loop in asm, as for barriers.
  static JFA_DEVICE int await(const int* from, int value, Site = {}) {
    int x;
    asm volatile(
        "{.reg .pred p; again: ld.acquire.gpu.global.s32 %0, [%1]; "
        "setp.lt.s32 p, %0, %2; @p bra again;}"
        : "=&r"(x)
        : "l"(global_address(from)), "r"(value)
        : "memory");
    return x;
  }
  static JFA_DEVICE void store_release(int* pointer, int value, Site = {}) {
    JFA_PTX("st.release.gpu.global.s32 [%0], %1;", "l"(global_address(pointer)), "r"(value));
  }
  static JFA_DEVICE void reduce_add_release(int* pointer, int value, Site = {}) {
    JFA_PTX("red.release.gpu.global.add.s32 [%0], %1;", "l"(global_address(pointer)), "r"(value));
  }
  static JFA_DEVICE auto atomic_add(auto* to, auto x, Site = {}) { return atomicAdd(to, x); }
  static JFA_DEVICE void reduce_add(Pack<float, 4>* to, const Pack<float, 4>& x, Site = {}) {
    JFA_PTX("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};", "l"(global_address(to)),
            "f"(x.values[0]), "f"(x.values[1]), "f"(x.values[2]), "f"(x.values[3]));
  }

  // Arithmetic
#define JFA_UNARY(TEXT)                    \
  float y;                                 \
  asm(TEXT " %0, %1;" : "=f"(y) : "f"(x)); \
  return y
  /// P#floating-point-instructions-ex2, -lg2, -tanh, -rcp, -fma, -max
  static JFA_DEVICE float exp2(float x) { JFA_UNARY("ex2.approx.ftz.f32"); }
  static JFA_DEVICE float log2(float x) { JFA_UNARY("lg2.approx.ftz.f32"); }
  static JFA_DEVICE float tanh(float x) { JFA_UNARY("tanh.approx.f32"); }
#undef JFA_UNARY
  static JFA_DEVICE float reciprocal(float x) { return __frcp_rn(x); }
  static JFA_DEVICE float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
  static JFA_DEVICE float max(float a, float b) { return fmaxf(a, b); }
  /// P#data-movement-and-conversion-instructions-cvt
  template <class T>
  static JFA_DEVICE std::uint32_t pack(float low, float high) {
    std::uint32_t both;
    if constexpr (kElementType<T> == ElementType::Bf16) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    } else {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    }
    return both;
  }
  static JFA_DEVICE float to_float(float x) { return x; }
  static JFA_DEVICE float to_float(bf16 x) { return __uint_as_float(std::uint32_t{x.bits} << 16); }
  static JFA_DEVICE float to_float(fp16 x) { return __half2float(__ushort_as_half(x.bits)); }
};

}  // namespace jfa::inline gpu
