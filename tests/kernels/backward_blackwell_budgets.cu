// Every instantiation of Blackwell's backward kernel as launched, for the gate `budgets` of
// machine/codegen/gates.py --arch 100a: registers a thread at entry are the launch's share of 512
// threads. A role that needs more than its budget spills, which the gate refuses too.
//
// budget: 17BackwardBlackwellI registers 128
#include "cuda/launch.hpp"
#include "kernels/backward/backward_blackwell.hpp"
#include "machine/blackwell/blackwell.hpp"

namespace jfa {
inline namespace gpu {

template <int HeadDim, bool Half>
void launch_backward() {
  constexpr BackwardConfig kConfig = blackwell_backward_config(HeadDim, Half);
  launch<BackwardBlackwell<Blackwell, kConfig>>(1, {}, nullptr);
  launch<BackwardBlackwell<Blackwell, kConfig, WindowMask>>(1, {}, nullptr);
  launch<BackwardBlackwell<Blackwell, kConfig, ListedMask>>(1, {}, nullptr);
  launch<BackwardBlackwell<Blackwell, kConfig, ListedMask, CappedScores>>(1, {}, nullptr);
}

void launch_all() {
  launch_backward<64, false>();
  launch_backward<64, true>();
  launch_backward<128, false>();
  launch_backward<128, true>();
}

}  // namespace gpu
}  // namespace jfa
