// Every instantiation of the forward kernel and the planner as launched, for the gate `budgets` of
// machine/codegen/gates.py: registers a thread at entry are the launch's share of 384 threads.
//
// budget: 7ForwardI registers 168
// budget: 7PlannerI registers 48
#include "cuda/launch.hpp"
#include "kernels/forward/forward.hpp"
#include "plan/planner.hpp"

namespace jfa {
inline namespace gpu {

template <ForwardConfig C>
void launch_forward() {
  launch<Forward<Hopper, C>>(1, {}, nullptr);
  launch<Forward<Hopper, C, WindowMask>>(1, {}, nullptr);
  launch<Forward<Hopper, C, WindowMask, CappedScores>>(1, {}, nullptr);
}

void launch_all() {
  launch_forward<ForwardConfig{.head_dim = 64, .kv_slots = 8}>();
  launch_forward<ForwardConfig{.head_dim = 128}>();
  launch<Forward<Hopper, ForwardConfig{.head_dim = 64, .kv_slots = 8, .half = true}>>(1, {},
                                                                                      nullptr);
  launch<Forward<Hopper, ForwardConfig{.head_dim = 128, .half = true}>>(1, {}, nullptr);
  launch<Planner<Hopper>>(1, {}, nullptr);
}

}  // namespace gpu
}  // namespace jfa
