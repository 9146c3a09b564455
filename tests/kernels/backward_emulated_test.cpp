// The backward kernels in the emulator against the fp64 reference, under every schedule.
#include "kernels/backward/by_keys.hpp"
#include "kernels/backward/by_queries.hpp"
#include "kernels/backward_emulated_checks.hpp"

namespace jfa {
inline namespace emulated {
namespace {

constexpr BackwardConfig kLow64 = {.head_dim = 64};  // tiles and slots as of wider heads
constexpr BackwardConfig kDim128 = backward_config(128, false, false);
constexpr BackwardConfig kHalf64 = backward_config(64, true, false);
constexpr BackwardConfig kCapped128 = backward_config(128, false, true);
constexpr BackwardConfig kDim256 = backward_config(256, false, false);
constexpr BackwardByQueriesConfig kShared64 = {.head_dim = 64, .queries = 64, .kv_slots = 3};
constexpr BackwardByQueriesConfig kShared64x128 = {.head_dim = 64, .queries = 128, .kv_slots = 4};
constexpr BackwardByQueriesConfig kShared128 = {.head_dim = 128};
constexpr BackwardByQueriesConfig kSharedHalf = {.head_dim = 64, .queries = 64, .half = true};
using M = EmulatedHopper;
using Plain64 = BackwardByKeys<M, kLow64>;
using Masked64 = BackwardByKeys<M, kLow64, WindowMask>;

TEST(BackwardByKeysEmulated, HeadDim128) {
  Case c = small_case({130, 20}, {260, 100});
  c.head_dim = 128;
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    check_turn<BackwardByKeys<M, kDim128>>(c, turn);
    if (HasFatalFailure()) return;
  }
}

/// Warpgroups of keys that split columns.
TEST(BackwardByKeysEmulated, SplitColumns) {
  Case c = small_case({130, 20, 0}, {260, 100, 70});
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    c.head_dim = 256;
    check_turn<BackwardByKeys<M, kDim256, WindowMask>>(c, turn);
    c.head_dim = 128;
    using Capped = BackwardByKeys<M, kCapped128, WindowMask, CappedScores>;
    check_turn<Capped>(c, turn, {.softcap = 0.5});
    if (HasFatalFailure()) return;
  }
}

TEST(BackwardByKeysEmulated, HalfPrecision) {
  Case c = small_case({130, 20}, {260, 100});
  c.dtype = DType::kF16;
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    check_turn<BackwardByKeys<M, kHalf64>>(c, turn);
    if (HasFatalFailure()) return;
  }
}

TEST(BackwardByKeysEmulated, OtherHeadDims) {
  std::uint64_t turn = 0;
  for (const std::int64_t dim : {8, 40, 56}) {
    Case c = small_case({130, 20, 70}, {260, 100, 140});
    c.head_dim = dim;
    check_turn<Plain64>(c, turn++);
    if (HasFatalFailure()) return;
  }
  Case c = small_case({70}, {260});
  c.head_dim = 72;
  check_turn<BackwardByKeys<M, kDim128>>(c, turn++);
}

TEST(BackwardByKeysEmulated, AllSequencesEmpty) {
  check_turn<Plain64>(small_case({0, 0, 0}, {0, 0, 0}), 1);
  check_turn<Plain64>(small_case({0, 70, 0}, {0, 0, 3}), 2);
}

/// Sequences of two blocks of keys, which partners work on, among others; blocks without a partner.
TEST(BackwardByKeysEmulated, Partners) {
  std::uint64_t turn = 0;
  for (const Window window : {Window{}, Window{-1, 0}, Window{100, 20}, Window{10, 0}}) {
    for (const int blocks : {2, 3, 5}) {
      Case c = small_case({130, 70, 1, 300, 64, 520, 0}, {256, 129, 300, 200, 100, 250, 200});
      c.window = window;
      check_turn<Masked64>(c, turn++, {}, blocks);
      if (HasFatalFailure()) return;
    }
  }
  Case c = small_case({130, 70, 1, 300}, {256, 129, 300, 200});
  for (const int blocks : {1, 2, 4, 7}) check_turn<Plain64>(c, turn++, {}, blocks);
  c.heads_q = 2;
  c.heads_kv = 1;
  check_turn<Plain64>(c, turn++);
  c.head_dim = 128;
  check_turn<BackwardByKeys<M, kDim128>>(c, turn++);
  c.head_dim = 256;
  c.kv_lengths = {128, 65, 129, 60};
  check_turn<BackwardByKeys<M, kDim256, WindowMask>>(c, turn++);
}

/// More tiles than a pair's ring has, under every schedule.
TEST(BackwardByKeysEmulated, PartnersUnderEverySchedule) {
  check_every_schedule<Plain64>(small_case({600, 0, 130}, {200, 150, 256}));
}

// What kernels by keys of every configuration are put through.

