#include "emulated/forward_kernels.hpp"

#include "launch/launch_forward.hpp"

namespace jfa {
namespace {

template <int HeadDim, bool Half, bool Masked, bool Capped = false>
ForwardKernel<EmulatedQueue> kernel() {
  return forward_kernel<EmulatedQueue, EmulatedHopper, HeadDim, Tiles::Wide, Half, Masked,
                        Capped>();
}
template <bool Half, bool Masked>
ForwardKernel<EmulatedQueue> short_kernel() {
  return forward_kernel<EmulatedQueue, EmulatedHopper, 128, Tiles::Short, Half, Masked, false>();
}

}  // namespace

std::span<const ForwardKernel<EmulatedQueue>> emulated_forward_kernels() {
  static const ForwardKernel<EmulatedQueue> kernels[] = {
      kernel<64, false, false>(),      kernel<64, false, true>(),
      kernel<64, false, true, true>(), kernel<128, false, false>(),
      kernel<128, false, true>(),      kernel<128, false, true, true>(),
      kernel<256, false, true>(),      kernel<256, false, true, true>(),
      short_kernel<false, false>(),    short_kernel<false, true>(),
      kernel<64, true, false>(),       kernel<64, true, true>(),
      kernel<64, true, true, true>(),  kernel<128, true, false>(),
      kernel<128, true, true>(),       kernel<128, true, true, true>(),
      kernel<256, true, true>(),       kernel<256, true, true, true>(),
      short_kernel<true, false>(),     short_kernel<true, true>()};
  return kernels;
}

}  // namespace jfa
