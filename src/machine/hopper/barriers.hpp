// Hopper's synchronization: one bare instruction a function, its PTX section linked.
#pragma once

#include "machine/types.hpp"

namespace jfa {
inline namespace gpu {

// P stands for https://docs.nvidia.com/cuda/parallel-thread-execution/ below.

JFA_DEVICE std::uint32_t shared_window(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

#define JFA_TRY_WAIT(SCOPE, THEN)                                              \
  asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.acquire." SCOPE \
               ".shared::cta.b64 p, [%1], %2; " THEN "}"                       \
               : "=r"(done)                                                    \
               : "r"(shared_window(barrier)), "r"(phase.parity)                \
               : "memory")

struct HopperBarriers {
  struct Phase {
    std::uint32_t parity;
    static JFA_DEVICE Phase first() { return {0}; }
    JFA_DEVICE Phase next() const { return {parity ^ 1}; }
    JFA_DEVICE Phase previous() const { return {parity ^ 1}; }
  };

  /// P#parallel-synchronization-and-communication-instructions-bar
  static JFA_DEVICE void sync_block(Site = Site::here()) {
    asm volatile("barrier.cta.sync.aligned 0;" ::: "memory");
  }
  template <Name N>
  static JFA_DEVICE void named_sync(int id, int threads, Site = Site::here()) {
    asm volatile("barrier.cta.sync.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
  }
  template <Name N>
  static JFA_DEVICE void named_arrive(int id, int threads, Site = Site::here()) {
    asm volatile("barrier.cta.arrive.aligned %0, %1;" ::"r"(id), "r"(threads) : "memory");
  }

  /// P#parallel-synchronization-and-communication-instructions-barrier-cluster
  static JFA_DEVICE void cluster_arrive(Site = Site::here()) {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  }
  static JFA_DEVICE void cluster_wait(Site = Site::here()) {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  }

  /// P#parallel-synchronization-and-communication-instructions-mbarrier-init
  template <Name N>
  static JFA_DEVICE void mbarrier_init(Mbarrier* barrier, int count, BarrierKind, int /*slot*/,
                                       int /*bytes*/, Site = Site::here()) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_window(barrier)), "r"(count)
                 : "memory");
  }

  /// P#parallel-synchronization-and-communication-instructions-membar-fence
  static JFA_DEVICE void mbarrier_fence_init(Site = Site::here()) {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }

  /// P#parallel-synchronization-and-communication-instructions-mbarrier-arrive
  static JFA_DEVICE void mbarrier_arrive(Mbarrier* barrier, Site = Site::here()) {
    asm volatile(
        "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared_window(barrier))
        : "memory");
  }
  static JFA_DEVICE void mbarrier_arrive_expect(Mbarrier* barrier, std::uint32_t bytes,
                                                Site = Site::here()) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_window(barrier)),
                 "r"(bytes)
                 : "memory");
  }

  /// P#data-movement-and-conversion-instructions-mapa, then an arrival at that block's barrier.
  template <Scope S>
  static JFA_DEVICE void mbarrier_arrive_remote(Mbarrier* barrier, int rank, Site = Site::here()) {
    static_assert(S == Scope::Cluster, "an arrival at another block has cluster scope");
    asm volatile(
        "{.reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1; "
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];}" ::"r"(
            shared_window(barrier)),
        "r"(rank)
        : "memory");
  }

  /// P#parallel-synchronization-and-communication-instructions-mbarrier-test-wait-mbarrier-try-wait
  template <Scope S>
  static JFA_DEVICE bool mbarrier_test(Mbarrier* barrier, Phase phase, Site = Site::here()) {
    std::uint32_t done;
    if constexpr (S == Scope::Cluster) JFA_TRY_WAIT("cluster", "selp.u32 %0, 1, 0, p;");
    if constexpr (S == Scope::Block) JFA_TRY_WAIT("cta", "selp.u32 %0, 1, 0, p;");
    return done != 0;
  }
  /// A loop in asm: one that the compiler sees makes ptxas serialize wgmma around it (C7520).
  template <Scope S>
  static JFA_DEVICE void mbarrier_wait(Mbarrier* barrier, Phase phase, Site = Site::here()) {
    [[maybe_unused]] std::uint32_t done;
    if constexpr (S == Scope::Cluster) JFA_TRY_WAIT("cluster", "@!p bra again;");
    if constexpr (S == Scope::Block) JFA_TRY_WAIT("cta", "@!p bra again;");
  }

  /// P#parallel-synchronization-and-communication-instructions-membar-fence
  template <Space S>
  static JFA_DEVICE void fence_proxy_async(Site = Site::here()) {
    if constexpr (S == Space::Shared) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if constexpr (S == Space::Global) asm volatile("fence.proxy.async.global;" ::: "memory");
    if constexpr (S == Space::Both) asm volatile("fence.proxy.async;" ::: "memory");
  }
  static JFA_DEVICE void fence_gpu(Site = Site::here()) {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
  }

  /// P#miscellaneous-instructions-setmaxnreg
  template <int Count>
  static JFA_DEVICE void registers_up(Site = Site::here()) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
  }
  template <int Count>
  static JFA_DEVICE void registers_down(Site = Site::here()) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
  }
};

#undef JFA_TRY_WAIT

}  // namespace gpu
}  // namespace jfa
