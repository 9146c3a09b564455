// Fragments: matrices spread over the registers of a warpgroup, and the math on them.
//
// NOTE [fragment map]: value i of thread t lies in row 16 (t / 32) + t % 32 / 4 + 8 (i / 2 % 2) and
// column 8 (i / 4) + 2 (t % 4) + i % 2, so a thread holds parts of two rows and a row is spread
// over the four lanes of a quad.
// https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions-wgmma-mma
#pragma once

#include <type_traits>

#include "machine/tile.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// The calling warp's place in its warpgroup. (`&`, not `%`: one instruction for a signed number.)
template <class M>
JFA_DEVICE int warp_of_group() {
  return M::warp_index() & 3;
}

/// A value for each of a thread's two rows.
template <class M>
struct RowValues {
  float values[2];

  /// fn(this row's value, that row's value) for both rows.
  template <class Fn>
  JFA_DEVICE RowValues with(const RowValues& that, Fn fn) const {
    return {{fn(values[0], that.values[0]), fn(values[1], that.values[1])}};
  }
  template <class Fn>
  JFA_DEVICE RowValues map(Fn fn) const {
    return {{fn(values[0]), fn(values[1])}};
  }

  friend JFA_DEVICE RowValues operator+(const RowValues& a, const RowValues& b) {
    return a.with(b, [](float x, float y) { return x + y; });
  }
  friend JFA_DEVICE RowValues operator-(const RowValues& a, const RowValues& b) {
    return a.with(b, [](float x, float y) { return x - y; });
  }
  friend JFA_DEVICE RowValues operator*(const RowValues& a, const RowValues& b) {
    return a.with(b, [](float x, float y) { return x * y; });
  }
  friend JFA_DEVICE RowValues operator*(const RowValues& a, float b) {
    return a.map([b](float x) { return x * b; });
  }
  friend JFA_DEVICE RowValues max(const RowValues& a, const RowValues& b) {
    return a.with(b, [](float x, float y) { return M::max(x, y); });
  }
  friend JFA_DEVICE RowValues exp2(const RowValues& a) {
    return a.map([](float x) { return M::exp2(x); });
  }
  friend JFA_DEVICE RowValues reciprocal(const RowValues& a) {
    return a.map([](float x) { return M::reciprocal(x); });
  }
};

/// A 64 x `N` fp32 accumulator. Neither copies nor moves; every index is a compile-time constant
/// once loops are unrolled, or it would live in local memory.
template <class Machine, int N>
struct Fragment {
  using M = Machine;
  static constexpr int kRows = 64;
  static constexpr int kCols = N;
  static_assert(N % 8 == 0 && N >= 8 && N <= 256, "wgmma's N is a multiple of 8 up to 256");

  float values[N / 2];
  [[no_unique_address]] typename M::FragmentState state;

  Fragment() = default;
  Fragment(const Fragment&) = delete;
  Fragment& operator=(const Fragment&) = delete;

  /// The calling thread's first row and first column, of the warpgroup's 64 rows and N columns.
  static JFA_DEVICE int first_row() { return warp_of_group<M>() * 16 + M::lane() / 4; }
  static JFA_DEVICE int first_col() { return M::lane() % 4 * 2; }

  JFA_DEVICE void fill(float value, Site site = Site::here()) {
    state.writing(site);
    JFA_UNROLL
    for (int i = 0; i < N / 2; ++i) values[i] = value;
  }

  /// fn(row, col, float& value) for each value.
  template <class Fn>
  JFA_DEVICE void apply(Fn fn, Site site = Site::here()) {
    state.reading(site);
    state.writing(site);
    const int row = first_row();
    const int col = first_col();
    JFA_UNROLL
    for (int i = 0; i < N / 2; ++i) fn(row + i / 2 % 2 * 8, col + i / 4 * 8 + i % 2, values[i]);
  }

  /// value = fn(value, its row's value) for each value.
  template <class Fn>
  JFA_DEVICE void map_rows(const RowValues<M>& rows, Fn fn, Site site = Site::here()) {
    state.reading(site);
    state.writing(site);
    JFA_UNROLL
    for (int i = 0; i < N / 2; ++i) values[i] = fn(values[i], rows.values[i / 2 % 2]);
  }

  /// fn over each of the two rows' values, the calling thread's part of them only; N / 4 a row.
  template <class Fn>
  JFA_DEVICE RowValues<M> fold_rows(Fn fn, Site site = Site::here()) {
    state.reading(site);
    // Two chains a row: half the latency.
    float chains[4] = {values[0], values[1], values[2], values[3]};
    JFA_UNROLL
    for (int i = 4; i < N / 2; ++i) chains[i % 4] = fn(chains[i % 4], values[i]);
    return {{fn(chains[0], chains[1]), fn(chains[2], chains[3])}};
  }
};

/// A 64 x `K` matrix of 16-bit elements in registers, the `a` of an MMA.
template <class Machine, class T, int K>
struct Operand {
  using M = Machine;
  static_assert(K % 16 == 0, "an MMA's depth is a multiple of 16");

  std::uint32_t values[K / 4];
  [[no_unique_address]] typename M::FragmentState state;

  Operand() = default;
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
};

/// What a wait may name.
template <class T>
concept InRegisters = requires(T t) {
  t.values, t.state;
};

template <class M, class Fn>
JFA_DEVICE RowValues<M> across_quad(const RowValues<M>& part, Fn fn, Site site) {
  return part.map([&](float x) {
    x = fn(x, M::shuffle_xor(x, 1, site));
    return fn(x, M::shuffle_xor(x, 2, site));
  });
}