template <class Config>
struct BackwardEmulated : ::testing::Test {
  using Plain = BackwardByKeys<M, Config::kConfig>;
  using Masked = BackwardByKeys<M, Config::kConfig, WindowMask>;
  using Capped = BackwardByKeys<M, Config::kConfig, WindowMask, CappedScores>;
};
struct Low {
  static constexpr BackwardConfig kConfig = kLow64;
};
struct Tall {
  static constexpr BackwardConfig kConfig = backward_config(64, false, false);
};
struct Long {
  static constexpr BackwardConfig kConfig = [] {
    BackwardConfig c = long_backward_config(false);
    c.head_dim = 64;
    return c;
  }();
};
using Configs = ::testing::Types<Low, Tall, Long>;
TYPED_TEST_SUITE(BackwardEmulated, Configs, );

TYPED_TEST(BackwardEmulated, LengthGrid) {
  check_gradient_grid<typename TestFixture::Plain>({0, 1, 63, 64, 65, 128, 129},
                                                   {0, 1, 64, 65, 127, 128, 129});
}

TYPED_TEST(BackwardEmulated, MixedLengthsUnderEverySchedule) {
  check_every_schedule<typename TestFixture::Plain>(
      small_case({260, 0, 64, 200, 1, 40}, {1, 5, 0, 260, 300, 129}));
}

TYPED_TEST(BackwardEmulated, Masks) { check_gradient_masks<typename TestFixture::Masked>(); }

TYPED_TEST(BackwardEmulated, GroupedHeads) {
  check_gradient_groups<typename TestFixture::Plain, typename TestFixture::Masked>();
}

TYPED_TEST(BackwardEmulated, BroadcastQueries) {
  check_gradient_broadcast<typename TestFixture::Plain, typename TestFixture::Masked>();
}

TYPED_TEST(BackwardEmulated, GapsAndCapacity) {
  check_gradient_gaps<typename TestFixture::Plain>();
}

TYPED_TEST(BackwardEmulated, ScalesSoftcapAndLseGradients) {
  check_gradient_scales<typename TestFixture::Plain, typename TestFixture::Capped>();
}

TYPED_TEST(BackwardEmulated, Partners) {
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    Case c = small_case({130, 70, 1, 300, 600, 0}, {256, 129, 300, 200, 150, 200});
    c.window = turn % 2 == 0 ? Window{} : Window{-1, 0};
    check_turn<typename TestFixture::Masked>(c, turn, {}, 4);
    if (TestFixture::HasFatalFailure()) return;
  }
}

Case shared_case(std::int64_t rows, std::vector<std::int64_t> kv_lengths) {
  Case c = small_case({}, std::move(kv_lengths));
  c.broadcast_q = true;
  c.q_length = rows;
  c.heads_q = c.heads_kv = 2;
  return c;
}

TEST(BackwardByQueriesEmulated, LengthGrid) {
  std::uint64_t turn = 0;
  for (const std::int64_t kv : {0, 1, 63, 64, 65, 127, 128, 129}) {
    for (const std::int64_t rows : {1, 63, 64}) {
      check_turn<BackwardByQueries<M, kShared64>>(shared_case(rows, {kv, 3}), turn++);
    }
    for (const std::int64_t rows : {65, 128}) {
      check_turn<BackwardByQueries<M, kShared64x128>>(shared_case(rows, {kv, 3}), turn++);
    }
    if (HasFatalFailure()) return;
  }
}

TEST(BackwardByQueriesEmulated, MixedLengthsUnderEverySchedule) {
  for (std::uint64_t turn = 0; turn < 14; ++turn) {
    check_turn<BackwardByQueries<M, kShared64>>(shared_case(40, {129, 0, 1, 300, 64, 0}), turn, {},
                                                3);
    if (HasFatalFailure()) return;
  }
}

TEST(BackwardByQueriesEmulated, HeadDims) {
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    Case c = shared_case(100, {260, 0, 30});
    c.head_dim = turn % 2 == 0 ? 128 : 72;
    check_turn<BackwardByQueries<M, kShared128>>(c, turn, {}, 5);
    if (HasFatalFailure()) return;
  }
}

TEST(BackwardByQueriesEmulated, HalfPrecision) {
  Case c = shared_case(64, {130, 20});
  c.dtype = DType::kF16;
  check_turn<BackwardByQueries<M, kSharedHalf>>(c, 1);
}

TEST(BackwardByQueriesEmulated, NoKeys) {
  check_turn<BackwardByQueries<M, kShared64>>(shared_case(5, {0, 0, 0}), 1);
  check_turn<BackwardByQueries<M, kShared64>>(shared_case(5, {0}), 2, {}, 7);
}

TEST(BackwardByQueriesEmulated, Masks) {
  const Window windows[] = {{-1, 0}, {10, 0}, {100, 20}, {0, 0}, {-1, 70}, {3, -1}};
  std::uint64_t turn = 0;
  for (const Window window : windows) {
    Case c = shared_case(60, {300, 0, 20, 64});
    c.window = window;
    check_turn<BackwardByQueries<M, kShared64, WindowMask>>(c, turn++);
    if (HasFatalFailure()) return;
  }
}

