// The warpgroup's matrix multiplication, asynchronous. Every word is called by all 128 threads:
//   M::wgmma_fence();  wgmma(acc, a, b);  M::wgmma_commit();  wgmma_wait<0>(acc);
#pragma once

#include "machine/fragment.hpp"

namespace jfa::inline JFA_BACKEND {

/// The descriptor of the k-th 16-deep step of an operand in shared memory, given that of its start.
/// wgmma's and tcgen05's differ in a version only: the modes are the same bits.
template <class View>
JFA_DEVICE MmaDescriptor mma_step(std::uint32_t start, int k) {
  static_assert(View::kSwizzle != Swizzle::None, "an MMA operand is swizzled");
  static_assert(View::kMmaDepth % 16 == 0, "an MMA's depth is a multiple of 16");
  constexpr std::uint32_t kMode = View::kSwizzle == Swizzle::B128  ? 1
                                  : View::kSwizzle == Swizzle::B64 ? 2
                                                                   : 3;
  constexpr std::uint32_t kStrideBytes = 8 * View::kPitch;
  return {start + static_cast<std::uint32_t>(View::mma_step_bytes(k) / 16),
          kStrideBytes / 16 | kMode << 30 | View::M::kDescriptorVersion};
}

/// In a cluster, an address says above the place in the block which block it is. These bits must
/// not fall into the leading byte offset, where that counts: from panel to panel along M or N.
template <class View>
JFA_DEVICE std::uint32_t mma_start(const View& view) {
  constexpr std::uint32_t kLeading = View::kMmaLeadingBytes / 16;
  constexpr std::uint32_t kPlace = View::kTransposed && View::kPanels > 1 ? 0x3FFF : ~0U;
  return (View::M::uniform(View::M::shared_address(view.base)) / 16 & kPlace) | kLeading << 16;
}

/// acc += a b^T (acc = a b^T unless `accumulate`): `b` is an N x K tile or view, `a` a 64 x K one
/// or an Operand. `transposed(x)` stands for a tile stored as K rows.
/// https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions-wgmma-mma
template <class M, int N, class A, class B>
JFA_DEVICE void wgmma(Fragment<M, N>& acc, A&& a, B&& b, bool accumulate = true,
                      Site site = Site::here()) {
  auto&& left = a.view();
  const auto right = b.view();
  using Left = std::remove_cvref_t<decltype(left)>;
  using Right = std::remove_const_t<decltype(right)>;
  static_assert(__is_same(typename Left::Element, typename Right::Element), "one type for both");
  static_assert(Left::kMmaExtent == 64, "a warpgroup multiplies 64 rows");
  static_assert(Right::kMmaExtent == N && Right::kMmaDepth == Left::kMmaDepth,
                "b must be N x K, or K x N inside transposed()");
  constexpr int kSteps = Left::kMmaDepth / 16;
  constexpr MmaShape kShape{kElementType<typename Left::Element>, N, Left::kTransposed,
                            Right::kTransposed};
  if constexpr (InRegisters<Left>) {
    const std::uint32_t b_start = mma_start(right);
    JFA_UNROLL
    for (int k = 0; k < kSteps; ++k) {
      M::template wgmma<kShape>(acc.values, left.values + 4 * k, mma_step<Right>(b_start, k),
                                k > 0 || accumulate, acc.state, left.state, site);
    }
  } else {
    const std::uint32_t a_start = mma_start(left);
    const std::uint32_t b_start = mma_start(right);
    JFA_UNROLL
    for (int k = 0; k < kSteps; ++k) {
      M::template wgmma<kShape>(acc.values, mma_step<Left>(a_start, k), mma_step<Right>(b_start, k),
                                k > 0 || accumulate, acc.state, site);
    }
  }
}

/// Waits until all but the last `Pending` groups are complete: their tiles are free. NOTE [wait
/// names]: a wait names the accumulators and register operands of complete groups that are touched
/// after it; a memory clobber would not keep the compiler from reading them earlier.
template <int Pending, class M>
JFA_DEVICE void wgmma_wait(Site site = Site::here()) {
  M::template wgmma_wait<Pending>(site);
}
template <int Pending, InRegisters First>
JFA_DEVICE void wgmma_wait(First& done, Site site = Site::here()) {
  First::M::template wgmma_wait<Pending>(site);
  First::M::settle(done.values, done.state, site);
}
template <int Pending, InRegisters First, InRegisters Second>
JFA_DEVICE void wgmma_wait(First& first, Second& second, Site site = Site::here()) {
  wgmma_wait<Pending>(first, site);
  First::M::settle(second.values, second.state, site);
}

}  // namespace jfa::inline JFA_BACKEND
