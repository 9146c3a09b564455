// Fragments: matrices spread over the registers of a warpgroup, and the math on them.
//
// NOTE [fragment map]: value i of thread t lies in row 16 (t / 32) + t % 32 / 4 + 8 (i / 2 % 2) and
// column 8 (i / 4) + 2 (t % 4) + i % 2, so a thread holds parts of two rows and a row is spread
// over the four lanes of a quad.
// https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions-wgmma-mma
#pragma once

#include "machine/tile.hpp"

namespace jfa::inline JFA_BACKEND {

/// The calling warp's first row of a warpgroup's 64. (`&`, not `%`: one instruction if signed.)
template <class M>
JFA_DEVICE int warp_row() {
  return (M::warp_index() & 3) * 16;
}

/// (Functions are handed on as closures and types: pointers to them change what ptxas inlines.)
struct Sum {
  JFA_DEVICE float operator()(float x, float y) const { return x + y; }
};
struct Product {
  JFA_DEVICE float operator()(float x, float y) const { return x * y; }
};

/// A value for each of a thread's rows: two of a Fragment, one of a RowFragment.
template <class M, int Rows = 2>
struct RowValues {
  float values[Rows];

  static JFA_DEVICE RowValues all(float value) {
    RowValues result;
    JFA_UNROLL
    for (float& x : result.values) x = value;
    return result;
  }
  /// fn(this row's value, that row's value) for each row.
  JFA_DEVICE RowValues with(const RowValues& that, auto fn) const {
    RowValues result;
    JFA_UNROLL
    for (int i = 0; i < Rows; ++i) result.values[i] = fn(values[i], that.values[i]);
    return result;
  }
  JFA_DEVICE RowValues map(auto fn) const {
    return with(*this, [fn](float x, float) { return fn(x); });
  }

  friend JFA_DEVICE RowValues operator+(RowValues a, RowValues b) { return a.with(b, Sum()); }
  friend JFA_DEVICE RowValues operator-(RowValues a, RowValues b) {
    return a.with(b, [](float x, float y) { return x - y; });
  }
  friend JFA_DEVICE RowValues operator*(RowValues a, RowValues b) { return a.with(b, Product()); }
  friend JFA_DEVICE RowValues operator*(RowValues a, float b) { return a * all(b); }
  friend JFA_DEVICE RowValues max(RowValues a, RowValues b) {
    return a.with(b, [](float x, float y) { return M::max(x, y); });
  }
  friend JFA_DEVICE RowValues exp2(RowValues a) {
    return a.map([](float x) { return M::exp2(x); });
  }
};

/// A 64 x `N` fp32 accumulator. Neither copies nor moves; every index is a compile-time constant
/// once loops are unrolled, or it would live in local memory.
template <class Machine, int N>
struct Fragment {
  using M = Machine;
  static constexpr int kRows = 64;
  static constexpr int kCols = N;
  static constexpr int kValues = N / 2;
  static_assert(N % 8 == 0 && N >= 8 && N <= 256, "wgmma's N is a multiple of 8 up to 256");

  float values[N / 2];
  [[no_unique_address]] typename M::FragmentState state;

  /// The calling thread's first row and first column, of the warpgroup's 64 rows and N columns.
  static JFA_DEVICE int first_row() { return warp_row<M>() + M::lane() / 4; }
  static JFA_DEVICE int first_col() { return M::lane() % 4 * 2; }
  JFA_DEVICE void fill(float value, Site site = Site::here()) {
    state.writing(site);
    JFA_UNROLL
    for (int i = 0; i < N / 2; ++i) values[i] = value;
    M::settle(values, state, site);  // written here, not behind the next fence of an MMA
  }
  /// fn(row, col, float& value) for each value.
  JFA_DEVICE void apply(auto fn, Site site = Site::here()) {
    state.reading(site);
    state.writing(site);
    const int row = first_row();
    const int col = first_col();
    JFA_UNROLL
    for (int i = 0; i < N / 2; ++i) fn(row + i / 2 % 2 * 8, col + i / 4 * 8 + i % 2, values[i]);
  }

  /// value = fn(value, its row's value) for each value of columns Begin .. End - 1.
  template <int Begin = 0, int End = N, class Fn>
  JFA_DEVICE void map_rows(const RowValues<M>& rows, Fn fn, Site site = Site::here()) {
    state.reading(site);
    state.writing(site);
    JFA_UNROLL
    for (int i = Begin / 2; i < End / 2; ++i) values[i] = fn(values[i], rows.values[i / 2 % 2]);
  }

  /// value = fn(value, its column's value) for each value; `cols` is a 1 x N fp32 tile.
  template <class View, class Fn>
  JFA_DEVICE void map_cols(const View& cols, Fn fn, Site site = Site::here()) {
    static_assert(View::kRows == 1 && View::kCols == N, "one value a column");
    state.reading(site);
    state.writing(site);
    const int col = first_col();
    JFA_UNROLL
    for (int i = 0; i < N / 2; i += 4) {
      const auto pair = cols.template load<2>(0, col + 2 * i, site);
      JFA_UNROLL
      for (int k = 0; k < 4; ++k) values[i + k] = fn(values[i + k], pair.values[k % 2]);
    }
  }

