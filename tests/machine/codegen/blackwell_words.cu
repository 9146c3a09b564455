// The words of tensor memory beside their raw forms, as words.cu has the others.
#include <cuda/ptx>

#include "machine/blackwell/blackwell.hpp"
#include "machine/machine.hpp"

namespace ptx = cuda::ptx;
using namespace jfa;
using B = Blackwell;
using std::uint32_t;
using std::uint64_t;

namespace {

__device__ uint64_t* raw(Mbarrier& barrier) { return reinterpret_cast<uint64_t*>(&barrier); }

struct Memory {
  Tile<B, bf16, 128, 64> a;
  Tile<B, bf16, 64, 64> b;
  Gate<B, "product", By<MmaDone>> product;
  uint32_t tmem;
};
__device__ Memory& memory() {
  extern __shared__ __align__(1024) unsigned char bytes[];
  return *reinterpret_cast<Memory*>(bytes);
}

/// A K-major, 128-byte swizzled operand of which each k16 step is 32 bytes along.
__device__ uint64_t raw_descriptor(const void* tile, int k) {
  const uint32_t start = static_cast<uint32_t>(__cvta_generic_to_shared(tile)) / 16 + 2 * k;
  return start | uint64_t{1} << 16 | uint64_t{64} << 32 | uint64_t{1} << 46 | uint64_t{2} << 61;
}
constexpr uint32_t kBf16 = 1 << 4 | 1 << 7 | 1 << 10 | 64 / 8 << 17 | 128 / 16 << 24;

}  // namespace

extern "C" __global__ void mma_word(uint32_t d, int accumulate) {
  mma(TmemView<B, float, 64>{d}, memory().a, memory().b, accumulate != 0);
  memory().product.open();
}
extern "C" __global__ void mma_raw(uint32_t d, int accumulate) {
  const bool lead = B::elect();
  if (lead) {
    for (int k = 0; k < 4; ++k) {
      ptx::tcgen05_mma(ptx::kind_f16, ptx::cta_group_1, d, raw_descriptor(&memory().a, k),
                       raw_descriptor(&memory().b, k), kBf16, k > 0 || accumulate != 0);
    }
  }
  if (B::elect()) ptx::tcgen05_commit(ptx::cta_group_1, raw(memory().product.barrier));
}

/// The first block's thread multiplies 256 rows, and tells both blocks.
extern "C" __global__ void mma_pair_word(uint32_t d, int accumulate) {
  mma(TmemView<B, float, 128, 256>{d}, memory().a, memory().b, accumulate != 0);
  MmaDoneOf<2>::arrive<B>(memory().product.barrier, {});
}
extern "C" __global__ void mma_pair_raw(uint32_t d, int accumulate) {
  constexpr uint32_t kBoth = 1 << 4 | 1 << 7 | 1 << 10 | 128 / 8 << 17 | 256 / 16 << 24;
  if (ptx::get_sreg_cluster_ctarank() == 0 && B::elect()) {
    for (int k = 0; k < 4; ++k) {
      ptx::tcgen05_mma(ptx::kind_f16, ptx::cta_group_2, d, raw_descriptor(&memory().a, k),
                       raw_descriptor(&memory().b, k), kBoth, k > 0 || accumulate != 0);
    }
  }
  if (ptx::get_sreg_cluster_ctarank() == 0 && B::elect()) {
    ptx::tcgen05_commit_multicast(ptx::cta_group_2, raw(memory().product.barrier), uint16_t{3});
  }
}

extern "C" __global__ void mma_tmem_word(uint32_t d, uint32_t a, int accumulate) {
  mma(TmemView<B, float, 64>{d}, TmemView<B, bf16, 64>{a}, memory().b, accumulate != 0);
}
extern "C" __global__ void mma_tmem_raw(uint32_t d, uint32_t a, int accumulate) {
  if (!B::elect()) return;
  for (int k = 0; k < 4; ++k) {
    ptx::tcgen05_mma_tmem_a(ptx::kind_f16, ptx::cta_group_1, d, a + 8 * k,
                            raw_descriptor(&memory().b, k), kBf16, k > 0 || accumulate != 0);
  }
}

extern "C" __global__ void tmem_move_word(uint32_t address) {
  RowFragment<B, 32> x;
  tmem_load(x, TmemRows<B, float, 32>{address});
  tmem_wait(x);
  B::tensor_fence_after();
  x.apply([](int, int, float& value) { value += 1; });
  tmem_store(TmemRows<B, float, 32>{address}, x);
  B::tensor_wait_stores();
  B::tensor_fence_before();
}
extern "C" __global__ void tmem_move_raw(uint32_t address) {
  uint32_t x[32];
  ptx::tcgen05_ld_32x32b(x, address);
  ptx::tcgen05_wait_ld();
  ptx::tcgen05_fence_after_thread_sync();
  for (uint32_t& value : x) value = __float_as_uint(__uint_as_float(value) + 1);
  ptx::tcgen05_st_32x32b(address, x);
  ptx::tcgen05_wait_st();
  ptx::tcgen05_fence_before_thread_sync();
}

extern "C" __global__ void allocate_word() {
  B::tensor_allocate(&memory().tmem, 128);
  B::tensor_relinquish();
  B::sync_block();
  B::tensor_free(memory().tmem, 128);
}
extern "C" __global__ void allocate_pair_word() {
  B::tensor_allocate<2>(&memory().tmem, 128);
  B::tensor_relinquish<2>();
  B::sync_cluster();
  B::tensor_free<2>(memory().tmem, 128);
}
extern "C" __global__ void allocate_pair_raw() {
  ptx::tcgen05_alloc(ptx::cta_group_2, &memory().tmem, 128);
  ptx::tcgen05_relinquish_alloc_permit(ptx::cta_group_2);
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  ptx::tcgen05_dealloc(ptx::cta_group_2, memory().tmem, 128);
}
extern "C" __global__ void allocate_raw() {
  ptx::tcgen05_alloc(ptx::cta_group_1, &memory().tmem, 128);
  ptx::tcgen05_relinquish_alloc_permit(ptx::cta_group_1);
  asm volatile("barrier.cta.sync.aligned 0;" ::: "memory");
  ptx::tcgen05_dealloc(ptx::cta_group_1, memory().tmem, 128);
}
