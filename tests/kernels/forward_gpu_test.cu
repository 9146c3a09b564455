// The forward kernel on a GPU against the fp64 reference.
#include <gtest/gtest.h>

#include "kernels/forward/configs.hpp"
#include "kernels/forward_checks.hpp"
#include "machine/cuda_device.hpp"

namespace jfa {
inline namespace gpu {
namespace {

constexpr ForwardConfig kDim64 = forward_config(64, Tiles::Wide, false);
constexpr ForwardConfig kDim128 = forward_config(128, Tiles::Wide, false);
constexpr ForwardConfig kShort128 = forward_config(128, Tiles::Short, false);
constexpr ForwardConfig kTiny64 = forward_config(64, Tiles::Tiny, false);
constexpr ForwardConfig kTiny128 = forward_config(128, Tiles::Tiny, false);
constexpr ForwardConfig kDim256 = forward_config(256, Tiles::Wide, false);
constexpr ForwardConfig kHalf128 = forward_config(128, Tiles::Wide, true);
constexpr int kBlocks = 132;

class ForwardOnGpu : public OnGpu {
 protected:
  template <class K>
  void check(const Case& c, std::uint64_t seed, const ForwardOptions& options = {}) {
    CudaDevice device;
    check_forward<K>(device, c, kBlocks, seed, options);
  }
};

TEST_F(ForwardOnGpu, LengthGrid) {
  check<Forward<Hopper, kDim128>>(grid_case(128, false), 1);
  check<Forward<Hopper, kShort128>>(grid_case(128, false), 1);
  check<Forward<Hopper, kDim64>>(grid_case(64, false), 2);
}

TEST_F(ForwardOnGpu, TinySequences) {
  Case c = small_case({}, {});
  for (std::int64_t b = 0; b < 4000; ++b) {
    c.q_lengths.push_back(b * 7 % 70);
    c.kv_lengths.push_back(b * 11 % 70);
  }
  check<Forward<Hopper, kTiny64>>(c, 4);
  check<Forward<Hopper, kTiny64>>(grid_case(64, false), 5);
  check<Forward<Hopper, kTiny64, WindowMask>>(grid_case(64, true), 6);
  check<Forward<Hopper, kTiny128>>(grid_case(128, false), 7);
  check<Forward<Hopper, kTiny128, WindowMask>>(grid_case(128, true), 8);
}

TEST_F(ForwardOnGpu, HeadDims) {
  check<Forward<Hopper, kDim64>>(grid_case(40, false), 21);
  check<Forward<Hopper, kDim128>>(grid_case(96, false), 22);
  check<Forward<Hopper, kDim256, WindowMask>>(grid_case(192, true), 23);
  check<Forward<Hopper, kDim256, WindowMask>>(grid_case(256, false), 24);
}

TEST_F(ForwardOnGpu, LengthGridHalfPrecision) {
  Case c = grid_case(128, false);
  c.dtype = DType::kF16;
  check<Forward<Hopper, kHalf128>>(c, 3);
}

TEST_F(ForwardOnGpu, LengthGridMasked) {
  check<Forward<Hopper, kDim128, WindowMask>>(grid_case(128, true), 4);
  check<Forward<Hopper, kDim64, WindowMask>>(grid_case(64, true), 5);
  Case c = grid_case(128, false);
  c.window = {100, 30};
  check<Forward<Hopper, kDim128, WindowMask>>(c, 6);
  c = grid_case(64, false);
  c.window = {20, 0};
  check<Forward<Hopper, kDim64, WindowMask>>(c, 25);
}

TEST_F(ForwardOnGpu, BlockLists) {
  for (const std::int64_t dim : {128, 200}) {
    Case c = grid_case(dim, false);
    c.block_sparse = BlockPattern{64, 128, 1, 1};
    if (dim == 128)
      check<Forward<Hopper, forward_config(128, Tiles::Narrow, false), ListedMask>>(c, 31);
    if (dim == 200)
      check<Forward<Hopper, forward_config(256, Tiles::Narrow, false), ListedMask>>(c, 32);
  }
}

TEST_F(ForwardOnGpu, GroupedHeads) {
  for (const std::int64_t group : {2, 3, 4, 12}) {
    Case c = grid_case(128, true);
    c.heads_kv = 1;
    c.heads_q = group;
    check<Forward<Hopper, kDim128, WindowMask>>(c, 7);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ForwardOnGpu, BroadcastQueries) {
  for (const std::int64_t rows : {1, 64, 130}) {
    Case c = grid_case(128, false);
    c.q_lengths.clear();
    c.broadcast_q = true;
    c.q_length = rows;
    check<Forward<Hopper, kDim128>>(c, 8);
    if (HasFatalFailure()) return;
  }
}

TEST_F(ForwardOnGpu, GapsAndCapacity) {
  CudaDevice device;
  const Batch batch = batch_with_gaps(128, 12);
  check_forward<Forward<Hopper, kDim128>>(device, batch, DType::kBf16, kBlocks);
}

TEST_F(ForwardOnGpu, ScalesAndSoftcap) {
  const Case c = grid_case(128, false);
  for (const double scale : {0.5, -0.3, 0.0}) {
    check<Forward<Hopper, kDim128>>(c, 9, {.scale = scale});
  }
  check<Forward<Hopper, forward_config(128, Tiles::Small, false), ListedMask, CappedScores>>(
      c, 10, {.softcap = 5});
}

/// Equal inputs give equal bits, whatever order blocks take their work in.
TEST_F(ForwardOnGpu, RunsAreBitwiseEqual) {
  const Batch batch = make_batch(grid_case(128, false), 11);
  Options options;
  Problem problem;
  ASSERT_TRUE(check_inputs(batch.inputs(), options, {}, problem).ok());
  CudaDevice device;
  const auto first = run_forward<Forward<Hopper, kDim128>>(device, batch, problem, kBlocks);
  for (const int blocks : {kBlocks, 3, 1}) {
    const auto again = run_forward<Forward<Hopper, kDim128>>(device, batch, problem, blocks);
    ASSERT_EQ(again.out, first.out) << blocks << " blocks";
    ASSERT_EQ(again.lse, first.lse) << blocks << " blocks";
  }
}

}  // namespace
}  // namespace gpu
}  // namespace jfa