TEST(BackwardByQueriesEmulated, ScalesSoftcapAndLseGradients) {
  const Case c = shared_case(50, {130, 20});
  std::uint64_t turn = 0;
  for (const double scale : {0.5, -0.3, 0.0}) {
    check_turn<BackwardByQueries<M, kShared64>>(c, turn++, {.scale = scale, .dlse = true});
  }
  using Capped = BackwardByQueries<M, kShared64, WindowMask, CappedScores>;
  check_turn<Capped>(c, turn++, {.softcap = 5, .dlse = true});
}

// ---- dQ apart

using ApartPlain = DqApart<64, false, NoMask>;
using ApartMasked = DqApart<64, false, WindowMask>;

TEST(BackwardApartEmulated, LengthGrid) {
  check_gradient_grid<ApartPlain>({0, 1, 63, 64, 65, 129}, {0, 1, 64, 65, 127, 129});
}

TEST(BackwardApartEmulated, MixedLengthsUnderEverySchedule) {
  check_every_schedule<ApartPlain>(small_case({130, 0, 64, 200, 1, 40}, {1, 5, 0, 260, 300, 129}));
}

TEST(BackwardApartEmulated, HeadDimsAndTypes) {
  Case c = small_case({130, 20, 0}, {260, 100, 70});
  c.window = {-1, 10};
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    c.dtype = DType::kBf16;
    c.head_dim = 256;
    check_turn<DqApart<256, false, WindowMask>>(c, turn);
    c.head_dim = 128;
    check_turn<DqApart<128, false, WindowMask>>(c, turn);
    c.dtype = DType::kF16;
    c.head_dim = 72;
    check_turn<DqApart<128, true, WindowMask>>(c, turn);
    if (HasFatalFailure()) return;
  }
}

TEST(BackwardApartEmulated, Masks) { check_gradient_masks<ApartMasked>(); }

TEST(BackwardApartEmulated, Groups) { check_gradient_groups<ApartPlain, ApartMasked>(); }

TEST(BackwardApartEmulated, GapsAndCapacity) { check_gradient_gaps<ApartPlain>(); }

TEST(BackwardApartEmulated, ScalesSoftcapAndLseGradients) {
  check_gradient_scales<ApartPlain, DqApart<64, false, ListedMask, CappedScores>>();
}

TEST(BackwardApartEmulated, SameBits) { check_deterministic<ApartMasked>(); }

// ---- sequences of few queries by a kernel of their own, the others apart

template <int HeadDim, int Queries, bool Half, template <class> class Mask = NoMask>
using Few = FewOn<M, HeadDim, Queries, Half, Mask>;
using FewPlain = Few<64, 128, false>;
using FewMasked = Few<64, 128, false, WindowMask>;

TEST(BackwardFewEmulated, LengthGrid) {
  check_gradient_grid<FewPlain>({0, 1, 63, 64, 65, 127, 128, 129}, {0, 1, 63, 64, 65, 129});
  check_gradient_grid<Few<64, 64, false>>({0, 1, 63, 64, 65}, {0, 1, 63, 64, 65, 129});
}

TEST(BackwardFewEmulated, MixedLengthsUnderEverySchedule) {
  check_every_schedule<FewPlain>(
      small_case({130, 0, 64, 128, 1, 40, 70}, {100, 5, 0, 260, 300, 129, 9}));
}

TEST(BackwardFewEmulated, HeadDimsAndTypes) {
  Case c = small_case({130, 100, 20, 0}, {260, 100, 300, 70});
  c.window = {-1, 10};
  for (std::uint64_t turn = 0; turn < 7; ++turn) {
    c.dtype = DType::kBf16;
    c.head_dim = turn % 2 == 0 ? 128 : 72;
    check_turn<Few<128, 128, false, WindowMask>>(c, turn, {}, 3);
    c.dtype = DType::kF16;
    c.head_dim = 40;
    check_turn<Few<64, 128, true, WindowMask>>(c, turn);
    if (HasFatalFailure()) return;
  }
}

TEST(BackwardFewEmulated, Masks) {
  check_gradient_masks<FewMasked>();
  std::uint64_t turn = 0;
  for (const Window window : {Window{3, -1}, Window{100, 20}, Window{0, 0}, Window{60, -1}}) {
    Case c = small_case({128, 100, 65, 128}, {300, 128, 129, 60});
    c.window = window;
    check_turn<FewMasked>(c, turn++);
    if (HasFatalFailure()) return;
  }
}

TEST(BackwardFewEmulated, GapsAndCapacity) { check_gradient_gaps<FewPlain>(); }

TEST(BackwardFewEmulated, ScalesAndLseGradients) {
  const Case c = small_case({130, 20, 100}, {260, 100, 70});
  std::uint64_t turn = 0;
  for (const double scale : {0.5, -0.3, 0.0}) {
    check_turn<FewPlain>(c, turn++, {.scale = scale, .dlse = true});
  }
}

TEST(BackwardFewEmulated, SameBits) { check_deterministic<FewMasked>(); }

}  // namespace
}  // namespace emulated
}  // namespace jfa