/// Each row's maximum, in every lane that holds a part of the row.
template <class M, int N>
JFA_DEVICE RowValues<M> row_max(Fragment<M, N>& x, Site site = Site::here()) {
  const auto larger = [](float a, float b) { return M::max(a, b); };
  return across_quad(x.fold_rows(larger, site), larger, site);
}

/// The calling thread's part of each row's sum: summed over a loop, then once `sum_across_lanes`.
template <class M, int N>
JFA_DEVICE RowValues<M> partial_row_sum(Fragment<M, N>& x, Site site = Site::here()) {
  return x.fold_rows([](float a, float b) { return a + b; }, site);
}

template <class M>
JFA_DEVICE RowValues<M> sum_across_lanes(const RowValues<M>& part, Site site = Site::here()) {
  return across_quad(
      part, [](float a, float b) { return a + b; }, site);
}

/// Each row's sum, in every lane that holds a part of the row.
template <class M, int N>
JFA_DEVICE RowValues<M> row_sum(Fragment<M, N>& x, Site site = Site::here()) {
  return sum_across_lanes(partial_row_sum(x, site), site);
}

template <class M, int N>
JFA_DEVICE void scale_rows(Fragment<M, N>& x, const RowValues<M>& by, Site site = Site::here()) {
  x.map_rows(
      by, [](float value, float scale) { return value * scale; }, site);
}

/// Rounds an accumulator to the operand of the next MMA: the same thread holds the same elements.
template <class M, class T, int K>
JFA_DEVICE void convert(Operand<M, T, K>& to, Fragment<M, K>& from, Site site = Site::here()) {
  from.state.reading(site);
  to.state.writing(site);
  JFA_UNROLL
  for (int i = 0; i < K / 4; ++i) {
    to.values[i] = M::template pack<T>(from.values[2 * i], from.values[2 * i + 1]);
  }
}

/// Rounds a fragment into a 64-row tile of 16-bit elements.
template <class View, class M, int N>
requires(sizeof(typename View::Element) == 2) JFA_DEVICE
    void store_fragment(const View& to, Fragment<M, N>& from, Site site = Site::here()) {
  using T = typename View::Element;
  static_assert(View::kRows == 64 && View::kCols == N, "the tile has the fragment's shape");
  static_assert(N % 16 == 0, "stored 16 columns at a time");
  from.state.reading(site);
  const int row = warp_of_group<M>() * 16 + M::lane() % 16;
  const int half = M::lane() / 16 * 8;
  JFA_UNROLL
  for (int c = 0; c < N / 16; ++c) {
    const float(&v)[N / 2] = from.values;
    const std::uint32_t matrices[4] = {M::template pack<T>(v[8 * c], v[8 * c + 1]),
                                       M::template pack<T>(v[8 * c + 2], v[8 * c + 3]),
                                       M::template pack<T>(v[8 * c + 4], v[8 * c + 5]),
                                       M::template pack<T>(v[8 * c + 6], v[8 * c + 7])};
    M::template stmatrix<4, false>(to.pointer(row, 16 * c + half), matrices, site);
  }
}

/// Stores a fragment into a 64-row fp32 tile.
template <class View, class M, int N>
requires(std::is_same_v<typename View::Element, float>) JFA_DEVICE
    void store_fragment(const View& to, Fragment<M, N>& from, Site site = Site::here()) {
  static_assert(View::kRows == 64 && View::kCols == N, "the tile has the fragment's shape");
  from.state.reading(site);
  const auto below = to.template rows<56>(8);
  const int row = from.first_row();
  const int col = from.first_col();
  JFA_UNROLL
  for (int i = 0; i < N / 2; i += 4) {
    to.template store<2>(row, col + 2 * i, {from.values[i], from.values[i + 1]}, site);
    below.template store<2>(row, col + 2 * i, {from.values[i + 2], from.values[i + 3]}, site);
  }
}

/// Loads a 64 x K tile of 16-bit elements into an operand.
template <class M, class T, int K, class View>
JFA_DEVICE void load_operand(Operand<M, T, K>& to, const View& from, Site site = Site::here()) {
  static_assert(View::kRows == 64 && View::kCols == K, "the tile has the operand's shape");
  to.state.writing(site);
  const int row = warp_of_group<M>() * 16 + M::lane() % 16;
  const int half = M::lane() / 16 * 8;
  JFA_UNROLL
  for (int c = 0; c < K / 16; ++c) {
    std::uint32_t matrices[4];
    M::template ldmatrix<4, false>(matrices, from.pointer(row, 16 * c + half), site);
    JFA_UNROLL
    for (int i = 0; i < 4; ++i) to.values[4 * c + i] = matrices[i];
  }
}

/// Loads a 64 x N fp32 or 16-bit tile into a fragment.
template <class M, int N, class View>
JFA_DEVICE void load_fragment(Fragment<M, N>& to, const View& from, Site site = Site::here()) {
  static_assert(View::kRows == 64 && View::kCols == N, "the tile has the fragment's shape");
  to.state.writing(site);
  const auto below = from.template rows<56>(8);
  const int row = to.first_row();
  const int col = to.first_col();
  JFA_UNROLL
  for (int i = 0; i < N / 2; i += 4) {
    const auto upper_pair = from.template load<2>(row, col + 2 * i, site);
    const auto lower_pair = below.template load<2>(row, col + 2 * i, site);
    JFA_UNROLL
    for (int k = 0; k < 2; ++k) {
      to.values[i + k] = M::to_float(upper_pair.values[k]);
      to.values[i + 2 + k] = M::to_float(lower_pair.values[k]);
    }
  }
}

}  // namespace JFA_BACKEND
}  // namespace jfa
