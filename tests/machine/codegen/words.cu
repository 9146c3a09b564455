// Each word beside its raw form: NAME_word must compile to the instructions, registers and spills
// of NAME_raw. The raw forms are cuda::ptx where it has the instruction, inline PTX elsewhere.
#include <cuda/ptx>

#include "machine/hopper/hopper.hpp"
#include "machine/machine.hpp"

namespace ptx = cuda::ptx;
using namespace jfa;
using H = Hopper;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

namespace {

__device__ uint32_t window(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ uint64_t* raw(Mbarrier& barrier) { return reinterpret_cast<uint64_t*>(&barrier); }

using Pair = Tile<H, bf16, 64, 64>;

__device__ void wait_parity(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{.reg .pred p; wait: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1; "
      "@!p bra wait;}" ::"r"(window(barrier)),
      "r"(parity)
      : "memory");
}
__device__ void raw_load(void* tile, const CUtensorMap* map, int x, int y, uint64_t* barrier) {
  const int at[2] = {x, y};
  ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, map, at, barrier);
}
__device__ void raw_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void raw_wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ void raw_wgmma_wait(float (&d)[4]) {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (float& x : d) asm volatile("" : "+f"(x)::"memory");
}

}  // namespace

// ------------------------------------------------------------------------------------------- rings

struct RingMemory {
  Ring<H, "ring", Pair, 3, By<Tma>, FreedBy<OncePerWarp<1>>> ring;
};

extern "C" __global__ void ring_fill_word(const __grid_constant__ CUtensorMap map, int steps) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = reinterpret_cast<RingMemory*>(memory)->ring;
  auto w = ring.writer();
  for (int i = 0; i < steps; ++i) {
    ring.fill(w, [&](Pair& slot, Mbarrier& full) { tma_load(full, slot, map, {0, i}); });
  }
}
extern "C" __global__ void ring_fill_raw(const __grid_constant__ CUtensorMap map, int steps) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = reinterpret_cast<RingMemory*>(memory)->ring;
  int stage = 0;
  uint32_t phase = 0;
  for (int i = 0; i < steps; ++i) {
    wait_parity(raw(ring.empty[stage]), phase ^ 1);
    raw_load(&ring.slots[stage], &map, 0, i, raw(ring.full[stage]));
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                     window(&ring.full[stage])),
                 "r"(8192)
                 : "memory");
    if (++stage == 3) {
      stage = 0;
      phase ^= 1;
    }
  }
}

extern "C" __global__ void ring_read_word(float* out, int steps) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = reinterpret_cast<RingMemory*>(memory)->ring;
  auto r = ring.reader();
  float sum = 0;
  for (int i = 0; i < steps; ++i) {
    Pair& slot = ring.wait(r);
    sum += H::to_float(slot.view().load(0, 0).values[0]);
    ring.release(r);
  }
  out[0] = sum;
}
extern "C" __global__ void ring_read_raw(float* out, int steps) {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = reinterpret_cast<RingMemory*>(memory)->ring;
  int stage = 0;
  uint32_t phase = 0;
  float sum = 0;
  for (int i = 0; i < steps; ++i) {
    wait_parity(raw(ring.full[stage]), phase);
    sum += __uint_as_float(uint32_t{ring.slots[stage].elements[0].bits} << 16);
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
      asm volatile(
          "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(window(&ring.empty[stage]))
          : "memory");
    }
    if (++stage == 3) {
      stage = 0;
      phase ^= 1;
    }
  }
  out[0] = sum;
}

extern "C" __global__ void ring_init_word() {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = reinterpret_cast<RingMemory*>(memory)->ring;
  init_barriers<H>([&] { ring.init(); });
}
extern "C" __global__ void ring_init_raw() {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = reinterpret_cast<RingMemory*>(memory)->ring;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) {
      ptx::mbarrier_init(raw(ring.full[i]), 1);
      ptx::mbarrier_init(raw(ring.empty[i]), 1);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
}

