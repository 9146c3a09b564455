// C = start(C) + A B on fp32 tiles in scratch: the one product both passes are made of.
//
// Each element of C is one chain of multiply-adds over the depth in ascending order, whatever the
// blocking, so results depend neither on the block an element falls into nor on how the depth is
// split over calls.
#if defined(JFA_CPU_GEMM_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef JFA_CPU_GEMM_INL_HPP
#undef JFA_CPU_GEMM_INL_HPP
#else
#define JFA_CPU_GEMM_INL_HPP
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/simd-inl.hpp"
#include "cpu/tile.hpp"

HWY_BEFORE_NAMESPACE();
namespace jfa::cpu::HWY_NAMESPACE {

/// C = scale * (A B).
struct Scaled {
  float scale;
  HWY_INLINE Vec start(const float*, std::int64_t) const { return hn::Zero(Floats()); }
  HWY_INLINE Vec finish(Vec sum) const { return hn::Mul(sum, hn::Set(Floats(), scale)); }
};
/// C += A B.
struct Added {
  HWY_INLINE Vec start(const float* c, std::int64_t) const { return hn::Load(Floats(), c); }
  HWY_INLINE Vec finish(Vec sum) const { return sum; }
};
/// C = diag(factors) C + A B.
struct Rescaled {
  const float* factors;  ///< one a row
  HWY_INLINE Vec start(const float* c, std::int64_t row) const {
    return hn::Mul(hn::Load(Floats(), c), hn::Set(Floats(), factors[row]));
  }
  HWY_INLINE Vec finish(Vec sum) const { return sum; }
};

/// Operands of a product; B and C have whole vectors of columns.
template <Stored kStored, typename Form>
struct Product {
  ConstTile a;
  ConstTile b;
  Tile c;
  std::int64_t rows;
  std::int64_t vectors;  ///< columns, in vectors
  std::int64_t depth;
  Form form;
};

/// Rows of a block of `vectors` columns: as many as leave registers for a row of B and a value of
/// A, and enough for the multiply-adds in flight.
constexpr int block_rows(int vectors) {
  const int rows = (kRegisters - 1) / vectors - 1;
  return rows < 12 ? rows : 12;
}
inline constexpr int kBlockVectors = kRegisters == 32 ? 4 : 2;

// Loops over registers are unrolled whole, so that arrays of vectors live in registers.
#define JFA_UNROLL _Pragma("GCC unroll 16")

/// One block of C, kept in registers over the whole depth.
template <int kRows, int kVectors, Stored kStored, typename Form>
HWY_NOINLINE void multiply_block(const Product<kStored, Form>& p, std::int64_t row,
                                 std::int64_t column) {
  constexpr bool kAsIs = kStored == Stored::kAsIs;
  const Floats d;
  const Form form = p.form;
  const std::int64_t a_stride = p.a.stride;
  const std::int64_t b_stride = p.b.stride;
  const std::int64_t c_stride = p.c.stride;
  const float* HWY_RESTRICT a = p.a.data + (kAsIs ? row * a_stride : row);
  const float* HWY_RESTRICT b = p.b.data + column;
  float* HWY_RESTRICT c = p.c.data + row * c_stride + column;
  Vec sum[kRows][kVectors];
  JFA_UNROLL for (int r = 0; r < kRows; ++r) {
    JFA_UNROLL for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = form.start(c + r * c_stride + v * kLanes, row + r);
    }
  }
  for (std::int64_t k = p.depth; k > 0; --k) {
    Vec b_row[kVectors];
    JFA_UNROLL for (int v = 0; v < kVectors; ++v) b_row[v] = hn::Load(d, b + v * kLanes);
    JFA_UNROLL for (int r = 0; r < kRows; ++r) {
      const Vec value = hn::Set(d, kAsIs ? a[r * a_stride] : a[r]);
      JFA_UNROLL for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::MulAdd(value, b_row[v], sum[r][v]);
      }
    }
    a += kAsIs ? 1 : a_stride;
    b += b_stride;
  }
  JFA_UNROLL for (int r = 0; r < kRows; ++r) {
    JFA_UNROLL for (int v = 0; v < kVectors; ++v) {
      hn::Store(form.finish(sum[r][v]), d, c + r * c_stride + v * kLanes);
    }
  }
}

#undef JFA_UNROLL

/// Blocks of 1, 2, ... rows, by number of rows less one.
template <int kVectors, Stored kStored, typename Form, std::size_t... kRow>
constexpr auto blocks_by_rows(std::index_sequence<kRow...>) {
  using Block = void (*)(const Product<kStored, Form>&, std::int64_t, std::int64_t);
  return std::array<Block, sizeof...(kRow)>{
      &multiply_block<static_cast<int>(kRow) + 1, kVectors, kStored, Form>...};
}

/// All rows of `kVectors` columns, in blocks of nearly equal height: a last block of one or two
/// rows would leave the multiply-add units idle.
template <int kVectors, Stored kStored, typename Form>
void multiply_columns(const Product<kStored, Form>& p, std::int64_t column) {
  constexpr int kMost = block_rows(kVectors);
  constexpr auto kBlocks =
      blocks_by_rows<kVectors, kStored, Form>(std::make_index_sequence<kMost>());
  std::int64_t left = divide_up(p.rows, kMost);
  for (std::int64_t row = 0; left > 0; --left) {
    const std::int64_t height = divide_up(p.rows - row, left);
    kBlocks[static_cast<std::size_t>(height - 1)](p, row, column);
    row += height;
  }
}

/// Two times three vectors of columns are better than four and two.
template <Stored kStored, typename Form>
void multiply(const Product<kStored, Form>& p) {
  std::int64_t left = divide_up(p.vectors, kBlockVectors);
  for (std::int64_t done = 0; left > 0; --left) {
    const std::int64_t width = divide_up(p.vectors - done, left);
    switch (width) {
      case 1:
        multiply_columns<1>(p, done * kLanes);
        break;
      case 2:
        multiply_columns<2>(p, done * kLanes);
        break;
      default:
        if constexpr (kBlockVectors == 4) {
          if (width == 3) multiply_columns<3>(p, done * kLanes);
          if (width == 4) multiply_columns<4>(p, done * kLanes);
        }
    }
    done += width;
  }
}

}  // namespace jfa::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
