#include "emulated/emulated_kernels.hpp"
#include "launch/launch_blackwell.hpp"
#include "machine/emulator/emulated_blackwell.hpp"

namespace jfa {
namespace {

/// add<head_dim, half, treats>() for each kernel of a direction.
void for_each_kernel(auto add) {
  const auto add_of = [&]<int HeadDim, bool Half>() {
    add.template operator()<HeadDim, Half, Treats::Nothing>();
    add.template operator()<HeadDim, Half, Treats::Window>();
    add.template operator()<HeadDim, Half, Treats::Lists>();
    add.template operator()<HeadDim, Half, Treats::Softcap>();
  };
  add_of.template operator()<64, false>();
  add_of.template operator()<128, false>();
  add_of.template operator()<64, true>();
  add_of.template operator()<128, true>();
}

}  // namespace

std::span<const ForwardKernel<EmulatedQueue>> emulated_blackwell_forward_kernels() {
  static const auto kernels = [] {
    std::vector<ForwardKernel<EmulatedQueue>> all;
    for_each_kernel([&]<int HeadDim, bool Half, Treats What>() {
      all.push_back(
          blackwell_forward_kernel<EmulatedQueue, EmulatedBlackwell, HeadDim, Half, What>());
    });
    return all;
  }();
  return kernels;
}

std::span<const BackwardKernel<EmulatedQueue>> emulated_blackwell_backward_kernels() {
  static const auto kernels = [] {
    std::vector<BackwardKernel<EmulatedQueue>> all;
    for_each_kernel([&]<int HeadDim, bool Half, Treats What>() {
      all.push_back(
          blackwell_backward_kernel<EmulatedQueue, EmulatedBlackwell, HeadDim, Half, What>());
    });
    return all;
  }();
  return kernels;
}

}  // namespace jfa
