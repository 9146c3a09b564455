// Math of the backward kernels on transposed scores: rows of a fragment are keys, columns queries.
#pragma once

#include "kernels/forward/mask.hpp"
#include "kernels/forward/softmax.hpp"

namespace jfa::inline JFA_BACKEND {

/// NOTE [row statistics]: what the gradient needs of each row of out, made by PrepareBackward: its
/// lse in units of log2, and slope * (rowsum(dout * out) - dlse). They lie in tiles of
/// kStatisticsRows rows of one head of one sequence, [head][tile][lse, delta][row]; sequence b
/// begins at tile (first row + kStatisticsRows * b) / kStatisticsRows. A row that sees nothing, and
/// one behind its sequence's end, has an lse of +inf, so that its P is 0 whatever its scores.
inline constexpr int kStatisticsRows = 64;

/// Notes those of row `row` of a tile, by `lanes` lanes of which the caller is number `lane`;
/// beside a sequence's last row, the rest of the tile. `lse` is in units of log2 or +inf.
template <class M>
JFA_DEVICE void note_statistics(float* tile, int row, float lse, float slope_delta, bool last,
                                int lane, int lanes) {
  if (lane == 0) {
    M::store_global(tile + row, lse);
    M::store_global(tile + kStatisticsRows + row, slope_delta);
  }
  if (!last) return;
  for (int i = row + 1 + lane; i < kStatisticsRows; i += lanes) {
    M::store_global(tile + i, __builtin_inff());
    M::store_global(tile + kStatisticsRows + i, 0.0F);
  }
}
/// Copies those of `Rows` rows, the first of which begin a tile, on one thread: to lse(row) and
/// delta(row). Where the sequence does not have a row, as has(row) says, its first tile comes
/// again: what lies behind is another sequence's, whose NaN must not come here.
template <class M, int Rows>
JFA_DEVICE void load_statistics(const float* from, auto lse, auto delta, Mbarrier& full, auto has) {
  constexpr std::uint32_t kBytes = kStatisticsRows * sizeof(float);
  JFA_UNROLL
  for (int row = 0; row < Rows; row += kStatisticsRows) {
    if (row > 0 && has(row)) from += 2 * kStatisticsRows;
    M::bulk_load(lse(row), from, kBytes, &full);
    M::bulk_load(delta(row), from + kStatisticsRows, kBytes, &full);
  }
}
/// From a natural-log lse.
JFA_DEVICE float noted_lse(float lse) {
  return lse == -__builtin_inff() ? __builtin_inff() : lse * kLog2E;
}

/// Eight elements of 16 bits, two a register. (As elements, each would take one.)
using Eight = Pack<std::uint32_t, 4>;

/// Element `i` of words of two: of Eight, or of an operand in the order of a fragment's values.
template <class M, class T>
JFA_DEVICE float element(const auto& of, int i) {
  return M::to_float(T{static_cast<std::uint16_t>(of.values[i / 2] >> (i % 2 * 16))});
}
/// The sum of products of eight elements each.
template <class M, class T>
JFA_DEVICE float dot(const Eight& a, const Eight& b) {
  float sum = 0;
  JFA_UNROLL
  for (int i = 0; i < 8; ++i) sum += element<M, T>(a, i) * element<M, T>(b, i);
  return sum;
}

/// The first tile of a sequence whose rows of out begin at `row`.
JFA_DEVICE std::int64_t first_statistics_tile(int row, int sequence) {
  return row / kStatisticsRows + sequence;
}
/// Tiles of one head: room for every way to share `rows` rows out to `batch` sequences.
inline std::int64_t statistics_tiles(std::int64_t rows, std::int64_t batch) {
  return rows / kStatisticsRows + batch + 1;
}

/// By what prepared scores are multiplied for units of log2. Unlike the forward kernel, which needs
/// the largest score, this one takes a negative factor as it is.
template <class Scores>
JFA_DEVICE float score_factor(const Scores& scores) {
  return Scores::kBends ? scores.scale() : scores.slope() * kLog2E;
}

/// What becomes 0 of a prepared score.
JFA_DEVICE float hidden_score(float factor) {
  return factor < 0 ? __builtin_inff() : -__builtin_inff();
}

/// Hides from S^T, whose rows are keys from `first_key` on, what the mask hides, and its columns
/// from `queries` on: there, zeros times an infinite key would be NaN.
template <class Mask, class Scores>
JFA_DEVICE void hide_transposed(Scores& s, const Mask& mask, int first_key, int queries,
                                float factor) {
  const float hidden = hidden_score(factor);
  if (queries < Scores::kCols) {
    s.apply([&](int, int col, float& v) { v = col < queries ? v : hidden; });
  }
  if (mask.touches(first_key, Scores::kRows, Scores::kCols)) {
    s.apply([&](int row, int col, float& v) { v = mask.sees(col, first_key + row) ? v : hidden; });
  }
}

/// S^T, prepared and masked, becomes P^T.
template <class S, class View>
JFA_DEVICE void weigh(S& s, float factor, const View& lse) {
  using M = typename S::M;
  s.map_cols(lse, [factor](float x, float l) { return M::exp2(M::fma(x, factor, -l)); });
}

/// By how much each prepared score bends, rounded as P^T is, which saves registers.
template <class T, class Scores, class S>
JFA_DEVICE void keep_bends(auto& to, const S& s, const Scores& scores) {
  using M = typename S::M;
  JFA_UNROLL
  for (int i = 0; i < S::kValues; i += 2) {
    to.values[i / 2] = M::template pack<T>(scores.bend(s.values[i] * scores.scale()),
                                           scores.bend(s.values[i + 1] * scores.scale()));
  }
}

/// dP^T becomes dS^T = P^T bend (slope dP^T - slope delta), with the scores' slope where they do
/// not bend. P^T is taken as rounded for the MMA.
template <class Scores, class T, class S, class View>
JFA_DEVICE void differentiate(S& dp, const auto& p, const auto& bends, float slope,
                              const View& delta) {
  using M = typename S::M;
  dp.map_cols(delta, [slope](float x, float d) { return M::fma(x, slope, -d); });
  JFA_UNROLL
  for (int i = 0; i < S::kValues; ++i) {
    dp.values[i] *= element<M, T>(p, i);
    if constexpr (Scores::kBends) dp.values[i] *= element<M, T>(bends, i);
  }
}

/// How dQ lies in dq_sum and dq_kept: as the threads of a chip's kernel hold it. A Fragment's:
/// NOTE [summed rows]: dq_sum is [head][64 columns, or the last 32][row][column], so that a warp's
/// rows are one piece of memory, which one copy adds to, wherever their sequence begins. 16 columns
/// lie in the order
///   0 1 8 9  2 3 10 11  4 5 12 13  6 7 14 15
/// so that a thread puts four values of a fragment's row at once, and in odd rows each 16 columns
/// change places with the next 16, so that two rows of a warp do not meet in a bank.
struct DqOfFragments {
  static constexpr bool kInOrder = false;
  static JFA_HOST_DEVICE int summed_dim(int head_dim) { return (head_dim + 31) / 32 * 32; }
  /// Of the 64 columns that `column` is one of, how many there are.
  static JFA_DEVICE int summed_width(int head_dim, int column) {
    const int left = summed_dim(head_dim) - column / 64 * 64;
    return left < 64 ? left : 64;
  }
  /// Of `rows` and heads, the place of `column`, in that order, of a row and head.
  static JFA_DEVICE std::int64_t summed_place(int rows, int, int row, int head, int head_dim,
                                              int column) {
    const int columns = head * summed_dim(head_dim) + column / 64 * 64;
    const int in_row = column % 64;
    return std::int64_t{columns} * rows + std::int64_t{row} * summed_width(head_dim, column) +
           in_row;
  }
  /// A kept tile of `head_dim` columns is one fragment of 64 x 64 after another: where that of a
  /// row and column begins, and where it holds columns col and col + 1 of a row; col is even.
  static JFA_DEVICE int kept_part(int row, int column, int head_dim) {
    return (row / 64 * (head_dim / 64) + column / 64) * (64 * 64);
  }
  static JFA_DEVICE int kept_place(int row, int col) {
    const int thread = row % 64 / 16 * 32 + row % 8 * 4 + col / 2 % 4;
    return (col / 8 * 128 + thread) * 4 + row / 8 % 2 * 2;
  }
};
/// Of a RowFragment: rows one after another, which copies add to.
struct DqOfRows {
  static constexpr bool kInOrder = true;
  static JFA_HOST_DEVICE int summed_dim(int head_dim) { return head_dim; }
  static JFA_DEVICE std::int64_t summed_place(int, int heads, int row, int head, int head_dim,
                                              int column) {
    return (std::int64_t{row} * heads + head) * head_dim + column;
  }
  static JFA_DEVICE int kept_part(int, int column, int) { return column / 64 * (64 * 128); }
  static JFA_DEVICE int kept_place(int row, int col) { return (col / 4 * 128 + row) * 4 + col % 4; }
};
/// Elements of dq_sum, room for either.
inline std::int64_t summed_size(std::int64_t rows, int heads, int head_dim) {
  return rows * heads * DqOfFragments::summed_dim(head_dim);
}

/// NOTE [kept tiles]: a fragment is kept in global memory as its threads hold it, four values a
/// step of 128 threads; only the thread that wrote a value reads it.
template <bool Add, class F>
JFA_DEVICE void store_kept(float* to, F& from, Site site = Site::here()) {
  using M = typename F::M;
  from.state.reading(site);
  auto* packs = reinterpret_cast<Pack<float, 4>*>(to) + M::thread_index() % 128;
  JFA_UNROLL
  for (int i = 0; i < F::kValues; i += 4) {
    const float* v = from.values + i;
    const Pack<float, 4> pack{{v[0], v[1], v[2], v[3]}};
    if constexpr (Add) {
      M::reduce_add(packs + 32 * i, pack, site);
    } else {
      M::store_global(packs + 32 * i, pack, site);
    }
  }
}
template <class M, int N>
JFA_DEVICE void load_kept(Fragment<M, N>& to, const float* from, Site site = Site::here()) {
  to.state.writing(site);
  const auto* packs = reinterpret_cast<const Pack<float, 4>*>(from) + M::thread_index() % 128;
  JFA_UNROLL
  for (int i = 0; i < N / 2; i += 4) {
    const auto pack = M::load_global(packs + 32 * i, site);
    JFA_UNROLL
    for (int k = 0; k < 4; ++k) to.values[i + k] = pack.values[k];
  }
}
}  // namespace jfa::inline JFA_BACKEND
