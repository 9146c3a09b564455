// A GPU of compute capability 10.0 (sm_100a, sm_100f, sm_103a), built by nvcc only: what Hopper has
// but for wgmma, and tcgen05. P stands for https://docs.nvidia.com/cuda/parallel-thread-execution/.
// Compiled and emulated, not yet run on hardware.
#pragma once

#include "machine/generated/tmem.hpp"
#include "machine/hopper/hopper.hpp"

namespace jfa::inline gpu {

struct Blackwell : Hopper {
  static constexpr std::uint32_t kDescriptorVersion = 1u << (46 - 32);

  // `Blocks`: 2 for a pair, the two blocks of a cluster: tmem.hpp has NOTE [pairs].
  /// P#tcgen05-instructions-tcgen05-alloc-dealloc-relinquish-alloc-permit
  /// By one warp, of each block of a pair; the address goes to shared memory.
  template <int Blocks = 1>
  static JFA_DEVICE void tensor_allocate(std::uint32_t* to, int columns, Site = {}) {
    JFA_PTX("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;",
            "r"(shared_address(to)), "r"(columns), "n"(Blocks));
  }
  template <int Blocks = 1>
  static JFA_DEVICE void tensor_relinquish(Site = {}) {
    JFA_PTX("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;", "n"(Blocks));
  }
  template <int Blocks = 1>
  static JFA_DEVICE void tensor_free(std::uint32_t address, int columns, Site = {}) {
    JFA_PTX("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;", "r"(address), "r"(columns),
            "n"(Blocks));
  }
  /// P#tcgen05-special-sync-operations-fence
  static JFA_DEVICE void tensor_fence_before(Site = {}) {
    JFA_PTX("tcgen05.fence::before_thread_sync;");
  }
  static JFA_DEVICE void tensor_fence_after(Site = {}) {
    JFA_PTX("tcgen05.fence::after_thread_sync;");
  }
  /// P#tcgen05-mma-instructions-mma
  /// By one thread; `a` in shared memory or in tensor memory.
  template <int Blocks = 1>
  static JFA_DEVICE void tensor_mma(std::uint32_t d, MmaDescriptor a, MmaDescriptor b,
                                    std::uint32_t instruction, bool accumulate, Site = {}) {
    JFA_PTX(
        "{.reg .pred p; .reg .b64 a, b; mov.b64 a, {%1, %2}; mov.b64 b, {%3, %4}; "
        "setp.ne.b32 p, %6, 0; tcgen05.mma.cta_group::%7.kind::f16 [%0], a, b, %5, p;}",
        "r"(d), "r"(a.low), "r"(a.high), "r"(b.low), "r"(b.high), "r"(instruction),
        "r"(int{accumulate}), "n"(Blocks));
  }
  template <int Blocks = 1>
  static JFA_DEVICE void tensor_mma(std::uint32_t d, std::uint32_t a, MmaDescriptor b,
                                    std::uint32_t instruction, bool accumulate, Site = {}) {
    JFA_PTX(
        "{.reg .pred p; .reg .b64 b; mov.b64 b, {%2, %3}; setp.ne.b32 p, %5, 0; "
        "tcgen05.mma.cta_group::%6.kind::f16 [%0], [%1], b, %4, p;}",
        "r"(d), "r"(a), "r"(b.low), "r"(b.high), "r"(instruction), "r"(int{accumulate}),
        "n"(Blocks));
  }
  /// P#tcgen-async-sync-operations-commit
  /// For a pair, at the barriers of both blocks.
  template <int Blocks = 1>
  static JFA_DEVICE void tensor_commit(Mbarrier* barrier, Site = {}) {
    if constexpr (Blocks == 1) {
      JFA_PTX("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];",
              "r"(shared_address(barrier)));
    } else {
      JFA_PTX(
          "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
          ".multicast::cluster.b64 [%0], %1;",
          "r"(shared_address(barrier)), "h"(std::uint16_t{3}));
    }
  }
  /// P#tcgen05-instructions-tcgen05-ld, -st: `N` columns of the warp's lanes.
  template <int N>
  static JFA_DEVICE void tensor_load(float* to, std::uint32_t address, FragmentState&, Site = {}) {
    tmem_load_32x32b<N>(to, address);
  }
  template <int N>
  static JFA_DEVICE void tensor_store(std::uint32_t address, const auto* from, Site = {}) {
    tmem_store_32x32b<N>(address, from);
  }
  /// P#tcgen05-instructions-tcgen05-wait
  static JFA_DEVICE void tensor_wait_loads(Site = {}) { JFA_PTX("tcgen05.wait::ld.sync.aligned;"); }
  static JFA_DEVICE void tensor_wait_stores(Site = {}) {
    JFA_PTX("tcgen05.wait::st.sync.aligned;");
  }
};

}  // namespace jfa::inline gpu
