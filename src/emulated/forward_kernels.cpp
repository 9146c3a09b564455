#include "emulated/emulated_kernels.hpp"
#include "launch/launch_forward.hpp"

namespace jfa {
namespace {

template <int HeadDim, Tiles Shape, bool Half, Treats What>
ForwardKernel<EmulatedQueue> kernel() {
  return forward_kernel<EmulatedQueue, EmulatedHopper, HeadDim, Shape, Half, What>();
}

/// Those of src/cuda/CMakeLists.txt.
template <bool Half>
void add_kernels(std::vector<ForwardKernel<EmulatedQueue>>& to) {
  using enum Tiles;
  using enum Treats;
  to.push_back(kernel<64, Wide, Half, Nothing>());
  to.push_back(kernel<64, Wide, Half, Window>());
  to.push_back(kernel<64, Tiny, Half, Nothing>());
  to.push_back(kernel<128, Wide, Half, Nothing>());
  to.push_back(kernel<128, Short, Half, Nothing>());
  to.push_back(kernel<128, Wide, Half, Window>());
  to.push_back(kernel<128, Narrow, Half, Window>());
  to.push_back(kernel<128, Small, Half, Softcap>());
  to.push_back(kernel<128, Narrow, Half, Lists>());
  to.push_back(kernel<256, Wide, Half, Window>());
  to.push_back(kernel<256, Small, Half, Softcap>());
  to.push_back(kernel<256, Narrow, Half, Lists>());
}

}  // namespace

std::span<const ForwardKernel<EmulatedQueue>> emulated_forward_kernels() {
  static const auto kernels = [] {
    std::vector<ForwardKernel<EmulatedQueue>> all;
    add_kernels<false>(all);
    add_kernels<true>(all);
    return all;
  }();
  return kernels;
}

}  // namespace jfa
