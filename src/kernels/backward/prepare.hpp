// The passes over rows before and after the backward kernels.
#pragma once

#include "kernels/backward/key_blocks.hpp"
#include "kernels/backward/row_places.hpp"
#include "kernels/forward/gaps.hpp"

namespace jfa::inline JFA_BACKEND {

/// What both passes know. `K` is the kernel between them.
template <class K>
struct RowPass {
  using T = typename K::T;
  Matrix<T> out, dout, dq;
  RowVectors lse, dlse;
  OutputRows<T> dk, dv;
  RowPlaces<typename K::M> places;
  int heads;
  int heads_kv;
  int head_dim;
  int* ticket;
  float* statistics;
  std::int64_t head_tiles;
  float* dq_sum;
  int* turns;
  int* handed;
  std::int64_t handed_size;  // ints
  float* dq_kept;
  std::int64_t kept_size;  // elements
  int kept_tiles;          // of a task
  int shares;
  KeyShape shape;
  typename K::Mask::Params mask;
  float slope;  // softmax_scale

  static RowPass of(const BackwardArguments<T>& a) {
    return {a.out,
            a.dout,
            a.dq,
            a.lse,
            a.dlse,
            a.rows_by_keys(a.dk),
            a.rows_by_keys(a.dv),
            {a.q_rows, a.kv_rows, a.batch},
            a.heads_q,
            a.heads_kv,
            a.head_dim,
            a.ticket,
            a.statistics,
            a.head_tiles(),
            a.dq_sum,
            a.turns,
            a.handed,
            a.counts(),
            a.dq_kept,
            K::kept_size(a),
            static_cast<int>(K::kept_tiles(a)),
            a.shares(),
            K::item_shape(a),
            K::Mask::Params::of(a.window, a.lists),
            static_cast<float>(a.softmax_scale)};
  }
  JFA_DEVICE bool broadcast() const { return places.q.offsets.data == nullptr; }
  using Place = typename RowPlaces<typename K::M>::Place;

  // What is to be done for a row.
  static constexpr int kStatistics = 1;
  static constexpr int kSum = 2;    // its dQ adds up in dq_sum
  static constexpr int kZeros = 4;  // nothing else writes its dQ

  JFA_DEVICE int needs(const Place& place) const {
    const int noted = place.kv_length < 0 ? 0 : kStatistics;
    if (broadcast()) return noted;
    if constexpr (K::kFew) return shape.few(place.q_length, place.kv_length) ? noted : 0;
    return noted + (summed(place) ? kSum : written(place) ? 0 : kZeros);
  }
  JFA_DEVICE bool summed(const Place& place) const {
    return K::Mask::kListed ? place.kv_length > 0 : shape.summed(place.kv_length);
  }
  /// Whether the kernel writes the row's dQ, where it is not summed.
  JFA_DEVICE bool written(const Place& place) const {
    if (place.kv_length <= 0) return false;
    const Range tiles = K::tiles(mask, 0, place.kv_length, {place.q_length, place.kv_length});
    const int tile = place.row / K::kQueries;
    return tile >= tiles.begin && tile < tiles.end;
  }
  JFA_DEVICE float* sum_at(std::int64_t row, int head, int column) const {
    return dq_sum + K::DqLayout::summed_place(places.q.rows, heads, static_cast<int>(row), head,
                                              head_dim, column);
  }
};

/// Before: statistics of rows; zeros in the ticket, in the turns, in partners' counts, in dq_sum
/// where it is used, in dq where no block of keys writes it, and in the rows of dk and dv that
/// belong to no sequence. For a kernel of few queries only their statistics, and the ticket.
template <class K>
struct PrepareBackward {
  using M = typename K::M;
  using T = typename K::T;
  using Params = RowPass<K>;
  using Places = RowPlaces<M>;
  using Place = typename Places::Place;
  using Visit = typename Places::Visit;
  using Smem = typename Places::Smem;
  static constexpr int kThreads = 256;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 4;
  static constexpr int kParts = K::C.head_dim > 64 ? 2 : 1;  // of a lane, 8 elements each
  static constexpr int kLanes = K::C.head_dim / 8 / kParts;  // of a row and head
  static_assert(32 % kLanes == 0, "rows do not cross warps");

  struct Pass {
    static constexpr int kRows = 64;
    static constexpr int kAtOnce = 2 / kParts;
    struct Loaded {
      Eight out[kParts], dout[kParts];
      float lse, dlse;
    };

    const Params& p;

    JFA_DEVICE int needs(const Place& place) const { return p.needs(place); }

