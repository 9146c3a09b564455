// Hopper's threads, matrix unit and ordinary memory: one bare instruction a function.
// P stands for https://docs.nvidia.com/cuda/parallel-thread-execution/ below.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "machine/generated/wgmma.hpp"
#include "machine/hopper/barriers.hpp"

namespace jfa {
inline namespace gpu {

struct HopperThreads {
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
  static JFA_DEVICE bool elect(Site = Site::here()) {
    int elected;
    asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p;}"
                 : "=r"(elected)::"memory");
    return elected != 0;
  }

  /// P#data-movement-and-conversion-instructions-shfl-sync
  /// `uniform`: a value that all lanes hold, told to the compiler.
  template <class T>
  static JFA_DEVICE T uniform(T x, Site = Site::here()) {
    return __shfl_sync(kAllLanes, x, 0);
  }
  template <class T>
  static JFA_DEVICE T shuffle(T x, int lane, Site = Site::here()) {
    return __shfl_sync(kAllLanes, x, lane);
  }
  template <class T>
  static JFA_DEVICE T shuffle_xor(T x, int mask, Site = Site::here()) {
    return __shfl_xor_sync(kAllLanes, x, mask);
  }

  /// P#parallel-synchronization-and-communication-instructions-vote-sync
  static JFA_DEVICE bool any(bool x, Site = Site::here()) { return __any_sync(kAllLanes, x) != 0; }
  static JFA_DEVICE bool all(bool x, Site = Site::here()) { return __all_sync(kAllLanes, x) != 0; }
  static JFA_DEVICE std::uint32_t ballot(bool x, Site = Site::here()) {
    return __ballot_sync(kAllLanes, x);
  }
  /// P#parallel-synchronization-and-communication-instructions-bar-warp-sync
  static JFA_DEVICE void sync_warp(Site = Site::here()) { __syncwarp(); }

  template <Name N>
  static JFA_DEVICE void enter_role(Site = Site::here()) {}
  static JFA_DEVICE void leave_role(Site = Site::here()) {}

  /// P#special-registers-globaltimer
  static JFA_DEVICE std::uint64_t global_timer() {
    std::uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
  }
  static JFA_DEVICE void sleep_ns(std::uint32_t nanoseconds) { __nanosleep(nanoseconds); }
  [[noreturn]] static JFA_DEVICE void trap(Site = Site::here()) { __trap(); }

 private:
  static constexpr unsigned kAllLanes = 0xffffffff;
};

struct HopperMma {
  /// Nothing to keep: the compiler and ptxas see the registers.
  struct FragmentState {
    JFA_DEVICE void reading(Site) const {}
    JFA_DEVICE void writing(Site) const {}
  };

  static JFA_DEVICE std::uint32_t shared_address(const void* pointer) {
    return shared_window(pointer);
  }

  /// P#asynchronous-warpgroup-level-matrix-instructions-wgmma-fence
  static JFA_DEVICE void wgmma_fence(Site = Site::here()) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  }
  /// P#asynchronous-warpgroup-level-matrix-instructions-wgmma-commit-group
  static JFA_DEVICE void wgmma_commit(Site = Site::here()) {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  /// P#asynchronous-warpgroup-level-matrix-instructions-wgmma-wait-group
  template <int Pending>
  static JFA_DEVICE void wgmma_wait(Site = Site::here()) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
  }
  /// P#asynchronous-warpgroup-level-matrix-instructions-wgmma-mma
  template <MmaShape S, int Size>
  static JFA_DEVICE void wgmma_ss(float (&acc)[Size], MmaDescriptor a, MmaDescriptor b,
                                  bool accumulate, FragmentState&, Site = Site::here()) {
    gpu::wgmma_ss<S>(acc, a, b, accumulate);
  }
  template <MmaShape S, int Size>
  static JFA_DEVICE void wgmma_rs(float (&acc)[Size], const std::uint32_t* a, MmaDescriptor b,
                                  bool accumulate, FragmentState&, FragmentState&,
                                  Site = Site::here()) {
    gpu::wgmma_rs<S>(acc, a, b, accumulate);
  }
  template <int Size>
  static JFA_DEVICE void settle(float (&values)[Size], FragmentState&, Site = Site::here()) {
    JFA_UNROLL
    for (int i = 0; i < Size; ++i) asm volatile("" : "+f"(values[i])::"memory");
  }
  template <int Size>
  static JFA_DEVICE void settle(std::uint32_t (&values)[Size], FragmentState&,
                                Site = Site::here()) {
    JFA_UNROLL
    for (int i = 0; i < Size; ++i) asm volatile("" : "+r"(values[i])::"memory");
  }

  /// Four 8 x 8 matrices of 16-bit elements; lane l gives the place of row l % 8 of matrix l / 8.
  /// P#warp-level-matrix-instructions-ldmatrix
  template <int Count, bool Transpose>
  requires(Count == 4 && !Transpose) static JFA_DEVICE
      void ldmatrix(std::uint32_t (&r)[Count], const void* row, Site = Site::here()) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_window(row))
                 : "memory");
  }
  /// P#warp-level-matrix-instructions-stmatrix
  template <int Count, bool Transpose>
  requires(Count == 4 && !Transpose) static JFA_DEVICE
      void stmatrix(void* row, const std::uint32_t (&r)[Count], Site = Site::here()) {
    const std::uint32_t at = shared_window(row);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  }
};

/// Ordinary accesses are plain C++: the compiler orders them by the clobbers of the words around.
struct HopperMemory {
  template <class T>
  static JFA_DEVICE T load_shared(const T* pointer, Site = Site::here()) {
    return *pointer;
  }
  template <class T>
  static JFA_DEVICE void store_shared(T* pointer, T value, Site = Site::here()) {
    *pointer = value;
  }
  template <class T>
  static JFA_DEVICE T load_global(const T* pointer, Site = Site::here()) {
    return *pointer;
  }
  template <class T>
  static JFA_DEVICE void store_global(T* pointer, T value, Site = Site::here()) {
    *pointer = value;
  }

  /// P#data-movement-and-conversion-instructions-ld, -st, -red: 32-bit integers, GPU scope.
  static JFA_DEVICE int load_acquire(const int* pointer, Site = Site::here()) {
    const auto at = __cvta_generic_to_global(pointer);
    int value;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
  }
  static JFA_DEVICE void store_release(int* pointer, int value, Site = Site::here()) {
    const auto at = __cvta_generic_to_global(pointer);
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
  }
  static JFA_DEVICE void reduce_add_release(int* pointer, int value, Site = Site::here()) {
    const auto at = __cvta_generic_to_global(pointer);
    asm volatile("red.release.gpu.global.add.s32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
  }
  template <class T>
  static JFA_DEVICE T atomic_add(T* pointer, T value, Site = Site::here()) {
    return atomicAdd(pointer, value);
  }
};

struct HopperMath {
  static JFA_DEVICE float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  static JFA_DEVICE float log2(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
  static JFA_DEVICE float tanh(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
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
  static JFA_DEVICE float to_float(bf16 x) {
    return __uint_as_float(static_cast<std::uint32_t>(x.bits) << 16);
  }
  static JFA_DEVICE float to_float(fp16 x) { return __half2float(__ushort_as_half(x.bits)); }
};

}  // namespace gpu
}  // namespace jfa
