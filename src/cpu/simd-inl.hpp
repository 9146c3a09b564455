// The vector type of the CPU engine's kernels. Included once for every SIMD target.
#if defined(JFA_CPU_SIMD_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef JFA_CPU_SIMD_INL_HPP
#undef JFA_CPU_SIMD_INL_HPP
#else
#define JFA_CPU_SIMD_INL_HPP
#endif

#include <cstdint>

#include "cpu/tiling.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace jfa::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Up to a cache line of floats.
using Floats = hn::CappedTag<float, kCacheLineFloats>;
using Vec = hn::Vec<Floats>;
inline constexpr std::int64_t kLanes = hn::MaxLanes(Floats());
static_assert(kCacheLineFloats % kLanes == 0);

/// Architectural vector registers, which bound the accumulators of a product.
#if HWY_ARCH_ARM_A64
inline constexpr int kRegisters = 32;
#else
inline constexpr int kRegisters = kLanes == 16 ? 32 : 16;
#endif

}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