extern "C" __global__ void ring_drain_word() {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = reinterpret_cast<RingMemory*>(memory)->ring;
  auto w = ring.writer();
  w.phase = w.phase.next();
  ring.drain(w);
}
extern "C" __global__ void ring_drain_raw() {
  extern __shared__ __align__(1024) unsigned char memory[];
  auto& ring = reinterpret_cast<RingMemory*>(memory)->ring;
  for (int i = 0; i < 3; ++i) wait_parity(raw(ring.empty[i]), 0);
}

// ------------------------------------------------------------------------- gates, turns, meetings

extern "C" __global__ void gate_word() {
  __shared__ Gate<H, "gate", By<EachThread<64>>> gate;
  auto key = gate.key();
  gate.open();
  gate.pass(key);
  gate.open();
  gate.pass(key);
}
extern "C" __global__ void gate_raw() {
  __shared__ Mbarrier gate;
  for (uint32_t phase = 0; phase < 2; ++phase) {
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, raw(gate));
    wait_parity(raw(gate), phase);
  }
}

extern "C" __global__ void gate_of_warps_word() {
  __shared__ Gate<H, "gate", By<OncePerWarp<2>>> gate;
  gate.open();
}
extern "C" __global__ void gate_of_warps_raw() {
  __shared__ Mbarrier gate;
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, raw(gate));
  }
}

extern "C" __global__ void gate_of_cluster_word() {
  __shared__ Gate<H, "gate", By<OncePerWarpOfCluster<2, 1>>> gate;
  auto key = gate.key();
  gate.open();
  gate.pass(key);
}
extern "C" __global__ void gate_of_cluster_raw() {
  __shared__ Mbarrier gate;
  __syncwarp();
  if (threadIdx.x % 32 < 2) {
    asm volatile(
        "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; "
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];}" ::"r"(window(&gate)),
        "r"(threadIdx.x % 32)
        : "memory");
  }
  asm volatile(
      "{.reg .pred p; wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0; "
      "@!p bra wait;}" ::"r"(window(&gate))
      : "memory");
}

using Ids = BarrierIds<"first", "second", "all">;

extern "C" __global__ void turn_word() {
  using Ping = Turn<H, Ids, 128, "first", "second">;
  Ping::take(0);
  Ping::give(1);
}
extern "C" __global__ void turn_raw() {
  asm volatile("barrier.cta.sync.aligned 1, 256;" ::: "memory");
  asm volatile("barrier.cta.arrive.aligned 2, 256;" ::: "memory");
}

extern "C" __global__ void meeting_word() { Meeting<H, "all", Ids, 96>::sync(); }
extern "C" __global__ void meeting_raw() {
  asm volatile("barrier.cta.sync.aligned 3, 96;" ::: "memory");
}

extern "C" __global__ void cluster_word() { H::sync_cluster(); }
extern "C" __global__ void cluster_raw() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// ------------------------------------------------------------------------------------------- roles

extern "C" __global__ void __launch_bounds__(384, 1) roles_word(int* out) {
  warp_roles<H>(role<"one", Warps{0, 4}, Regs{40}>([&] { out[threadIdx.x] = 1; }),
                role<"two", Warps{4, 8}, Regs{232}>([&] { out[threadIdx.x] = 2; }));
}
extern "C" __global__ void __launch_bounds__(384, 1) roles_raw(int* out) {
  const unsigned warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);
  if (warp < 4) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    out[threadIdx.x] = 1;
  } else if (warp - 4 < 8) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    out[threadIdx.x] = 2;
  }
}

extern "C" __global__ void elect_word(int* out) {
  if (H::elect()) out[0] = 1;
}
extern "C" __global__ void elect_raw(int* out) {
  uint32_t elected;
  asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p;}"
               : "=r"(elected)::"memory");
  if (elected != 0) out[0] = 1;
}

// ------------------------------------------------------------------------------------------ copies

template <int Rank>
using Coordinates = int[Rank];

