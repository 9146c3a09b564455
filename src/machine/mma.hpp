// The warpgroup's matrix multiplication, asynchronous. Every word is called by all 128 threads:
//   M::wgmma_fence();  wgmma(acc, a, b);  M::wgmma_commit();  wgmma_wait<0>(acc);
#pragma once

#include "machine/fragment.hpp"
#include "machine/tile.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// The descriptor of the k-th 16-deep step of an operand in shared memory, given that of its start.
template <class View>
JFA_DEVICE MmaDescriptor mma_step(std::uint32_t start, int k) {
  static_assert(View::kSwizzle != Swizzle::None, "an MMA operand is swizzled");
  static_assert(View::kMmaDepth % 16 == 0, "an MMA's depth is a multiple of 16");
  constexpr std::uint32_t kMode = View::kSwizzle == Swizzle::B128  ? 1
                                  : View::kSwizzle == Swizzle::B64 ? 2
                                                                   : 3;
  constexpr std::uint32_t kStrideBytes = 8 * View::kPitch;
  return {start + static_cast<std::uint32_t>(View::mma_step_bytes(k) / 16),
          kStrideBytes / 16 | kMode << 30};
}

template <class View>
JFA_DEVICE std::uint32_t mma_start(const View& view) {
  constexpr std::uint32_t kLeading = View::kMmaLeadingBytes / 16;
  return View::M::uniform(View::M::shared_address(view.base)) / 16 | kLeading << 16;
}

/// acc += a b^T (acc = a b^T unless `accumulate`), with `a` 64 x K and `b` N x K, both tiles or
/// views; `transposed(x)` for one stored as K rows.
/// https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions-wgmma-mma
template <bool Fresh = false, class M, int N, class A, class B>
JFA_DEVICE void wgmma(Fragment<M, N>& acc, A&& a, B&& b, bool accumulate = true,
                      Site site = Site::here()) {
  const auto a_view = view_of(a);
  const auto b_view = view_of(b);
  using AView = std::remove_const_t<decltype(a_view)>;
  using BView = std::remove_const_t<decltype(b_view)>;
  static_assert(__is_same(typename AView::Element, typename BView::Element), "one type for both");
  static_assert(AView::kMmaExtent == 64, "a warpgroup multiplies 64 rows");
  static_assert(BView::kMmaExtent == N && BView::kMmaDepth == AView::kMmaDepth,
                "b must be N x K, or K x N inside transposed()");
  constexpr auto kType = kElementType<typename BView::Element>;
  constexpr MmaShape kFirst{kType, N, AView::kTransposed, BView::kTransposed, Fresh};
  constexpr MmaShape kLater{kType, N, AView::kTransposed, BView::kTransposed, false};
  const std::uint32_t a_start = mma_start(a_view);
  const std::uint32_t b_start = mma_start(b_view);
  M::template wgmma_ss<kFirst>(acc.values, mma_step<AView>(a_start, 0), mma_step<BView>(b_start, 0),
                               !Fresh && accumulate, acc.state, site);
  JFA_UNROLL
  for (int k = 1; k < AView::kMmaDepth / 16; ++k) {
    M::template wgmma_ss<kLater>(acc.values, mma_step<AView>(a_start, k),
                                 mma_step<BView>(b_start, k), true, acc.state, site);
  }
}

/// The same with `a` in registers.
template <bool Fresh = false, class M, int N, class T, int K, class B>
JFA_DEVICE void wgmma(Fragment<M, N>& acc, Operand<M, T, K>& a, B&& b, bool accumulate = true,
                      Site site = Site::here()) {
  const auto b_view = view_of(b);
  using BView = std::remove_const_t<decltype(b_view)>;
  static_assert(BView::kMmaExtent == N && BView::kMmaDepth == K,
                "b must be N x K, or K x N inside transposed()");
  constexpr MmaShape kFirst{kElementType<T>, N, false, BView::kTransposed, Fresh};
  constexpr MmaShape kLater{kElementType<T>, N, false, BView::kTransposed, false};
  const std::uint32_t b_start = mma_start(b_view);
  M::template wgmma_rs<kFirst>(acc.values, a.values, mma_step<BView>(b_start, 0),
                               !Fresh && accumulate, acc.state, a.state, site);
  JFA_UNROLL
  for (int k = 1; k < K / 16; ++k) {
    M::template wgmma_rs<kLater>(acc.values, a.values + 4 * k, mma_step<BView>(b_start, k), true,
                                 acc.state, a.state, site);
  }
}

/// acc = a b^T whatever acc held, its registers written only: for accumulators that several widths
/// share, where ptxas would otherwise serialize (C7511).
template <class M, int N, class A, class B>
JFA_DEVICE void wgmma_fresh(Fragment<M, N>& acc, A&& a, B&& b, Site site = Site::here()) {
  wgmma<true>(acc, a, b, false, site);
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
}  // namespace JFA_BACKEND
}  // namespace jfa
