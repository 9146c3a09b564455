#include "emulated/emulated_kernels.hpp"
#include "launch/launch_backward.hpp"

namespace jfa {
namespace {

template <int HeadDim, Queries Of, bool Half, Treats What>
BackwardKernel<EmulatedQueue> kernel() {
  return backward_kernel<EmulatedQueue, EmulatedHopper, HeadDim, Of, Half, What>();
}

/// Those of src/cuda/CMakeLists.txt.
template <bool Half>
void add_kernels(std::vector<BackwardKernel<EmulatedQueue>>& to) {
  using enum Queries;
  using enum Treats;
  to.push_back(kernel<64, Any, Half, Nothing>());
  to.push_back(kernel<64, Any, Half, Window>());
  to.push_back(kernel<64, Any, Half, Lists>());
  to.push_back(kernel<64, Any, Half, Softcap>());
  to.push_back(kernel<128, Any, Half, Nothing>());
  to.push_back(kernel<128, Any, Half, Window>());
  to.push_back(kernel<128, Any, Half, Lists>());
  to.push_back(kernel<128, Any, Half, Softcap>());
  to.push_back(kernel<256, Any, Half, Window>());
  to.push_back(kernel<64, Apart, Half, Window>());
  to.push_back(kernel<64, Apart, Half, Lists>());
  to.push_back(kernel<64, Apart, Half, Softcap>());
  to.push_back(kernel<128, Apart, Half, Window>());
  to.push_back(kernel<128, Apart, Half, Lists>());
  to.push_back(kernel<128, Apart, Half, Softcap>());
  to.push_back(kernel<256, Apart, Half, Window>());
  to.push_back(kernel<64, Few, Half, Window>());
  to.push_back(kernel<128, Few, Half, Window>());
  to.push_back(kernel<128, Long, Half, Nothing>());
  to.push_back(kernel<128, Long, Half, Window>());
  to.push_back(kernel<64, Shared64, Half, Window>());
  to.push_back(kernel<64, Shared128, Half, Window>());
  to.push_back(kernel<128, Shared64, Half, Window>());
  to.push_back(kernel<128, Shared128, Half, Window>());
}

}  // namespace

std::span<const BackwardKernel<EmulatedQueue>> emulated_backward_kernels() {
  static const auto kernels = [] {
    std::vector<BackwardKernel<EmulatedQueue>> all;
    add_kernels<false>(all);
    add_kernels<true>(all);
    return all;
  }();
  return kernels;
}

}  // namespace jfa