extern "C" __global__ void tma_loads_word(const __grid_constant__ CUtensorMap map) {
  __shared__ Pair tile;
  __shared__ Mbarrier full;
  tma_load(full, tile, map, {1, 2});
  tma_load(full, tile, map, {1, 2, 3});
  tma_load(full, tile, map, {1, 2, 3, 4});
  tma_load(full, tile, map, {1, 2, 3, 4, 5});
  tma_load_multicast(full, tile, map, {1, 2}, uint16_t{3});
}
extern "C" __global__ void tma_loads_raw(const __grid_constant__ CUtensorMap map) {
  __shared__ Pair tile;
  __shared__ Mbarrier full;
  const auto to = ptx::space_cluster;
  const auto from = ptx::space_global;
  ptx::cp_async_bulk_tensor(to, from, &tile, &map, Coordinates<2>{1, 2}, raw(full));
  ptx::cp_async_bulk_tensor(to, from, &tile, &map, Coordinates<3>{1, 2, 3}, raw(full));
  ptx::cp_async_bulk_tensor(to, from, &tile, &map, Coordinates<4>{1, 2, 3, 4}, raw(full));
  ptx::cp_async_bulk_tensor(to, from, &tile, &map, Coordinates<5>{1, 2, 3, 4, 5}, raw(full));
  ptx::cp_async_bulk_tensor(to, from, &tile, &map, Coordinates<2>{1, 2}, raw(full), uint16_t{3});
}

extern "C" __global__ void tma_hint_word(const __grid_constant__ CUtensorMap map) {
  __shared__ Pair tile;
  __shared__ Mbarrier full;
  tma_load<CacheHint::EvictFirst>(full, tile, map, {1, 2});
  tma_load<CacheHint::EvictLast>(full, tile, map, {1, 2});
}
extern "C" __global__ void tma_hint_raw(const __grid_constant__ CUtensorMap map) {
  __shared__ Pair tile;
  __shared__ Mbarrier full;
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(window(&tile)),
      "l"(&map), "r"(window(&full)), "r"(1), "r"(2), "l"(policy)
      : "memory");
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(window(&tile)),
      "l"(&map), "r"(window(&full)), "r"(1), "r"(2), "l"(policy)
      : "memory");
}

extern "C" __global__ void tma_stores_word(const __grid_constant__ CUtensorMap map) {
  __shared__ Pair tile;
  H::fence_proxy_async<Space::Shared>();
  tma_store(map, {1, 2}, tile);
  tma_reduce_add(map, {1, 2, 3}, tile);
  H::bulk_commit();
  wait_read<H, 1>();
  wait_stored<H>();
}
extern "C" __global__ void tma_stores_raw(const __grid_constant__ CUtensorMap map) {
  __shared__ Pair tile;
  const auto to = ptx::space_global;
  const auto from = ptx::space_shared;
  ptx::fence_proxy_async(ptx::space_shared);
  ptx::cp_async_bulk_tensor(to, from, &map, Coordinates<2>{1, 2}, &tile);
  ptx::cp_reduce_async_bulk_tensor(to, from, ptx::op_add, &map, Coordinates<3>{1, 2, 3}, &tile);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group_read(ptx::n32_t<1>{});
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
}

extern "C" __global__ void bulk_word(float* global) {
  __shared__ alignas(128) float tile[64];
  __shared__ Mbarrier full;
  H::bulk_load(tile, global, 256, &full);
  H::bulk_store(global, tile, 256);
  H::bulk_reduce_add(global, tile, 256);
}
extern "C" __global__ void bulk_raw(float* global) {
  __shared__ alignas(128) float tile[64];
  __shared__ Mbarrier full;
  ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, global, 256u, raw(full));
  ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, global, tile, 256u);
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, global, tile, 256u);
}

extern "C" __global__ void bulk_send_word() {
  __shared__ alignas(128) float tile[64];
  __shared__ Mbarrier full;
  H::bulk_send(tile, tile, 256, &full, 1);
}
extern "C" __global__ void bulk_send_raw() {
  __shared__ alignas(128) float tile[64];
  __shared__ Mbarrier full;
  uint32_t there;
  uint32_t done;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(there) : "r"(window(tile)));
  asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(done) : "r"(window(&full)));
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, "
      "[%3];" ::"r"(there),
      "r"(window(tile)), "r"(256), "r"(done)
      : "memory");
}

