// Plain values that words and both machines share: element types, barriers in memory, tensor maps.
#pragma once

#include "machine/backend.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// 16-bit storage. Arithmetic is done in fp32; conversions are the machine's (`M::pack`,
/// `M::to_float`).
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

/// One wgmma instruction m64 n`n` k16. `transpose_*` marks an operand stored along M or N (PTX
/// "MN-major"). `fresh` overwrites the accumulator.
struct MmaShape {
  ElementType type;
  int n;
  bool transpose_a = false;
  bool transpose_b = false;
  bool fresh = false;
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

}  // namespace JFA_BACKEND
}  // namespace jfa
