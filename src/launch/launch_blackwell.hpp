// The host side of Blackwell's forward kernel on any machine, as launch_forward.hpp has it for
// Hopper's.
#pragma once

#include "kernels/forward/forward_blackwell.hpp"
#include "launch/launch_forward.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// The forward kernel of a machine M for `head_dim` columns, as launched on a Queue. Those that
/// apply a softcap take windows; none visits the blocks of lists.
template <class Queue, class M, int HeadDim, bool Half, Treats What>
ForwardKernel<Queue> blackwell_forward_kernel() {
  static_assert(What != Treats::Lists, "lists are not supported yet");
  constexpr ForwardConfig kConfig = blackwell_forward_config(HeadDim, Half);
  using Masked = std::conditional_t<What == Treats::Softcap,
                                    ForwardBlackwell<M, kConfig, WindowMask, CappedScores>,
                                    ForwardBlackwell<M, kConfig, WindowMask>>;
  using K = std::conditional_t<What == Treats::Nothing, ForwardBlackwell<M, kConfig>, Masked>;
  return {{{.dtype = Half ? DType::kF16 : DType::kBf16,
            .head_dim = HeadDim,
            .masked = What != Treats::Nothing,
            .listed = false,
            .capped = What == Treats::Softcap},
           K::kTileRows,
           0,
           false},
          K::item_shape,
          launch_forward<K, Queue>};
}

}  // namespace JFA_BACKEND
}  // namespace jfa