    /// The first column of a lane's part.
    static JFA_DEVICE int column(const Visit& v, int part) { return 8 * (v.lane + kLanes * part); }

    JFA_DEVICE Loaded load(const Visit& v) const {
      Loaded loaded{};
      if ((v.needs & Params::kStatistics) == 0) return loaded;
      const T* out = p.out.at(v.row, v.head);
      const T* dout = p.dout.at(v.row, v.head);
      JFA_UNROLL
      for (int i = 0; i < kParts; ++i) {
        if (column(v, i) >= p.head_dim) continue;
        loaded.out[i] = M::load_global(reinterpret_cast<const Eight*>(out + column(v, i)));
        loaded.dout[i] = M::load_global(reinterpret_cast<const Eight*>(dout + column(v, i)));
      }
      if (v.lane == 0) {
        loaded.lse = M::load_global(p.lse.data + v.head * p.lse.head_stride + v.row);
        if (p.dlse.data != nullptr) {
          loaded.dlse = M::load_global(p.dlse.data + v.head * p.dlse.head_stride + v.row);
        }
      }
      return loaded;
    }

    JFA_DEVICE void use(const Visit& v, const Loaded& loaded) const {
      float delta = 0;
      JFA_UNROLL
      for (int i = 0; i < kParts; ++i) delta += dot<M, T>(loaded.out[i], loaded.dout[i]);
      JFA_UNROLL
      for (int step = kLanes / 2; step > 0; step /= 2) delta += M::shuffle_xor(delta, step);
      if ((v.needs & Params::kStatistics) != 0) note(v, loaded.lse, delta - loaded.dlse);
      JFA_UNROLL
      for (int i = 0; i < kParts; ++i) zero_dq(v, column(v, i));
    }
    /// Eight columns of dq_sum, or of dq, where the row needs it.
    JFA_DEVICE void zero_dq(const Visit& v, int column) const {
      if ((v.needs & Params::kSum) != 0 && column < K::DqLayout::summed_dim(p.head_dim)) {
        M::store_global(reinterpret_cast<Pack<float, 8>*>(p.sum_at(v.row, v.head, column)),
                        Pack<float, 8>{});
      } else if ((v.needs & Params::kZeros) != 0 && column < p.head_dim) {
        M::store_global(reinterpret_cast<Pack<T, 8>*>(p.dq.at(v.row, v.head) + column),
                        Pack<T, 8>{});
      }
    }

    /// The row's statistics; a sequence's last row also fills its tile up.
    JFA_DEVICE void note(const Visit& v, float lse, float delta) const {
      const Place place = M::load_shared(v.place);
      const int number = place.statistics + place.row / kStatisticsRows;
      float* tile = p.statistics + (v.head * p.head_tiles + number) * 2 * kStatisticsRows;
      note_statistics<M>(tile, place.row % kStatisticsRows, noted_lse(lse), p.slope * delta,
                         place.row == place.q_length - 1, v.lane, kLanes);
    }
  };

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    p.places.template for_each<kThreads, kLanes>(smem, p.heads, Pass{p});
    const std::int64_t first = std::int64_t{kThreads} * M::block_index() + M::thread_index();
    const std::int64_t step = std::int64_t{kThreads} * M::grid_size();
    if (first == 0) M::store_global(p.ticket, 0);
    if constexpr (!K::kFew) clear(p, first, step);
  }

  /// Zeros in what is no row's: turns, counts, dq_kept; and in rows of no sequence.
  static JFA_DEVICE void clear(const Params& p, std::int64_t first, std::int64_t step) {
    for (std::int64_t i = first; p.turns != nullptr && i < p.heads * p.head_tiles; i += step) {
      M::store_global(p.turns + i, 0);
    }
    for (std::int64_t i = first; i < p.handed_size; i += step) M::store_global(p.handed + i, 0);
    const std::int64_t kept = p.broadcast() && K::kAddsToKept ? p.kept_size : 0;
    for (std::int64_t i = first; 4 * i < kept; i += step) {
      M::store_global(reinterpret_cast<Pack<float, 4>*>(p.dq_kept) + i, Pack<float, 4>{});
    }
    FillGaps<M, T>{p.dk, M::thread_index(), kThreads}.run(p.places.kv, p.places.batch);
    FillGaps<M, T>{p.dv, M::thread_index(), kThreads}.run(p.places.kv, p.places.batch);
  }
};

/// After: dq from dq_sum.
template <class K>
struct FinishBackward {
  using M = typename K::M;
  using T = typename K::T;
  using Params = RowPass<K>;
  using Places = RowPlaces<M>;
  using Place = typename Places::Place;
  using Visit = typename Places::Visit;
  using Smem = typename Places::Smem;
  static constexpr int kThreads = 256;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kLanes = K::C.head_dim / 8;

