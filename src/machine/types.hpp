// What everything below shares: how functions and namespaces are spelled in a build for the GPU and
// in one for the emulator, call sites, names, and plain values.
#pragma once

#include <cstddef>
#include <cstdint>

// NOTE [backend namespace]: all of src/machine and src/kernels lives in this inline namespace,
// plain helpers included. A program that links both backings would otherwise hold two bodies of one
// inline function.
#ifdef __CUDACC__
#define JFA_BACKEND gpu
#define JFA_DEVICE __device__ __forceinline__
#define JFA_HOST_DEVICE __host__ __device__ __forceinline__
#define JFA_UNROLL _Pragma("unroll")
#define JFA_ROLLED _Pragma("unroll 1")
#else
#define JFA_BACKEND emulated
#define JFA_DEVICE inline
#define JFA_HOST_DEVICE inline
#define JFA_UNROLL
#define JFA_ROLLED
#include "machine/emulator/site.hpp"
#endif

namespace jfa::inline JFA_BACKEND {

#ifdef __CUDACC__
/// Where a word was called: the last, defaulted argument of each. Empty on the GPU.
struct Site {
  static constexpr JFA_HOST_DEVICE Site here() { return {}; }
};
#endif

/// The name of a ring, gate, turn or role, a template argument: `Gate<M, "q ready", ...>`.
/// NOTE [names]: nvcc takes a Name in no argument of a __global__ template and deduces none as
/// `auto`: names are given explicitly and only handed on as template arguments.
struct Name {
  char text[24] = {};
  template <std::size_t Size>
  consteval Name(const char (&literal)[Size]) {
    static_assert(Size <= sizeof(text), "a name has at most 23 characters");
    for (std::size_t i = 0; i < Size; ++i) text[i] = literal[i];
  }
  constexpr bool operator==(const Name&) const = default;
};

/// 16-bit storage. Conversions are the machine's (`M::pack`, `M::to_float`), arithmetic is fp32.
struct bf16 {
  std::uint16_t bits;
};
struct fp16 {
  std::uint16_t bits;
};

enum class ElementType { Bf16, Fp16, Fp32 };
template <class T>
inline constexpr ElementType kElementType = T::not_an_element_type;
template <>
inline constexpr ElementType kElementType<bf16> = ElementType::Bf16;
template <>
inline constexpr ElementType kElementType<fp16> = ElementType::Fp16;
template <>
inline constexpr ElementType kElementType<float> = ElementType::Fp32;

/// `Size` values moved by one access.
template <class T, int Size>
struct alignas(sizeof(T) * Size) Pack {
  T values[Size];
};

enum class Scope { Block, Cluster, Gpu };
enum class Space { Shared, Global, Both };
enum class CopyKind { Load, LoadMulticast, Store, ReduceAdd };
enum class CacheHint { None, EvictFirst, EvictLast };
enum class BarrierKind { Full, Empty, Gate };
/// The permutation of 16-byte chunks inside a panel as many bytes wide; `None` is plain row-major.
enum class Swizzle : int { None = 0, B32 = 32, B64 = 64, B128 = 128 };

/// An mbarrier object in shared memory. Only the machine's mbarrier functions touch it.
struct alignas(8) Mbarrier {
  std::uint64_t bits;
};

/// One matrix operand in shared memory, as wgmma reads it:
/// https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-shared-memory-layout-matrix-descriptor
struct MmaDescriptor {
  std::uint32_t low;   // address / 16 | leading byte offset / 16 << 16
  std::uint32_t high;  // stride byte offset / 16 | swizzle mode << 30
};

/// One wgmma instruction m64 n`n` k16. `transpose_*`: an operand stored along M or N ("MN-major").
struct MmaShape {
  ElementType type;
  int n;
  bool transpose_a = false;
  bool transpose_b = false;
};

/// A tensor in global memory and the box that one copy moves. Dimension 0 is contiguous and given
/// in elements; `strides[i]` is that of dimension i + 1 in bytes, a multiple of 16. Elements
/// outside `dims` are read as zero and not written.
struct TensorMapSpec {
  void* base;
  ElementType type;
  int rank;
  std::uint64_t dims[5];
  std::uint64_t strides[4];
  std::uint32_t box[5];
  Swizzle swizzle;
};

/// A multiprocessor's registers, and a thread's share of them with `blocks` of `threads`.
inline constexpr int kRegisterFile = 65536;
constexpr JFA_HOST_DEVICE int launch_registers(int threads, int blocks) {
  return kRegisterFile / threads / blocks / 8 * 8;
}
/// What a warpgroup that gets by on `spare` a thread leaves to each of `groups` beside it.
constexpr JFA_HOST_DEVICE int registers_beside(int spare, int groups, int blocks) {
  return (launch_registers(128 * (1 + groups), blocks) * (1 + groups) - spare) / groups / 8 * 8;
}

}  // namespace jfa::inline JFA_BACKEND
