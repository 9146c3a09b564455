// Hopper's copy unit: one bare instruction a function, its PTX section linked.
// P stands for https://docs.nvidia.com/cuda/parallel-thread-execution/ below.
#pragma once

#include <cuda.h>

#include "machine/hopper/barriers.hpp"

namespace jfa {
inline namespace gpu {

// One asm statement for each rank. Operands: %0 tile, %1 map, %2 barrier, %3 blocks, %4 policy,
// then coordinates; a form leaves out those it does not use.
#define JFA_COPY(RANK, LIST, HEAD, KIND, BEFORE, AFTER, BARRIER, BLOCKS)                           \
  asm volatile(HEAD #RANK "d." KIND " " BEFORE LIST AFTER ";" ::"r"(shared_window(tile)),          \
               "l"(map), "r"(shared_window(BARRIER)), "h"(BLOCKS), "l"(kPolicy<Hint>), "r"(at[0]), \
               "r"(at[1]), "r"(at[Rank > 2 ? 2 : 0]), "r"(at[Rank > 3 ? 3 : 0]),                   \
               "r"(at[Rank > 4 ? 4 : 0])                                                           \
               : "memory")
#define JFA_COPY_OF_RANK(...)                                                  \
  static_assert(Rank >= 2 && Rank <= 5, "a tensor map has 2 to 5 dimensions"); \
  if constexpr (Rank == 2) JFA_COPY(2, "{%5, %6}", __VA_ARGS__);               \
  if constexpr (Rank == 3) JFA_COPY(3, "{%5, %6, %7}", __VA_ARGS__);           \
  if constexpr (Rank == 4) JFA_COPY(4, "{%5, %6, %7, %8}", __VA_ARGS__);       \
  if constexpr (Rank == 5) JFA_COPY(5, "{%5, %6, %7, %8, %9}", __VA_ARGS__)
#define JFA_TENSOR_COPY(HEAD, KIND, BEFORE, AFTER, ...)                                \
  if constexpr (Hint == CacheHint::None) {                                             \
    JFA_COPY_OF_RANK(HEAD, KIND, BEFORE, AFTER, __VA_ARGS__);                          \
  } else {                                                                             \
    JFA_COPY_OF_RANK(HEAD, KIND ".L2::cache_hint", BEFORE, AFTER ", %4", __VA_ARGS__); \
  }

/// What createpolicy.fractional.L2::evict_{first,last} gives for a fraction of 1.
template <CacheHint Hint>
inline constexpr std::uint64_t kPolicy = Hint == CacheHint::EvictFirst  ? 0x12F0000000000000
                                         : Hint == CacheHint::EvictLast ? 0x14F0000000000000
                                                                        : 0;

struct HopperCopies {
  using TensorMap = CUtensorMap;

  /// Encodes a tensor map, on the host. Throws std::runtime_error when the driver refuses it.
  static TensorMap make_tensor_map(const TensorMapSpec& spec);

  /// P#data-movement-and-conversion-instructions-cp-async-bulk-tensor
  template <int Rank, CacheHint Hint>
  static JFA_DEVICE void tensor_load(void* tile, const TensorMap* map, const int (&at)[Rank],
                                     Mbarrier* barrier, Site = Site::here()) {
    JFA_TENSOR_COPY("cp.async.bulk.tensor.",
                    "shared::cluster.global.tile.mbarrier::complete_tx::bytes", "[%0], [%1, ",
                    "], [%2]", barrier, std::uint16_t{0})
  }
  template <int Rank, CacheHint Hint>
  static JFA_DEVICE void tensor_load_multicast(void* tile, const TensorMap* map,
                                               const int (&at)[Rank], Mbarrier* barrier,
                                               std::uint16_t blocks, Site = Site::here()) {
    JFA_TENSOR_COPY("cp.async.bulk.tensor.",
                    "shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
                    "[%0], [%1, ", "], [%2], %3", barrier, blocks)
  }
  template <int Rank, CacheHint Hint>
  static JFA_DEVICE void tensor_store(const TensorMap* map, const int (&at)[Rank], const void* tile,
                                      Site = Site::here()) {
    JFA_TENSOR_COPY("cp.async.bulk.tensor.", "global.shared::cta.tile.bulk_group", "[%1, ",
                    "], [%0]", nullptr, std::uint16_t{0})
  }

  /// P#data-movement-and-conversion-instructions-cp-reduce-async-bulk-tensor
  template <int Rank, CacheHint Hint>
  static JFA_DEVICE void tensor_reduce_add(const TensorMap* map, const int (&at)[Rank],
                                           const void* tile, Site = Site::here()) {
    JFA_TENSOR_COPY("cp.reduce.async.bulk.tensor.", "global.shared::cta.add.tile.bulk_group",
                    "[%1, ", "], [%0]", nullptr, std::uint16_t{0})
  }

  /// P#data-movement-and-conversion-instructions-cp-async-bulk
  static JFA_DEVICE void bulk_load(void* tile, const void* from, std::uint32_t bytes,
                                   Mbarrier* barrier, Site = Site::here()) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_window(tile)),
        "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_window(barrier))
        : "memory");
  }
  static JFA_DEVICE void bulk_store(void* to, const void* tile, std::uint32_t bytes,
                                    Site = Site::here()) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(to)),
                 "r"(shared_window(tile)), "r"(bytes)
                 : "memory");
  }
  /// To the same places of tile and barrier in block `rank` of the cluster.
  static JFA_DEVICE void bulk_send(void* to, const void* tile, std::uint32_t bytes,
                                   Mbarrier* barrier, int rank, Site = Site::here()) {
    asm volatile(
        "{.reg .b32 there, done; mapa.shared::cluster.u32 there, %0, %4; "
        "mapa.shared::cluster.u32 done, %3, %4; "
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [there], [%1], %2, "
        "[done];}" ::"r"(shared_window(to)),
        "r"(shared_window(tile)), "r"(bytes), "r"(shared_window(barrier)), "r"(rank)
        : "memory");
  }

  /// P#data-movement-and-conversion-instructions-cp-reduce-async-bulk
  static JFA_DEVICE void bulk_reduce_add(float* to, const float* tile, std::uint32_t bytes,
                                         Site = Site::here()) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(
                     __cvta_generic_to_global(to)),
                 "r"(shared_window(tile)), "r"(bytes)
                 : "memory");
  }

  /// P#data-movement-and-conversion-instructions-cp-async-bulk-commit-group
  static JFA_DEVICE void bulk_commit(Site = Site::here()) {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  }
  /// P#data-movement-and-conversion-instructions-cp-async-bulk-wait-group
  template <int Pending>
  static JFA_DEVICE void bulk_wait(Site = Site::here()) {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
  }
  template <int Pending>
  static JFA_DEVICE void bulk_wait_read(Site = Site::here()) {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
  }
};

#undef JFA_COPY
#undef JFA_COPY_OF_RANK
#undef JFA_TENSOR_COPY

}  // namespace gpu
}  // namespace jfa
