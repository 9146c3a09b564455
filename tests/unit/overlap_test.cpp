// The overlap check against the bytes that small strided views touch, listed one by one.
#include "problem/overlap.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace jfa {
namespace {

/// Where the views of these tests lie.
const std::vector<std::byte> kMemory(4096);

/// Times each byte of memory is touched by a view.
std::vector<int> touched(const ConstTensorView& view) {
  std::vector<int> bytes(kMemory.size());
  const std::int64_t begin = static_cast<const std::byte*>(view.data) - kMemory.data();
  const std::int64_t size = element_size(view.dtype);
  for (std::int64_t r = 0; r < view.rows; ++r) {
    for (std::int64_t h = 0; h < view.heads; ++h) {
      const std::int64_t first = (r * view.row_stride + h * view.head_stride) * size;
      for (std::int64_t i = 0; i < view.head_dim * size; ++i) {
        ++bytes.at(static_cast<std::size_t>(begin + first + i));
      }
    }
  }
  return bytes;
}

bool shares_bytes(const std::vector<int>& a, const std::vector<int>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > 0 && b[i] > 0) return true;
  }
  return false;
}

ConstTensorView at(std::int64_t element, std::int64_t rows, std::int64_t heads,
                   std::int64_t head_dim, std::int64_t row_stride, std::int64_t head_stride) {
  return {&kMemory[static_cast<std::size_t>(2 * element)],
          DType::kBf16,
          rows,
          heads,
          head_dim,
          row_stride,
          head_stride};
}

class RandomViews {
 public:
  /// Strides of both views are often the same and often multiples of one another.
  ConstTensorView operator()() {
    const std::int64_t head_dim = one_of({1, 2, 3});
    const std::int64_t heads = one_of({0, 1, 2, 3});
    const std::int64_t rows = one_of({0, 1, 2, 4});
    const std::int64_t head_stride = one_of({0, 2, 3, 4, 6, 9, 12});
    const std::int64_t row_stride = one_of({0, 3, 9, 12, 13, 18, 36});
    return at(one_of({0, 1, 2, 3, 4, 6, 7, 9, 11, 13, 18, 37, 60}), rows, heads, head_dim,
              row_stride, head_stride);
  }

 private:
  std::int64_t one_of(std::initializer_list<std::int64_t> values) {
    return values.begin()[random_() % values.size()];
  }
  std::minstd_rand random_{7};
};

TEST(Overlap, NeverMissesASharedByte) {
  RandomViews views;
  int shared = 0;
  int apart = 0;
  int interleaved = 0;
  for (int i = 0; i < 20000; ++i) {
    const ConstTensorView a = views();
    const ConstTensorView b = views();
    const std::vector<int> a_bytes = touched(a);
    const bool share = shares_bytes(a_bytes, touched(b));
    const bool may = may_overlap(footprint(a), footprint(b));
    ASSERT_TRUE(may || !share) << a.row_stride << ' ' << a.head_stride << ' ' << b.row_stride;
    ASSERT_EQ(may, may_overlap(footprint(b), footprint(a)));
    bool self = false;
    for (const int count : a_bytes) self = self || count > 1;
    ASSERT_TRUE(overlaps_itself(footprint(a)) || !self) << a.row_stride << ' ' << a.head_stride;
    shared += share ? 1 : 0;
    apart += may ? 0 : 1;
    interleaved += may && !share ? 1 : 0;
  }
  // The sample holds plenty of each kind, and few pairs that are refused though they are disjoint.
  EXPECT_GT(shared, 2000);
  EXPECT_GT(apart, 5000);
  EXPECT_LT(interleaved, apart / 4);
}

/// q, k and v of one packed tensor: which of them shares memory with the next.
void expect_apart(const std::vector<ConstTensorView>& views) {
  for (const ConstTensorView& a : views) {
    EXPECT_FALSE(overlaps_itself(footprint(a)));
    for (const ConstTensorView& b : views) {
      if (&a == &b) continue;
      ASSERT_FALSE(shares_bytes(touched(a), touched(b)));
      EXPECT_FALSE(may_overlap(footprint(a), footprint(b)));
    }
  }
}

TEST(Overlap, PackedLayoutsAreApart) {
  for (const std::int64_t rows : {1, 2, 5}) {
    for (const std::int64_t heads : {1, 2, 4}) {
      for (const std::int64_t pad : {0, 1, 8}) {  // elements behind each row
        SCOPED_TRACE(testing::Message() << rows << " rows, " << heads << " heads, pad " << pad);
        std::vector<ConstTensorView> by_tensor;   // [rows, 3, heads, 4]
        std::vector<ConstTensorView> by_head;     // [rows, heads, 3, 4]
        std::vector<ConstTensorView> head_major;  // [heads, rows, 3, 4]
        for (std::int64_t i = 0; i < 3; ++i) {
          const std::int64_t row = 3 * heads * 4 + pad;
          by_tensor.push_back(at(i * heads * 4, rows, heads, 4, row, 4));
          by_head.push_back(at(i * 4, rows, heads, 4, row, 12));
          head_major.push_back(at(i * 4, rows, heads, 4, 12, rows * 12 + pad));
        }
        expect_apart(by_tensor);
        expect_apart(by_head);
        expect_apart(head_major);
        // [rows, heads + 2, 4], one key and one value head behind the query heads
        const std::int64_t row = (heads + 2) * 4 + pad;
        expect_apart({at(0, rows, heads, 4, row, 4), at(heads * 4, rows, 1, 4, row, 4),
                      at((heads + 1) * 4, rows, 1, 4, row, 4)});
      }
    }
  }
}

TEST(Overlap, SharedMemoryIsFound) {
  const ConstTensorView a = at(0, 4, 2, 4, 24, 4);
  EXPECT_TRUE(may_overlap(footprint(a), footprint(a)));
  EXPECT_TRUE(may_overlap(footprint(a), footprint(at(7, 4, 2, 4, 24, 4))));
  EXPECT_FALSE(may_overlap(footprint(a), footprint(at(8, 4, 2, 4, 24, 4))));
  EXPECT_TRUE(may_overlap(footprint(a), footprint(at(17, 4, 2, 4, 24, 4))));  // its next row
  EXPECT_FALSE(may_overlap(footprint(a), footprint(at(80, 4, 2, 4, 24, 4))));
  EXPECT_TRUE(overlaps_itself(footprint(at(0, 4, 2, 4, 7, 4))));
  EXPECT_TRUE(overlaps_itself(footprint(at(0, 4, 2, 4, 8, 3))));
  EXPECT_TRUE(overlaps_itself(footprint(at(0, 4, 2, 4, 0, 4))));
  EXPECT_FALSE(overlaps_itself(footprint(at(0, 1, 2, 4, 0, 4))));
  EXPECT_FALSE(overlaps_itself(footprint(at(0, 0, 2, 4, 0, 0))));
}

TEST(Overlap, LogSumExpRows) {
  std::vector<float> memory(100);
  const ConstLseView a{memory.data(), 3, 10, 20};
  EXPECT_FALSE(overlaps_itself(footprint(a)));
  EXPECT_FALSE(may_overlap(footprint(a), footprint(ConstLseView{memory.data() + 10, 3, 10, 20})));
  EXPECT_TRUE(may_overlap(footprint(a), footprint(ConstLseView{memory.data() + 9, 3, 10, 20})));
  EXPECT_TRUE(overlaps_itself(footprint(ConstLseView{memory.data(), 3, 10, 9})));
}

}  // namespace
}  // namespace jfa
