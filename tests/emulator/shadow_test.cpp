// Order of accesses in shadow memory.
#include "machine/emulator/shadow.hpp"

#include <gtest/gtest.h>

namespace jfa::emulator {
namespace {

constexpr Agent kA{0, 0, 0}, kB{0, 0, 1}, kCopy{0, 64, 0};

// A thread or copy with what it knows.
struct Actor {
  Agent agent;
  Time time = 1;
  ClockRef generic, async;
  Time fenced = 0;

  std::optional<Conflict> touch(Shadow& shadow, std::uint64_t offset, std::uint64_t bytes,
                                AccessKind kind, bool is_async = false) {
    const Viewpoint view{&generic, &async, agent, fenced};
    return shadow.touch(offset, bytes, {{agent, time}, 1, kind, is_async}, {&view, 1});
  }
  void learn(const Actor& other, bool fence) {
    raise(generic, {other.agent, other.time});
    if (fence) raise(async, {other.agent, other.time});
  }
};

struct ShadowTest : ::testing::Test {
  ReaderTable readers;
  Shadow shadow{64, false, readers};
  Actor a{kA, 1, {}, {}, 0}, b{kB, 1, {}, {}, 0}, copy{kCopy, 1, {}, {}, 0};
};

TEST_F(ShadowTest, ReadNeedsAWriteAndItsOrder) {
  EXPECT_EQ(b.touch(shadow, 0, 16, AccessKind::Read)->verdict, Verdict::Uninitialized);
  EXPECT_FALSE(a.touch(shadow, 0, 16, AccessKind::Write));
  EXPECT_EQ(b.touch(shadow, 0, 4, AccessKind::Read)->verdict, Verdict::Unordered);
  b.learn(a, false);
  EXPECT_FALSE(b.touch(shadow, 0, 4, AccessKind::Read));
}

TEST_F(ShadowTest, NeighboursInOneGranuleAreApart) {
  EXPECT_FALSE(a.touch(shadow, 0, 2, AccessKind::Write));
  EXPECT_FALSE(b.touch(shadow, 2, 2, AccessKind::Write));
  EXPECT_FALSE(a.touch(shadow, 0, 2, AccessKind::Read));
  EXPECT_FALSE(b.touch(shadow, 2, 2, AccessKind::Write));
  const auto conflict = b.touch(shadow, 0, 4, AccessKind::Write);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->offset, 0u);
  EXPECT_EQ(conflict->earlier.epoch.agent, kA);
}

TEST_F(ShadowTest, OverwriteNeedsEveryReader) {
  EXPECT_FALSE(a.touch(shadow, 0, 64, AccessKind::Write));
  b.learn(a, false);
  EXPECT_FALSE(b.touch(shadow, 16, 16, AccessKind::Read));
  EXPECT_FALSE(a.touch(shadow, 0, 16, AccessKind::Write));
  const auto conflict = a.touch(shadow, 16, 16, AccessKind::Write);
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->earlier.kind, AccessKind::Read);
  a.learn(b, false);
  EXPECT_FALSE(a.touch(shadow, 16, 16, AccessKind::Write));
}

TEST_F(ShadowTest, AsyncReadNeedsAProxyFence) {
  EXPECT_FALSE(a.touch(shadow, 0, 16, AccessKind::Write));
  copy.learn(a, false);
  EXPECT_EQ(copy.touch(shadow, 0, 16, AccessKind::Read, true)->verdict, Verdict::NoProxyFence);
  copy.learn(a, true);
  EXPECT_FALSE(copy.touch(shadow, 0, 16, AccessKind::Read, true));
}

TEST_F(ShadowTest, AsyncWriteAfterGenericReadIsPedantic) {
  EXPECT_FALSE(a.touch(shadow, 0, 16, AccessKind::Write));
  a.fenced = a.time++;
  EXPECT_FALSE(a.touch(shadow, 0, 16, AccessKind::Read));
  raise(copy.async, {kA, 1});
  raise(copy.generic, {kA, 2});
  EXPECT_FALSE(copy.touch(shadow, 0, 16, AccessKind::Write, true));
  EXPECT_TRUE(shadow.take_pedantic());
  EXPECT_FALSE(shadow.take_pedantic());
}

TEST_F(ShadowTest, AdditionsCommuteAmongThemselvesOnly) {
  Shadow sums(16, true, readers);
  EXPECT_FALSE(a.touch(sums, 0, 16, AccessKind::Reduce, true));
  EXPECT_FALSE(b.touch(sums, 0, 16, AccessKind::Reduce, true));
  EXPECT_TRUE(copy.touch(sums, 0, 4, AccessKind::Read));
  EXPECT_TRUE(copy.touch(sums, 0, 4, AccessKind::Write));
  copy.learn(a, true);
  EXPECT_TRUE(copy.touch(sums, 0, 4, AccessKind::Read));
  copy.learn(b, true);
  EXPECT_FALSE(copy.touch(sums, 0, 4, AccessKind::Read));
}

TEST_F(ShadowTest, LaunchBoundaryOrdersEverything) {
  EXPECT_FALSE(a.touch(shadow, 0, 6, AccessKind::Write));
  shadow.launch_boundary();
  readers.clear();
  EXPECT_FALSE(b.touch(shadow, 0, 6, AccessKind::Read));
  EXPECT_EQ(b.touch(shadow, 6, 2, AccessKind::Read)->verdict, Verdict::Uninitialized);
}

TEST_F(ShadowTest, WriteOnceRefusesASecondWrite) {
  Shadow out(16, false, readers, true);
  EXPECT_FALSE(a.touch(out, 0, 16, AccessKind::Write));
  EXPECT_EQ(a.touch(out, 8, 4, AccessKind::Write)->verdict, Verdict::WrittenTwice);
}

TEST_F(ShadowTest, MovedReaderSetsAreTheSame) {
  EXPECT_FALSE(a.touch(shadow, 0, 64, AccessKind::Write));
  b.learn(a, false);
  EXPECT_FALSE(b.touch(shadow, 0, 20, AccessKind::Read));
  ReaderTable kept;
  shadow.move_readers(kept);
  readers = std::move(kept);
  EXPECT_TRUE(a.touch(shadow, 16, 4, AccessKind::Write));
  EXPECT_FALSE(a.touch(shadow, 32, 4, AccessKind::Write));
}

}  // namespace
}  // namespace jfa::emulator
