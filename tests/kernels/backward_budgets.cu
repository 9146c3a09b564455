// Every instantiation of the backward kernels as launched, for the gate `budgets` of
// machine/codegen/gates.py: registers a thread at entry are the launch's share of 512 threads.
//
// budget: kernel_entryINS0_14BackwardByKeysI registers 128
// budget: kernel_entryINS0_17BackwardByQueriesI registers 128
// budget: 17BackwardOfQueriesI.*13ForwardConfigELi(64|128)E registers 168
// budget: 17BackwardOfQueriesI.*13ForwardConfigELi256E registers 255
// budget: kernel_entryINS0_14BackwardOfKeysI registers 168
// budget: 15PrepareBackwardI registers 64
// budget: 13ListTransposeI registers 64
// budget: 14FinishBackwardI registers 64
#include "cuda/launch.hpp"
#include "kernels/backward/by_keys.hpp"
#include "kernels/backward/by_queries.hpp"
#include "kernels/backward/of_keys.hpp"
#include "kernels/backward/of_queries.hpp"
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

template <int HeadDim>
void launch_backward() {
  constexpr BackwardConfig kConfig = backward_config(HeadDim, false, false);
  launch_passes<BackwardByKeys<Hopper, kConfig>>();
  launch_passes<BackwardByKeys<Hopper, kConfig, WindowMask>>();
  constexpr BackwardConfig kCapped = backward_config(HeadDim, false, true);
  launch_passes<BackwardByKeys<Hopper, kCapped, ListedMask, CappedScores>>();
  launch_passes<BackwardByKeys<Hopper, backward_config(HeadDim, true, false)>>();
}

template <BackwardByQueriesConfig C>
void launch_by_queries() {
  launch_passes<BackwardByQueries<Hopper, C>>();
  launch_passes<BackwardByQueries<Hopper, C, WindowMask>>();
}

/// Sequences of few queries, as launched.
template <int HeadDim, bool Half>
void launch_few() {
  using K = BackwardByQueries<Hopper, by_queries_config(HeadDim, 128, Half, false), WindowMask>;
  launch<PrepareBackward<K>>(1, {}, nullptr);
  launch<K>(1, {}, nullptr);
}

template <int HeadDim, bool Half, template <class> class Mask,
          template <class> class Scores = ScaledScores>
void launch_apart() {
  constexpr bool kMore = Mask<Hopper>::kListed;
  launch<BackwardOfQueries<Hopper, of_queries_config(HeadDim, Half, kMore), Mask, Scores>>(1, {},
                                                                                           nullptr);
  constexpr BackwardConfig kOfKeys = of_keys_config(HeadDim, Half, Scores<Hopper>::kBends);
  launch<BackwardOfKeys<Hopper, kOfKeys, Mask, Scores>>(1, {}, nullptr);
}

void launch_all() {
  launch_apart<64, false, WindowMask>();
  launch_apart<64, false, ListedMask>();
  launch_apart<64, false, ListedMask, CappedScores>();
  launch_apart<128, false, WindowMask>();
  launch_apart<128, true, WindowMask>();
  launch_apart<128, false, ListedMask>();
  launch_apart<128, false, ListedMask, CappedScores>();
  launch_apart<256, false, WindowMask>();
  launch<ListTranspose<Hopper>>(1, {}, nullptr);
  launch_by_queries<BackwardByQueriesConfig{.head_dim = 64, .queries = 64}>();
  launch_by_queries<BackwardByQueriesConfig{.head_dim = 128, .queries = 64}>();
  launch_by_queries<BackwardByQueriesConfig{.head_dim = 128, .queries = 128}>();
  launch_few<64, false>();
  launch_few<64, true>();
  launch_few<128, false>();
  launch_few<128, true>();
  launch_backward<64>();
  launch_backward<128>();
  launch_passes<BackwardByKeys<Hopper, long_backward_config(false)>>();
  launch_passes<BackwardByKeys<Hopper, long_backward_config(false), WindowMask>>();
  launch_passes<BackwardByKeys<Hopper, long_backward_config(true)>>();
  launch_passes<BackwardByKeys<Hopper, long_backward_config(true), WindowMask>>();
  launch_passes<BackwardByKeys<Hopper, backward_config(64, false, true), ListedMask>>();
  launch_passes<BackwardByKeys<Hopper, backward_config(128, false, true), ListedMask>>();
  launch_passes<BackwardByKeys<Hopper, backward_config(256, false, false), WindowMask>>();
  launch_passes<BackwardByKeys<Hopper, backward_config(256, true, false), WindowMask>>();
}

}  // namespace gpu
}  // namespace jfa