  static JFA_DEVICE void write(const Params& p, std::int64_t row, int head, int column,
                               const float (&x)[8]) {
    Pack<std::uint32_t, 4> to;
    JFA_UNROLL
    for (int i = 0; i < 4; ++i) to.values[i] = M::template pack<T>(x[2 * i], x[2 * i + 1]);
    M::store_global(reinterpret_cast<Pack<std::uint32_t, 4>*>(p.dq.at(row, head) + column), to);
  }

  static JFA_DEVICE void write_four(const Params& p, std::int64_t row, int head, int column,
                                    const float (&x)[4]) {
    M::store_global(
        reinterpret_cast<Pack<std::uint32_t, 2>*>(p.dq.at(row, head) + column),
        Pack<std::uint32_t, 2>{{M::template pack<T>(x[0], x[1]), M::template pack<T>(x[2], x[3])}});
  }

  /// Adds 8 columns of a row of a kept tile.
  static JFA_DEVICE void add_kept(float (&to)[8], const float* tile, int row, int column) {
    const float* part = tile + K::DqLayout::kept_part(row, column, K::C.head_dim);
    JFA_UNROLL
    for (int k = 0; k < 8; k += 2) {
      const auto pair = M::load_global(reinterpret_cast<const Pack<float, 2>*>(
          part + K::DqLayout::kept_place(row, column % 64 + k)));
      to[k] += pair.values[0];
      to[k + 1] += pair.values[1];
    }
  }

  /// With broadcast_q: dq is the sum over tasks, in their order.
  static JFA_DEVICE void add_up(const Params& p) {
    constexpr int kTile = K::kQueries * K::C.head_dim;
    const int group = p.heads / p.heads_kv;
    const int tiles = p.kept_tiles / group;
    const std::int64_t pieces = std::int64_t{p.places.q.rows} * p.heads * kLanes;
    for (std::int64_t i = std::int64_t{kThreads} * M::block_index() + M::thread_index(); i < pieces;
         i += std::int64_t{kThreads} * M::grid_size()) {
      const int column = static_cast<int>(i % kLanes) * 8;
      const auto head = static_cast<int>(i / kLanes % p.heads);
      const auto row = static_cast<int>(i / kLanes / p.heads);
      if (column >= p.head_dim) continue;
      float sum[8] = {};
      for (int share = 0; share < p.shares; ++share) {
        const std::int64_t task = head / group * p.shares + share;
        const std::int64_t tile = task * p.kept_tiles + head % group * tiles + row / K::kQueries;
        add_kept(sum, p.dq_kept + tile * kTile, row % K::kQueries, column);
      }
      write(p, row, head, column, sum);
    }
  }

  struct Pass {
    static constexpr int kRows = 128;
    static constexpr int kAtOnce = 2;
    using Loaded = Pack<float, 8>;

    const Params& p;

    JFA_DEVICE int needs(const Place& place) const { return p.needs(place) & Params::kSum; }

    JFA_DEVICE bool takes(const Visit& v) const {
      return v.needs != 0 && 8 * v.lane < K::DqLayout::summed_dim(p.head_dim);
    }

    JFA_DEVICE Loaded load(const Visit& v) const {
      if (!takes(v)) return {};
      return M::load_global(reinterpret_cast<const Loaded*>(p.sum_at(v.row, v.head, 8 * v.lane)));
    }

    /// Columns first, first + 1, first + 8, first + 9 and the four two columns on: NOTE [summed
    /// rows].
    JFA_DEVICE void use(const Visit& v, const Loaded& loaded) const {
      if (!takes(v)) return;
      const auto& x = loaded.values;
      if constexpr (K::DqLayout::kInOrder) return write(p, v.row, v.head, 8 * v.lane, x);
      const int at = v.lane ^ static_cast<int>(v.row % 2) * 2;
      const int first = at / 2 * 16 + at % 2 * 4;
      if (first < p.head_dim) write_four(p, v.row, v.head, first, {x[0], x[1], x[4], x[5]});
      if (first + 8 < p.head_dim) {
        write_four(p, v.row, v.head, first + 8, {x[2], x[3], x[6], x[7]});
      }
    }
  };

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    if (p.broadcast()) {
      add_up(p);
      return;
    }
    p.places.template for_each<kThreads, kLanes>(smem, p.heads, Pass{p});
  }
};

}  // namespace jfa::inline JFA_BACKEND
