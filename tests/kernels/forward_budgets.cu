// Every instantiation of the forward kernel and the planner as launched, for the gate `budgets` of
// machine/codegen/gates.py: registers a thread at entry are the launch's share of 384 threads.
//
// budget: 7ForwardI registers 168
// budget: 7PlannerI registers 64
#include "cuda/launch.hpp"
#include "kernels/forward/configs.hpp"
#include "plan/planner.hpp"

namespace jfa {
inline namespace gpu {

template <ForwardConfig C>
void launch_plain() {
  launch<Forward<Hopper, C>>(1, {}, nullptr);
  launch<Forward<Hopper, C, WindowMask>>(1, {}, nullptr);
}

template <bool Half>
void launch_forward() {
  constexpr ForwardConfig kNarrow128 = forward_config(128, Tiles::Narrow, Half);
  constexpr ForwardConfig k256 = forward_config(256, Tiles::Wide, Half);
  launch_plain<forward_config(64, Tiles::Wide, Half)>();
  launch_plain<forward_config(128, Tiles::Wide, Half)>();
  launch_plain<forward_config(64, Tiles::Tiny, Half)>();
  launch_plain<forward_config(128, Tiles::Tiny, Half)>();
  launch<Forward<Hopper, forward_config(128, Tiles::Short, Half)>>(1, {}, nullptr);
  launch<Forward<Hopper, kNarrow128, WindowMask>>(1, {}, nullptr);
  launch<Forward<Hopper, k256, WindowMask>>(1, {}, nullptr);
  launch<Forward<Hopper, kNarrow128, ListedMask>>(1, {}, nullptr);
  launch<Forward<Hopper, forward_config(256, Tiles::Narrow, Half), ListedMask>>(1, {}, nullptr);
  launch<Forward<Hopper, forward_config(64, Tiles::Small, Half), ListedMask, CappedScores>>(
      1, {}, nullptr);
  launch<Forward<Hopper, forward_config(128, Tiles::Small, Half), ListedMask, CappedScores>>(
      1, {}, nullptr);
  launch<Forward<Hopper, forward_config(256, Tiles::Small, Half), ListedMask, CappedScores>>(
      1, {}, nullptr);
}

void launch_all() {
  launch_forward<false>();
  launch_forward<true>();
  launch<Planner<Hopper, ItemShape, 1024>>(1, {}, nullptr);
}

}  // namespace gpu
}  // namespace jfa
