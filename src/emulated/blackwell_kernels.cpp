#include "emulated/emulated_kernels.hpp"
#include "launch/launch_blackwell.hpp"
#include "machine/emulator/emulated_blackwell.hpp"

namespace jfa {
namespace {

template <int HeadDim, bool Half>
void add_kernels(std::vector<ForwardKernel<EmulatedQueue>>& to) {
  using enum Treats;
  const auto add = [&]<Treats What>() {
    to.push_back(blackwell_forward_kernel<EmulatedQueue, EmulatedBlackwell, HeadDim, Half, What>());
  };
  add.template operator()<Nothing>();
  add.template operator()<Window>();
  add.template operator()<Softcap>();
}

}  // namespace

std::span<const ForwardKernel<EmulatedQueue>> emulated_blackwell_forward_kernels() {
  static const auto kernels = [] {
    std::vector<ForwardKernel<EmulatedQueue>> all;
    add_kernels<64, false>(all);
    add_kernels<128, false>(all);
    add_kernels<64, true>(all);
    add_kernels<128, true>(all);
    return all;
  }();
  return kernels;
}

}  // namespace jfa