// ------------------------------------------------------------------------------------ wgmma, small

extern "C" __global__ void __launch_bounds__(128) wgmma_word(float* out) {
  __shared__ Tile<H, bf16, 64, 64> a;
  __shared__ Tile<H, bf16, 8, 64> b;
  Fragment<H, 8> acc;
  H::wgmma_fence();
  wgmma(acc, a, b, false);
  H::wgmma_commit();
  wgmma_wait<0>(acc);
  JFA_UNROLL
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = acc.values[i];
}
extern "C" __global__ void __launch_bounds__(128) wgmma_raw(float* out) {
  __shared__ Tile<H, bf16, 64, 64> a;
  __shared__ Tile<H, bf16, 8, 64> b;
  float d[4];
  const uint32_t a_at = __shfl_sync(0xffffffff, window(&a), 0);
  const uint32_t b_at = __shfl_sync(0xffffffff, window(&b), 0);
  raw_wgmma_fence();
  for (uint32_t k = 0; k < 4; ++k) {
    const uint64_t high = uint64_t{0x40000040} << 32 | uint64_t{1} << 16;
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "l"(high | (a_at / 16 + 2 * k)), "l"(high | (b_at / 16 + 2 * k)), "r"(int{k != 0}));
  }
  raw_wgmma_commit();
  raw_wgmma_wait(d);
  for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = d[i];
}

extern "C" __global__ void __launch_bounds__(128) wgmma_registers_word(float* out) {
  __shared__ Tile<H, bf16, 64, 16, Swizzle::B32> a;
  __shared__ Tile<H, bf16, 16, 8 * 8> b;
  Operand<H, bf16, 16> left;
  load_operand(left, a.view());
  Fragment<H, 64> acc;
  H::wgmma_fence();
  wgmma(acc, left, transposed(b), false);
  H::wgmma_commit();
  wgmma_wait<0>(acc, left);
  JFA_UNROLL
  for (int i = 0; i < 32; ++i) out[32 * threadIdx.x + i] = acc.values[i];
}
extern "C" __global__ void __launch_bounds__(128) wgmma_registers_raw(float* out) {
  __shared__ Tile<H, bf16, 64, 16, Swizzle::B32> a;
  __shared__ Tile<H, bf16, 16, 8 * 8> b;
  uint32_t left[4];
  const int lane = threadIdx.x % 32;
  const int row = __shfl_sync(0xffffffff, threadIdx.x / 32, 0) % 4 * 16 + lane % 16;
  const int chunk = lane / 16 ^ (row * 32 >> 7 & 1);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(left[0]), "=r"(left[1]), "=r"(left[2]), "=r"(left[3])
               : "r"(window(&a) + row * 32 + chunk * 16)
               : "memory");
  float d[32];
  const uint32_t at = __shfl_sync(0xffffffff, window(&b), 0);
  raw_wgmma_fence();
  wgmma_k16<MmaShape{ElementType::Bf16, 64, false, true}>(
      d, left, MmaDescriptor{at / 16 | 2048 / 16 << 16, 0x40000040}, 0);
  raw_wgmma_commit();
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (float& x : d) asm volatile("" : "+f"(x)::"memory");
  for (int i = 0; i < 32; ++i) out[32 * threadIdx.x + i] = d[i];
}

// --------------------------------------------------------------------------------------- fragments

