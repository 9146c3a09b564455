// The backward kernels on a GPU against the fp64 reference.
#include <gtest/gtest.h>

#include "kernels/backward/by_keys.hpp"
#include "kernels/backward/by_queries.hpp"
#include "kernels/backward_checks.hpp"
#include "machine/cuda_device.hpp"

namespace jfa {
inline namespace gpu {
namespace {

constexpr BackwardConfig kDim64 = backward_config(64, false, false);
constexpr BackwardConfig kDim128 = backward_config(128, false, false);
constexpr BackwardConfig kHalf128 = backward_config(128, true, false);
constexpr BackwardConfig kCapped128 = backward_config(128, false, true);
constexpr BackwardConfig kDim256 = backward_config(256, false, false);
constexpr int kBlocks = 132;

class BackwardOnGpu : public OnGpu {
 protected:
  template <class K>
  void check(const Case& c, std::uint64_t seed, const BackwardOptions& options = {}) {
    CudaDevice device;
    check_backward<K>(device, c, kBlocks, seed, options);
  }
};

TEST_F(BackwardOnGpu, LengthGrid) {
  check<BackwardByKeys<Hopper, kDim128>>(grid_case(128, false), 1);
  check<BackwardByKeys<Hopper, kDim64>>(grid_case(64, false), 2);
}

TEST_F(BackwardOnGpu, LengthGridOfWideHeads) {
  check<BackwardByKeys<Hopper, kDim256, WindowMask>>(grid_case(256, false), 13);
  check<BackwardByKeys<Hopper, kDim256, WindowMask>>(grid_case(256, true), 14);
  check<BackwardByKeys<Hopper, kDim256, WindowMask>>(grid_case(136, true), 15);
}

TEST_F(BackwardOnGpu, LengthGridHalfPrecision) {
  Case c = grid_case(128, false);
  c.dtype = DType::kF16;
  check<BackwardByKeys<Hopper, kHalf128>>(c, 3);
}

TEST_F(BackwardOnGpu, LengthGridMasked) {
  check<BackwardByKeys<Hopper, kDim128, WindowMask>>(grid_case(128, true), 4);
  check<BackwardByKeys<Hopper, kDim64, WindowMask>>(grid_case(64, true), 5);
  Case c = grid_case(128, false);
  c.window = {100, 30};
  check<BackwardByKeys<Hopper, kDim128, WindowMask>>(c, 6);
}

TEST_F(BackwardOnGpu, LongSequences) {
  constexpr BackwardConfig kLong = long_backward_config(false);
  Case c = grid_case(128, false);
  c.q_lengths.push_back(2100);
  c.kv_lengths.push_back(3000);
  check<BackwardByKeys<Hopper, kLong>>(c, 51);
  c.causal = true;
  c.heads_kv = 1;
  c.heads_q = 2;
  check<BackwardByKeys<Hopper, kLong, WindowMask>>(c, 52, {.dlse = true});
  c.dtype = DType::kF16;
  c.causal = false;
  c.window = {700, 30};
  check<BackwardByKeys<Hopper, long_backward_config(true), WindowMask>>(c, 53);
}

TEST_F(BackwardOnGpu, GroupedHeads) {
  for (const std::int64_t group : {2, 3}) {
    Case c = grid_case(128, true);
    c.heads_kv = 1;
    c.heads_q = group;
    check<BackwardByKeys<Hopper, kDim128, WindowMask>>(c, 7);
    if (HasFatalFailure()) return;
  }
}

TEST_F(BackwardOnGpu, BroadcastQueries) {
  for (const std::int64_t rows : {1, 64, 130}) {
    Case c = grid_case(128, false);
    c.q_lengths.clear();
    c.broadcast_q = true;
    c.q_length = rows;
    check<BackwardByKeys<Hopper, kDim128>>(c, 8);
    c.heads_q = 2 * c.heads_kv;
    c.causal = true;
    check<BackwardByKeys<Hopper, kDim128, WindowMask>>(c, 8);
    if (HasFatalFailure()) return;
  }
}

template <int Dim, int Queries>
using Shared =
    BackwardByQueries<Hopper, BackwardByQueriesConfig{.head_dim = Dim, .queries = Queries}>;
template <int Dim, int Queries>
using SharedMasked =
    BackwardByQueries<Hopper, BackwardByQueriesConfig{.head_dim = Dim, .queries = Queries},
                      WindowMask>;

TEST_F(BackwardOnGpu, ByQueries) {
  Case c = grid_case(128, false);
  c.q_lengths.clear();
  c.broadcast_q = true;
  c.heads_q = c.heads_kv;
  for (const std::int64_t rows : {1, 63, 64}) {
    c.q_length = rows;
    check<Shared<128, 64>>(c, 21);
  }
  for (const std::int64_t rows : {65, 128}) {
    c.q_length = rows;
    check<Shared<128, 128>>(c, 22);
  }
  c.causal = true;
  check<SharedMasked<128, 128>>(c, 23);
  c.head_dim = 64;
  c.q_length = 50;
  check<SharedMasked<64, 64>>(c, 24);
}

TEST_F(BackwardOnGpu, GapsAndCapacity) {
  CudaDevice device;
  const Batch batch = batch_with_gaps(128, 12);
  check_backward<BackwardByKeys<Hopper, kDim128>>(device, batch, DType::kBf16, kBlocks, 12);
}

TEST_F(BackwardOnGpu, ScalesSoftcapAndLseGradients) {
  const Case c = grid_case(128, false);
  for (const double scale : {0.15, -0.1, 0.0}) {
    check<BackwardByKeys<Hopper, kDim128>>(c, 9, {.scale = scale, .dlse = true});
  }
  check<BackwardByKeys<Hopper, kCapped128, WindowMask, CappedScores>>(c, 10, {.softcap = 5});
}

template <int HeadDim, bool Half, template <class> class Mask,
          template <class> class Scores = ScaledScores>
using DqApart = DqApartOn<Hopper, HeadDim, Half, Mask, Scores>;

/// Equal inputs give equal bits.
template <class K>
void check_equal_bits() {
  Case c = grid_case(128, true);
  c.q_lengths.push_back(1500);
  c.kv_lengths.push_back(1700);
  const Batch batch = make_batch(c, 11);
  Options options;
  options.mask = batch.mask();
  Problem problem;
  ASSERT_TRUE(check_inputs(batch.inputs(), options, {}, problem).ok());
  const OutputGradients into = random_gradients(problem, c.dtype, 11, false);
  const reference::ForwardResult forward = reference::forward(problem);
  std::optional<Gradients> first;
  for (const int blocks : {kBlocks, kBlocks, kBlocks}) {
    CudaDevice device;
    BackwardRun<CudaDevice, bf16> run(device, batch, problem, into, forward, blocks);
    run.compute<K>(true);
    const Gradients got = run.gradients();
    if (!first) first = got;
    ASSERT_TRUE(got.dq == first->dq && got.dk == first->dk && got.dv == first->dv) << blocks;
  }
}

TEST_F(BackwardOnGpu, EqualBitsApart) { check_equal_bits<DqApart<128, false, WindowMask>>(); }

TEST_F(BackwardOnGpu, DqApart) {
  check<DqApart<128, false, NoMask>>(grid_case(128, false), 31);
  check<DqApart<64, false, NoMask>>(grid_case(64, false), 32, {.dlse = true});
  Case half = grid_case(128, true);
  half.dtype = DType::kF16;
  check<DqApart<128, true, WindowMask>>(half, 33);
  Case grouped = grid_case(128, true);
  grouped.heads_q = 4;
  grouped.heads_kv = 2;
  grouped.window = {100, 20};
  check<DqApart<128, false, WindowMask>>(grouped, 34);
  check<DqApart<256, false, WindowMask>>(grid_case(256, true), 35);
  check<DqApart<128, false, ListedMask, CappedScores>>(grid_case(128, false), 36, {.softcap = 5});
}

using FewMasked = FewOn<Hopper, 128, 128, false, WindowMask>;

TEST_F(BackwardOnGpu, FewQueries) {
  check<FewMasked>(grid_case(128, true), 41, {.dlse = true});
  Case half = grid_case(64, false);
  half.dtype = DType::kF16;
  check<FewOn<Hopper, 64, 128, true, NoMask>>(half, 42);
  Case c = grid_case(128, false);
  for (std::int64_t& rows : c.q_lengths) rows %= 129;
  for (std::int64_t& rows : c.kv_lengths) rows = 4 * rows + 300;
  check<FewMasked>(c, 43);
}

TEST_F(BackwardOnGpu, EqualBitsOfFewQueries) { check_equal_bits<FewMasked>(); }

}  // namespace
}  // namespace gpu
}  // namespace jfa
