// Math of the backward kernels on transposed scores: rows of a fragment are keys, columns queries.
#pragma once

#include "kernels/forward/mask.hpp"
#include "kernels/forward/softmax.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// NOTE [row statistics]: what the gradient needs of each row of out, made by PrepareBackward: its
/// lse in units of log2, and slope * (rowsum(dout * out) - dlse). They lie in tiles of
/// kStatisticsRows rows of one head of one sequence, [head][tile][lse, delta][row]; sequence b
/// begins at tile (first row + kStatisticsRows * b) / kStatisticsRows. A row that sees nothing, and
/// one behind its sequence's end, has an lse of +inf, so that its P is 0 whatever its scores.
inline constexpr int kStatisticsRows = 64;

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

/// Hides from S^T, whose rows are keys from `first_key` on, what the mask hides, and its columns
/// from `queries` on: there, zeros times an infinite key would be NaN.
template <class Mask, class M, int N>
JFA_DEVICE void hide_transposed(Fragment<M, N>& s, const Mask& mask, int first_key, int queries,
                                float factor) {
  const float hidden = factor < 0 ? __builtin_inff() : -__builtin_inff();
  if (queries < N) {
    s.apply([&](int, int col, float& v) { v = col < queries ? v : hidden; });
  }
  if (mask.touches(first_key, Fragment<M, N>::kRows)) {
    s.apply([&](int row, int col, float& v) { v = mask.sees(col, first_key + row) ? v : hidden; });
  }
}

/// Element `i` of an operand, in the order of a fragment's values.
template <class M, class T, int K>
JFA_DEVICE float element(const Operand<M, T, K>& of, int i) {
  return M::to_float(T{static_cast<std::uint16_t>(of.values[i / 2] >> (i % 2 * 16))});
}

/// S^T, prepared and masked, becomes P^T.
template <class M, int N, class View>
JFA_DEVICE void weigh(Fragment<M, N>& s, float factor, const View& lse) {
  s.map_cols(lse, [factor](float x, float l) { return M::exp2(M::fma(x, factor, -l)); });
}

/// By how much each prepared score bends, rounded as P^T is, which saves registers.
template <class Scores, class M, class T, int N>
JFA_DEVICE void keep_bends(Operand<M, T, N>& to, const Fragment<M, N>& s, const Scores& scores) {
  JFA_UNROLL
  for (int i = 0; i < N / 2; i += 2) {
    to.values[i / 2] = M::template pack<T>(scores.bend(s.values[i] * scores.scale()),
                                           scores.bend(s.values[i + 1] * scores.scale()));
  }
}

/// dP^T becomes dS^T = P^T bend (slope dP^T - slope delta), with the scores' slope where they do
/// not bend. P^T is taken as rounded for the MMA.
template <class Scores, class M, class T, int N, class View>
JFA_DEVICE void differentiate(Fragment<M, N>& dp, const Operand<M, T, N>& p,
                              const Operand<M, T, Scores::kBends ? N : 16>& bends, float slope,
                              const View& delta) {
  dp.map_cols(delta, [slope](float x, float d) { return M::fma(x, slope, -d); });
  JFA_UNROLL
  for (int i = 0; i < N / 2; ++i) {
    dp.values[i] *= element(p, i);
    if constexpr (Scores::kBends) dp.values[i] *= element(bends, i);
  }
}

/// NOTE [summed rows]: dq_sum holds rows in pairs, [row / 2][head][column / 16][row % 2][16], so
/// that one addition of a warp fills lines of 128 bytes, and those 16 columns in the order
///   0 1 8 9  2 3 10 11  4 5 12 13  6 7 14 15
/// so that a thread adds four values of a fragment's row at once. Rows are as long as summed_dim.
JFA_HOST_DEVICE int summed_dim(int head_dim) { return (head_dim + 15) / 16 * 16; }
JFA_HOST_DEVICE std::int64_t summed_size(std::int64_t rows, int heads, int head_dim) {
  return (rows + 1) / 2 * 2 * heads * summed_dim(head_dim);
}
/// Of `heads`, the place of `column`, in that order, of a row and head.
JFA_DEVICE std::int64_t summed_place(std::int64_t row, int heads, int head, int head_dim,
                                     int column) {
  const int dim = summed_dim(head_dim);
  return 2 * ((row / 2 * heads + head) * dim + column / 16 * 16) + row % 2 * 16 + column % 16;
}

/// NOTE [kept tiles]: a fragment is kept in global memory as its threads hold it, four values a
/// step of 128 threads; only the thread that wrote a value reads it.
template <bool Add, class M, int N>
JFA_DEVICE void store_kept(float* to, Fragment<M, N>& from, Site site = Site::here()) {
  from.state.reading(site);
  auto* packs = reinterpret_cast<Pack<float, 4>*>(to) + M::thread_index() % 128;
  JFA_UNROLL
  for (int i = 0; i < N / 2; i += 4) {
    const float(&v)[N / 2] = from.values;
    const Pack<float, 4> pack{{v[i], v[i + 1], v[i + 2], v[i + 3]}};
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
/// Where a kept 64 x 64 fragment holds columns col and col + 1 of a row; col is even.
JFA_DEVICE int kept_place(int row, int col) {
  const int thread = row / 16 * 32 + row % 8 * 4 + col / 2 % 4;
  return (col / 8 * 128 + thread) * 4 + row / 8 % 2 * 2;
}

}  // namespace JFA_BACKEND
}  // namespace jfa
