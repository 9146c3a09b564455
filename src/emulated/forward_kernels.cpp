#include "emulated/forward_kernels.hpp"

#include "launch/launch_forward.hpp"

namespace jfa {
namespace {

template <int HeadDim, bool Half, bool Masked, bool Capped = false>
ForwardKernel<EmulatedQueue> kernel() {
  return forward_kernel<EmulatedQueue, EmulatedHopper, HeadDim, Half, Masked, Capped>();
}

}  // namespace

std::span<const ForwardKernel<EmulatedQueue>> emulated_forward_kernels() {
  static const ForwardKernel<EmulatedQueue> kernels[] = {
      kernel<64, false, false>(),     kernel<64, false, true>(),        kernel<128, false, false>(),
      kernel<128, false, true>(),     kernel<128, false, true, true>(), kernel<64, true, false>(),
      kernel<64, true, true>(),       kernel<128, true, false>(),       kernel<128, true, true>(),
      kernel<128, true, true, true>()};
  return kernels;
}

}  // namespace jfa
