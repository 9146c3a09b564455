// Every instantiation of Blackwell's forward kernel as launched, for the gate `budgets` of
// machine/codegen/gates.py --arch 100a: registers a thread at entry are the launch's share of 512
// threads. A role that needs more than its budget spills, which the gate refuses too.
//
// budget: 16ForwardBlackwellI registers 128
#include "cuda/launch.hpp"
#include "kernels/forward/configs.hpp"
#include "kernels/forward/forward_blackwell.hpp"
#include "machine/blackwell/blackwell.hpp"

namespace jfa {
inline namespace gpu {

template <int HeadDim, bool Half>
void launch_forward() {
  constexpr ForwardConfig kConfig = blackwell_forward_config(HeadDim, Half, false);
  launch<ForwardBlackwell<Blackwell, kConfig>>(1, {}, nullptr);
  launch<ForwardBlackwell<Blackwell, kConfig, WindowMask>>(1, {}, nullptr);
  constexpr ForwardConfig kLists = blackwell_forward_config(HeadDim, Half, true);
  launch<ForwardBlackwell<Blackwell, kLists, ListedMask>>(1, {}, nullptr);
  launch<ForwardBlackwell<Blackwell, kLists, ListedMask, CappedScores>>(1, {}, nullptr);
}

void launch_all() {
  launch_forward<64, false>();
  launch_forward<64, true>();
  launch_forward<128, false>();
  launch_forward<128, true>();
}

}  // namespace gpu
}  // namespace jfa
