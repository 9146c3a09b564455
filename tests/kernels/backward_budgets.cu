// Every instantiation of the backward kernels as launched, for the gate `budgets` of
// machine/codegen/gates.py: registers a thread at entry are the launch's share of 512 threads.
//
// budget: kernel_entryINS0_14BackwardByKeysI registers 128
// budget: kernel_entryINS0_17BackwardByQueriesI registers 128
// budget: 15PrepareBackwardI registers 64
// budget: 14FinishBackwardI registers 64
#include "cuda/launch.hpp"
#include "kernels/backward/by_queries.hpp"
#include "kernels/backward/prepare.hpp"
#include "plan/planner.hpp"

namespace jfa {
inline namespace gpu {

template <class K>
void launch_passes() {
  launch<PrepareBackward<K>>(1, {}, nullptr);
  launch<K>(1, {}, nullptr);
  launch<FinishBackward<K>>(1, {}, nullptr);
}

template <BackwardConfig C>
void launch_backward() {
  launch_passes<BackwardByKeys<Hopper, C>>();
  launch_passes<BackwardByKeys<Hopper, C, WindowMask>>();
  launch_passes<BackwardByKeys<Hopper, C, WindowMask, CappedScores>>();
}

template <BackwardByQueriesConfig C>
void launch_by_queries() {
  launch_passes<BackwardByQueries<Hopper, C>>();
  launch_passes<BackwardByQueries<Hopper, C, WindowMask>>();
}

void launch_all() {
  launch_by_queries<BackwardByQueriesConfig{.head_dim = 64, .queries = 64}>();
  launch_by_queries<BackwardByQueriesConfig{.head_dim = 128, .queries = 64}>();
  launch_by_queries<BackwardByQueriesConfig{.head_dim = 128, .queries = 128}>();
  launch_backward<BackwardConfig{.head_dim = 64}>();
  launch_backward<BackwardConfig{.head_dim = 128}>();
  launch_passes<BackwardByKeys<Hopper, BackwardConfig{.head_dim = 64, .half = true}>>();
  launch_passes<BackwardByKeys<Hopper, BackwardConfig{.head_dim = 128, .half = true}>>();
}

}  // namespace gpu
}  // namespace jfa