  /// fn over each of the two rows' values in columns Begin .. End - 1, the calling thread's part
  /// only.
  template <int Begin = 0, int End = N, class Fn>
  JFA_DEVICE RowValues<M> fold_rows(Fn fn, Site site = Site::here()) {
    state.reading(site);
    const float* v = values + Begin / 2;
    // Two chains a row: half the latency.
    float chains[4] = {v[0], v[1], v[2], v[3]};
    JFA_UNROLL
    for (int i = 4; i < (End - Begin) / 2; ++i) chains[i % 4] = fn(chains[i % 4], v[i]);
    return {{fn(chains[0], chains[1]), fn(chains[2], chains[3])}};
  }
};

/// A 64 x `K` matrix of 16-bit elements in registers, the `a` of an MMA.
template <class Machine, class T, int K>
struct Operand {
  using M = Machine;
  using Element = T;
  static constexpr int kMmaExtent = 64;
  static constexpr int kMmaDepth = K;
  static constexpr bool kTransposed = false;
  static_assert(K % 16 == 0, "an MMA's depth is a multiple of 16");

  std::uint32_t values[K / 4];
  [[no_unique_address]] typename M::FragmentState state;

  JFA_DEVICE Operand& view() { return *this; }
};

/// What a wait may name.
template <class T>
concept InRegisters = requires(T t) {
  t.state;
};

template <class M, int Rows>
JFA_DEVICE auto across_quad(const RowValues<M, Rows>& part, auto fn, Site site) {
  return part.map([&](float x) {
    x = fn(x, M::shuffle_xor(x, 1, site));
    return fn(x, M::shuffle_xor(x, 2, site));
  });
}

/// The calling thread's part of each row's maximum, of a RowFragment all; what lanes' parts make.
template <class F>
JFA_DEVICE auto partial_row_max(F& x, Site site = Site::here()) {
  return x.fold_rows([](float a, float b) { return F::M::max(a, b); }, site);
}
template <class M, int Rows>
JFA_DEVICE auto max_across_lanes(const RowValues<M, Rows>& part, Site site = Site::here()) {
  if constexpr (Rows == 1) return part;
  return across_quad(
      part, [](float a, float b) { return M::max(a, b); }, site);
}

/// The calling thread's part of each row's sum: summed over a loop, then once `sum_across_lanes`.
template <int Begin, int End, class M, int N>
JFA_DEVICE RowValues<M> partial_row_sum(Fragment<M, N>& x, Site site = Site::here()) {
  return x.template fold_rows<Begin, End>(Sum(), site);
}
template <class M>
JFA_DEVICE RowValues<M> sum_across_lanes(const RowValues<M>& part, Site site = Site::here()) {
  return across_quad(part, Sum(), site);
}

template <class M, int N>
JFA_DEVICE void scale_rows(Fragment<M, N>& x, const RowValues<M>& by, Site site = Site::here()) {
  x.map_rows(by, Product(), site);
}

template <class M, class T, int Count>
JFA_DEVICE void pack_pairs(std::uint32_t* to, const float* from) {
  JFA_UNROLL
  for (int i = 0; i < Count; ++i) to[i] = M::template pack<T>(from[2 * i], from[2 * i + 1]);
}

/// Rounds an accumulator to the operand of the next MMA: the same thread holds the same elements.
template <class M, class T, int K>
JFA_DEVICE void convert(Operand<M, T, K>& to, Fragment<M, K>& from, Site site = Site::here()) {
  from.state.reading(site);
  to.state.writing(site);
  pack_pairs<M, T, K / 4>(to.values, from.values);
}

/// Where the calling lane points stmatrix and ldmatrix, for 16 columns of a 64-row tile.
template <class View>
JFA_DEVICE auto* matrix_row(const View& tile, int first_col) {
  using M = typename View::M;
  return tile.pointer(warp_row<M>() + M::lane() % 16, first_col + M::lane() / 16 * 8);
}

/// Stores a fragment into a 64-row tile, rounded where its elements have 16 bits.
template <class View, class M, int N>
JFA_DEVICE void store_fragment(const View& to, Fragment<M, N>& from, Site site = Site::here()) {
  static_assert(View::kRows == 64 && View::kCols == N, "the tile has the fragment's shape");
  from.state.reading(site);
  if constexpr (sizeof(typename View::Element) == 4) {
    const auto below = to.template rows<56>(8);
    const int row = from.first_row();
    const int col = from.first_col();
    JFA_UNROLL
    for (int i = 0; i < N / 2; i += 4) {
      to.template store<2>(row, col + 2 * i, {from.values[i], from.values[i + 1]}, site);
      below.template store<2>(row, col + 2 * i, {from.values[i + 2], from.values[i + 3]}, site);
    }
  } else {
    JFA_UNROLL
    for (int c = 0; c < N; c += 16) {
      std::uint32_t matrices[4];
      pack_pairs<M, typename View::Element, 4>(matrices, from.values + c / 2);
      M::stmatrix(matrix_row(to, c), matrices, site);
    }
  }
}

/// Loads a 64 x K tile of 16-bit elements into an operand.
template <class M, class T, int K, class View>
JFA_DEVICE void load_operand(Operand<M, T, K>& to, const View& from, Site site = Site::here()) {
  static_assert(View::kRows == 64 && View::kCols == K, "the tile has the operand's shape");
  to.state.writing(site);
  JFA_UNROLL
  for (int c = 0; c < K; c += 16) M::ldmatrix(to.values + c / 4, matrix_row(from, c), site);
}

}  // namespace jfa::inline JFA_BACKEND