extern "C" __global__ void __launch_bounds__(128) softmax_word(float* data) {
  Fragment<H, 32> x;
  JFA_UNROLL
  for (int i = 0; i < 16; ++i) x.values[i] = data[128 * i + threadIdx.x];
  const auto top = max_across_lanes(partial_row_max(x));
  x.map_rows(top, [](float v, float m) { return H::exp2(v - m); });
  const auto sum = sum_across_lanes(partial_row_sum<0, 32>(x));
  scale_rows(x, sum.map([](float s) { return H::reciprocal(s); }));
  JFA_UNROLL
  for (int i = 0; i < 16; ++i) data[128 * i + threadIdx.x] = x.values[i];
}
extern "C" __global__ void __launch_bounds__(128) softmax_raw(float* data) {
  float x[16];
  for (int i = 0; i < 16; ++i) x[i] = data[128 * i + threadIdx.x];
  float top[4] = {x[0], x[1], x[2], x[3]};
  for (int i = 4; i < 16; ++i) top[i % 4] = fmaxf(top[i % 4], x[i]);
  float sum[4];
  for (int r = 0; r < 2; ++r) {
    float m = fmaxf(top[2 * r], top[2 * r + 1]);
    m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 1));
    top[r] = fmaxf(m, __shfl_xor_sync(0xffffffff, m, 2));
  }
  for (int i = 0; i < 16; ++i) x[i] = H::exp2(x[i] - top[i / 2 % 2]);
  for (int i = 0; i < 4; ++i) sum[i] = x[i];
  for (int i = 4; i < 16; ++i) sum[i % 4] += x[i];
  for (int r = 0; r < 2; ++r) {
    float s = sum[2 * r] + sum[2 * r + 1];
    s += __shfl_xor_sync(0xffffffff, s, 1);
    s += __shfl_xor_sync(0xffffffff, s, 2);
    sum[r] = __frcp_rn(s);
  }
  for (int i = 0; i < 16; ++i) data[128 * i + threadIdx.x] = x[i] * sum[i / 2 % 2];
}

extern "C" __global__ void __launch_bounds__(128) store_fragment_word(const float* data) {
  __shared__ Tile<H, bf16, 64, 64> tile;
  Fragment<H, 64> x;
  JFA_UNROLL
  for (int i = 0; i < 32; ++i) x.values[i] = data[128 * i + threadIdx.x];
  store_fragment(tile.view(), x);
}
extern "C" __global__ void __launch_bounds__(128) store_fragment_raw(const float* data) {
  __shared__ Tile<H, bf16, 64, 64> tile;
  float x[32];
  for (int i = 0; i < 32; ++i) x[i] = data[128 * i + threadIdx.x];
  const int lane = threadIdx.x % 32;
  const int row = __shfl_sync(0xffffffff, threadIdx.x / 32, 0) % 4 * 16 + lane % 16;
  for (int c = 0; c < 4; ++c) {
    uint32_t pair[4];
    for (int i = 0; i < 4; ++i) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
          : "=r"(pair[i])
          : "f"(x[8 * c + 2 * i + 1]), "f"(x[8 * c + 2 * i]));
    }
    const int byte = (32 * c + lane / 16 * 16) ^ ((row & 7) << 4);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     window(reinterpret_cast<char*>(&tile) + row * 128 + byte)),
                 "r"(pair[0]), "r"(pair[1]), "r"(pair[2]), "r"(pair[3])
                 : "memory");
  }
}

