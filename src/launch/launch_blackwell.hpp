// The host side of Blackwell's kernels on any machine, as launch_forward.hpp and
// launch_backward.hpp have it for Hopper's.
#pragma once

#include "kernels/backward/backward_blackwell.hpp"
#include "kernels/forward/forward_blackwell.hpp"
#include "launch/launch_backward.hpp"
#include "launch/launch_forward.hpp"

namespace jfa::inline JFA_BACKEND {

template <class M, ForwardConfig C>
struct BlackwellForwardFamily {
  template <template <class> class Mask, template <class> class Scores>
  using K = ForwardBlackwell<M, C, Mask, Scores>;
};
template <class M, BackwardConfig C>
struct BlackwellBackwardFamily {
  template <template <class> class Mask, template <class> class Scores>
  using K = BackwardBlackwell<M, C, Mask, Scores>;
};

/// The forward kernel of a machine M for `head_dim` columns, as launched on a Queue.
template <class Queue, class M, int HeadDim, bool Half, Treats What>
ForwardKernel<Queue> blackwell_forward_kernel() {
  constexpr KernelTraits kTraits = treated_traits<HeadDim, Half, What>();
  constexpr ForwardConfig kConfig = blackwell_forward_config(HeadDim, Half, kTraits.listed);
  using K = typename Treated<What, BlackwellForwardFamily<M, kConfig>>::K;
  return {{kTraits, K::kTileRows, 0, false}, K::item_shape, launch_forward<K, Queue>};
}

/// The backward kernel, the same.
template <class Queue, class M, int HeadDim, bool Half, Treats What>
BackwardKernel<Queue> blackwell_backward_kernel() {
  constexpr BackwardConfig kConfig = blackwell_backward_config(HeadDim, Half);
  using K = typename Treated<What, BlackwellBackwardFamily<M, kConfig>>::K;
  return {treated_traits<HeadDim, Half, What>(), key_shape<K>, nullptr, backward_sizes<K>,
          launch_backward<K, Queue>};
}

}  // namespace jfa::inline JFA_BACKEND