extern "C" __global__ void __launch_bounds__(128) store_fp32_word(float* data) {
  __shared__ Tile<H, float, 64, 32> tile;
  Fragment<H, 32> x;
  JFA_UNROLL
  for (int i = 0; i < 16; ++i) x.values[i] = data[128 * i + threadIdx.x];
  store_fragment(tile.view(), x);
  __syncthreads();
  data[threadIdx.x] = tile.elements[threadIdx.x];
}
extern "C" __global__ void __launch_bounds__(128) store_fp32_raw(float* data) {
  __shared__ Tile<H, float, 64, 32> tile;
  float x[16];
  for (int i = 0; i < 16; ++i) x[i] = data[128 * i + threadIdx.x];
  const int lane = threadIdx.x % 32;
  const int row = (__shfl_sync(0xffffffff, threadIdx.x / 32, 0) & 3) * 16 + lane / 4;
  for (int i = 0; i < 16; i += 2) {
    const int down = (row + i / 2 % 2 * 8) * 128;
    const int across = (lane % 4 * 8 + i / 4 * 32) ^ ((row & 7) << 4);
    *reinterpret_cast<float2*>(reinterpret_cast<char*>(&tile) + down + across) = {x[i], x[i + 1]};
  }
  __syncthreads();
  data[threadIdx.x] = tile.elements[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(128) convert_word(const float* data, uint32_t* out) {
  Fragment<H, 16> x;
  Operand<H, fp16, 16> to;
  JFA_UNROLL
  for (int i = 0; i < 8; ++i) x.values[i] = data[128 * i + threadIdx.x];
  convert(to, x);
  JFA_UNROLL
  for (int i = 0; i < 4; ++i) out[128 * i + threadIdx.x] = to.values[i];
}
extern "C" __global__ void __launch_bounds__(128) convert_raw(const float* data, uint32_t* out) {
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = data[128 * i + threadIdx.x];
  for (int i = 0; i < 4; ++i) {
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
    out[128 * i + threadIdx.x] = pair;
  }
}

// -------------------------------------------------------------------------------- memory and warps

extern "C" __global__ void memory_word(int* flag, float* data) {
  if (H::load_acquire(flag) != 0) {
    H::store_global(data, H::load_global(data + 1) + 1.0F);
    H::fence_gpu();
    H::reduce_add_release(flag, 1);
    H::store_release(flag + 1, H::atomic_add(flag + 2, 1));
  }
}
extern "C" __global__ void memory_raw(int* flag, float* data) {
  int seen;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  if (seen != 0) {
    data[0] = data[1] + 1.0F;
    ptx::fence(ptx::sem_acq_rel, ptx::scope_gpu);
    asm volatile("red.release.gpu.global.add.s32 [%0], 1;" ::"l"(flag) : "memory");
    const int count = atomicAdd(flag + 2, 1);
    asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag + 1), "r"(count) : "memory");
  }
}

extern "C" __global__ void warps_word(int* out) {
  const int lane = H::lane();
  int x = H::shuffle(lane, 3) + H::shuffle_xor(lane, 4) + H::uniform(lane);
  x += H::any(lane > 3) + H::all(lane < 30) + static_cast<int>(H::ballot(lane % 2 == 0));
  H::sync_warp();
  out[H::block_index() * H::grid_size() + H::thread_index()] = x + H::cluster_rank();
}
extern "C" __global__ void warps_raw(int* out) {
  const unsigned all = 0xffffffff;
  const int lane = threadIdx.x % 32;
  int x = __shfl_sync(all, lane, 3) + __shfl_xor_sync(all, lane, 4) + __shfl_sync(all, lane, 0);
  x += (__any_sync(all, lane > 3) != 0) + (__all_sync(all, lane < 30) != 0) +
       static_cast<int>(__ballot_sync(all, lane % 2 == 0));
  __syncwarp();
  out[blockIdx.x * gridDim.x + threadIdx.x] = x + ptx::get_sreg_cluster_ctarank();
}

extern "C" __global__ void fences_word() {
  H::fence_proxy_async<Space::Global>();
  H::fence_proxy_async<Space::Both>();
  H::fence_gpu();
  H::sync_block();
}
extern "C" __global__ void fences_raw() {
  ptx::fence_proxy_async(ptx::space_global);
  ptx::fence_proxy_async();
  ptx::fence(ptx::sem_acq_rel, ptx::scope_gpu);
  __syncthreads();
}

extern "C" __global__ void math_word(float* x) {
  x[0] = H::exp2(x[0]) + H::log2(x[1]) + H::tanh(x[2]) + H::reciprocal(x[3]);
  x[1] = H::fma(x[0], x[1], H::max(x[2], x[3]));
}
extern "C" __global__ void math_raw(float* x) {
  float exp2;
  float log2;
  float tanh;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(exp2) : "f"(x[0]));
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log2) : "f"(x[1]));
  asm("tanh.approx.f32 %0, %1;" : "=f"(tanh) : "f"(x[2]));
  x[0] = exp2 + log2 + tanh + __frcp_rn(x[3]);
  x[1] = fmaf(x[0], x[1], fmaxf(x[2], x[3]));
}
