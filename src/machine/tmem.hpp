// Tensor memory: 128 lanes of 512 columns of 32 bits that a block has beside its shared memory.
// MMAs keep accumulators there and may read their left operand from it. Of Blackwell (tcgen05).
//   M::tensor_fence_after();  // what others did to it, before what this thread does
//   M::tensor_fence_before();  // what this thread did and has waited for, before it tells others
// https://docs.nvidia.com/cuda/parallel-thread-execution/#tensor-memory
#pragma once

#include <bit>

#include "machine/barriers.hpp"
#include "machine/mma.hpp"

namespace jfa::inline JFA_BACKEND {

/// A matrix in tensor memory of `Rows` rows and `Cols` columns, row r in lane r; 16-bit elements in
/// pairs. 128 rows; 256 over a pair of blocks, 128 in each; or 32, what a warp of a warpgroup can
/// load and store, row r of the matrix in thread r of the warpgroup. As an MMA's `a` its columns
/// run along the depth.
template <class Machine, class T, int Cols, int Rows = 128>
struct TmemView {
  using M = Machine;
  using Element = T;
  static constexpr int kMmaExtent = Rows == 32 ? 32 : 128;  // of a block
  static constexpr int kMmaDepth = Cols;
  static constexpr bool kTransposed = false;
  std::uint32_t address;  // lane << 16 | column

  JFA_DEVICE TmemView view() const { return *this; }
  /// `Count` columns from column `first`.
  template <int Count>
  JFA_DEVICE TmemView<M, T, Count, Rows> cols(int first) const {
    return {address + static_cast<std::uint32_t>(first * static_cast<int>(sizeof(T)) / 4)};
  }
  /// The same place with elements of another type: P over S.
  template <class Other>
  JFA_DEVICE TmemView<M, Other, Cols, Rows> as() const {
    return {address};
  }
  JFA_DEVICE TmemView<M, T, Cols, 32> own_rows() const {
    return {address + (static_cast<std::uint32_t>(M::warp_index() & 3) << (5 + 16))};
  }
};
template <class M, class T, int Cols>
using TmemRows = TmemView<M, T, Cols, 32>;

/// `Count` matrices of `Cols` columns side by side, a part of a TmemMap; `Blocks`: 2 for a pair's.
template <Name N, class T, int Cols, int Count = 1, int Blocks = 1>
struct Columns {
  static constexpr Name kName = N;
  static constexpr int kWidth = Cols * static_cast<int>(sizeof(T)) / 4;
  static constexpr int kTotal = Count * kWidth;
  static constexpr int kBlocks = Blocks;
  template <class M>
  using View = TmemView<M, T, Cols, 128 * Blocks>;
};

/// A kernel's map of tensor memory: its parts one after the other.
template <class Machine, class... Parts>
struct TmemMap {
  using M = Machine;
  static constexpr int kUsed = (Parts::kTotal + ...);
  static_assert(kUsed <= 512, "tensor memory has 512 columns");
  static constexpr int kBlocks = (Parts::kBlocks + ...) == sizeof...(Parts) ? 1 : 2;
  static_assert(((Parts::kBlocks == kBlocks) && ...), "a kernel's MMAs are all of a pair, or none");
  std::uint32_t base;

  /// Columns to allocate: a power of two.
  static consteval int allocated() { return std::bit_ceil(kUsed < 32 ? 32u : kUsed + 0u); }
  /// Matrix `i` of the part of this name.
  template <Name N>
  JFA_DEVICE auto at(int i = 0) const {
    return find<N, 0, Parts...>(i);
  }

 private:
  template <Name N, int First, class Part, class... Rest>
  JFA_DEVICE auto find(int i) const {
    if constexpr (Part::kName == N) {
      return typename Part::template View<M>{base +
                                             static_cast<std::uint32_t>(First + i * Part::kWidth)};
    } else {
      return find<N, First + Part::kTotal, Rest...>(i);
    }
  }
};

/// The thread of a warp that speaks to the tensor core: of a pair, in its first block.
template <class M, int Blocks>
JFA_DEVICE bool issues(Site site) {
  if (Blocks > 1 && M::cluster_rank() != 0) return false;
  return M::elect(site);
}

/// The block's first warp allocates a map's columns, `init` initializes barriers, all threads run
/// fn(map), and the warp frees them. `address` is in shared memory. A pair's blocks, which are a
/// cluster, do so together.
template <class Map>
JFA_DEVICE void with_tmem(std::uint32_t& address, auto init, auto fn, Site site = Site::here()) {
  using M = typename Map::M;
  constexpr int kBlocks = Map::kBlocks;
  const bool allocates = M::warp_index() == 0;
  if (allocates) {
    M::template tensor_allocate<kBlocks>(&address, Map::allocated(), site);
    M::template tensor_relinquish<kBlocks>(site);
  }
  init_barriers<M, kBlocks>(init, site);
  const Map map{known<M>(address, site)};
  fn(map);
  kBlocks == 1 ? M::sync_block(site) : M::sync_cluster(site);
  if (allocates) M::template tensor_free<kBlocks>(map.base, Map::allocated(), site);
}

/// Of tcgen05.mma m`rows` n k16 with fp32 accumulators.
/// https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-instruction-descriptor
constexpr JFA_HOST_DEVICE std::uint32_t instruction_descriptor(MmaShape shape, int rows) {
  const std::uint32_t type = shape.type == ElementType::Bf16 ? 1 : 0;
  return 1u << 4 | type << 7 | type << 10 | std::uint32_t{shape.transpose_a} << 15 |
         std::uint32_t{shape.transpose_b} << 16 | static_cast<std::uint32_t>(shape.n / 8) << 17 |
         static_cast<std::uint32_t>(rows / 16) << 24;
}

// As for operands in shared memory; a k16 step is 8 columns.
template <class M, class T, int Cols, int Rows>
JFA_DEVICE std::uint32_t mma_start(const TmemView<M, T, Cols, Rows>& view) {
  return view.address;
}
template <class View>
requires requires(View v) { v.address; }
JFA_DEVICE std::uint32_t mma_step(std::uint32_t start, int k) {
  return start + static_cast<std::uint32_t>(8 * k);
}

/// d += a b^T (d = a b^T unless `accumulate`), asynchronously: `b` is an N x K tile or view, `a` a
/// 128 x K one or a TmemView; `transposed(x)` stands for a tile stored as K rows. Called by a warp,
/// one thread of which issues the MMA; those of one warp execute in order. A barrier that
/// MmaDone opens says when it is complete. NOTE [pairs]: with a pair's `d`, a warp of each block
/// calls it, and the first block's issues; each block holds its 128 rows of `a` and half of `b`, at
/// the same places, and both halves must be there before.
/// https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-mma-instructions-mma
template <class M, int N, int Rows, class A, class B>
JFA_DEVICE void mma(TmemView<M, float, N, Rows> d, A&& a, B&& b, bool accumulate = true,
                    Site site = Site::here()) {
  const auto left = a.view();
  const auto right = b.view();
  using Left = std::remove_const_t<decltype(left)>;
  using Right = std::remove_const_t<decltype(right)>;
  constexpr int kBlocks = Rows / 128;
  static_assert(__is_same(typename Left::Element, typename Right::Element), "one type for both");
  static_assert(kBlocks > 0 && Left::kMmaExtent == 128, "an MMA has 128 rows of each block");
  static_assert(Right::kMmaExtent * kBlocks == N && Right::kMmaDepth == Left::kMmaDepth,
                "b must be N x K, or K x N inside transposed(); of a pair, half of N in each");
  static_assert(N % (16 * kBlocks) == 0 && N <= 256, "N is a multiple of 16, or 32, up to 256");
  constexpr std::uint32_t kInstruction = instruction_descriptor(
      {kElementType<typename Left::Element>, N, Left::kTransposed, Right::kTransposed}, Rows);
  const auto a_start = mma_start(left);
  const std::uint32_t b_start = mma_start(right);
  if (!issues<M, kBlocks>(site)) return;
  JFA_UNROLL
  for (int k = 0; k < Left::kMmaDepth / 16; ++k) {
    M::template tensor_mma<kBlocks>(d.address, mma_step<Left>(a_start, k),
                                    mma_step<Right>(b_start, k), kInstruction, k > 0 || accumulate,
                                    site);
  }
}

/// Who arrives: the tensor core, once all MMAs that the calling warp has issued are complete; of a
/// pair of blocks, at both blocks' barriers.
template <int Blocks>
struct MmaDoneOf {
  static constexpr int kArrivals = 1;
  static constexpr Scope kScope = Blocks == 1 ? Scope::Block : Scope::Cluster;
  template <class M>
  static JFA_DEVICE void arrive(Mbarrier& barrier, Site site) {
    if (issues<M, Blocks>(site)) M::template tensor_commit<Blocks>(&barrier, site);
  }
};
using MmaDone = MmaDoneOf<1>;

/// A 128 x `N` fp32 matrix in the registers of a warpgroup, row t in thread t. Its indices are
/// compile-time constants, as a Fragment's.
template <class Machine, int N>
struct RowFragment {
  using M = Machine;
  static constexpr int kRows = 128;
  static constexpr int kCols = N;
  static constexpr int kValues = N;
  using Values = RowValues<M, 1>;

  float values[N];
  [[no_unique_address]] typename M::FragmentState state;

  static JFA_DEVICE int row() { return M::thread_index() & 127; }
  JFA_DEVICE void fill(float value, Site site = Site::here()) {
    state.writing(site);
    JFA_UNROLL
    for (float& x : values) x = value;
  }
  /// fn(row, col, float& value) for each value.
  JFA_DEVICE void apply(auto fn, Site site = Site::here()) {
    state.reading(site);
    state.writing(site);
    const int own = row();
    JFA_UNROLL
    for (int i = 0; i < N; ++i) fn(own, i, values[i]);
  }
  /// value = fn(value, the row's value) for each value of columns Begin .. End - 1.
  template <int Begin = 0, int End = N, class Fn>
  JFA_DEVICE void map_rows(const Values& of_row, Fn fn, Site site = Site::here()) {
    state.reading(site);
    state.writing(site);
    JFA_UNROLL
    for (int i = Begin; i < End; ++i) values[i] = fn(values[i], of_row.values[0]);
  }
  /// value = fn(value, its column's value) for each value; `cols` is a 1 x N fp32 tile.
  template <class View, class Fn>
  JFA_DEVICE void map_cols(const View& cols, Fn fn, Site site = Site::here()) {
    static_assert(View::kRows == 1 && View::kCols == N, "one value a column");
    state.reading(site);
    state.writing(site);
    JFA_UNROLL
    for (int i = 0; i < N; i += 4) {
      const auto four = cols.template load<4>(0, i, site);
      JFA_UNROLL
      for (int k = 0; k < 4; ++k) values[i + k] = fn(values[i + k], four.values[k]);
    }
  }
  /// fn over the row's values in columns Begin .. End - 1.
  template <int Begin = 0, int End = N, class Fn>
  JFA_DEVICE Values fold_rows(Fn fn, Site site = Site::here()) {
    state.reading(site);
    const float* v = values + Begin;
    // Four chains: a quarter of the latency.
    float chains[4] = {v[0], v[1], v[2], v[3]};
    JFA_UNROLL
    for (int i = 4; i < End - Begin; ++i) chains[i % 4] = fn(chains[i % 4], v[i]);
    return {{fn(fn(chains[0], chains[1]), fn(chains[2], chains[3]))}};
  }
};

/// A 128 x `N` matrix of 16-bit elements in the registers of a warpgroup, row t in thread t.
template <class Machine, class T, int N>
struct RowOperand {
  using M = Machine;
  std::uint32_t values[N / 2];
};

/// Rounds a fragment to 16 bits.
template <class M, class T, int N>
JFA_DEVICE void convert(RowOperand<M, T, N>& to, RowFragment<M, N>& from,
                        Site site = Site::here()) {
  from.state.reading(site);
  pack_pairs<M, T, N / 2>(to.values, from.values);
}

/// Stores rows into columns `first_col` and up of a 128-row tile, 16 bytes at a time.
template <class View, class M, class T, int N>
JFA_DEVICE void store_fragment(const View& to, const RowOperand<M, T, N>& from, int first_col = 0,
                               Site site = Site::here()) {
  static_assert(View::kRows == 128 && View::kCols >= N, "the tile has a row a thread");
  JFA_UNROLL
  for (int c = 0; c < N; c += 8) {
    const std::uint32_t* v = from.values + c / 2;
    const Pack<std::uint32_t, 4> pairs{{v[0], v[1], v[2], v[3]}};
    to.template store<8>(RowFragment<M, N>::row(), first_col + c,
                         __builtin_bit_cast(Pack<T, 8>, pairs), site);
  }
}
/// The same, rounded where the tile's elements have 16 bits.
template <class View, class M, int N>
JFA_DEVICE void store_fragment(const View& to, RowFragment<M, N>& from, int first_col = 0,
                               Site site = Site::here()) {
  using T = typename View::Element;
  if constexpr (sizeof(T) == 4) {
    static_assert(View::kRows == 128 && View::kCols >= N, "the tile has a row a thread");
    from.state.reading(site);
    JFA_UNROLL
    for (int c = 0; c < N; c += 4) {
      const float* v = from.values + c;
      to.template store<4>(from.row(), first_col + c, {{v[0], v[1], v[2], v[3]}}, site);
    }
  } else {
    RowOperand<M, T, N> rounded;
    convert(rounded, from, site);
    store_fragment(to, rounded, first_col, site);
  }
}

/// Registers that one load or store moves. They must be neighbours: more at once leave too few.
template <int Words>
inline constexpr int kTmemChunk = Words % 32 == 0 ? 32 : 16;

/// Loads rows into registers, asynchronously: tmem_wait(to) before `to` is touched or the place is
/// given away.
/// https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-instructions-tcgen05-ld
template <class M, int N>
JFA_DEVICE void tmem_load(RowFragment<M, N>& to, TmemRows<M, float, N> from,
                          Site site = Site::here()) {
  constexpr int kChunk = kTmemChunk<N>;
  static_assert(N % kChunk == 0, "columns are loaded 16 at a time");
  to.state.writing(site);
  JFA_UNROLL
  for (int c = 0; c < N; c += kChunk) {
    M::template tensor_load<kChunk>(to.values + c, from.address + static_cast<std::uint32_t>(c),
                                    to.state, site);
  }
}

/// The calling warp's loads are complete.
template <class M, int N>
JFA_DEVICE void tmem_wait(RowFragment<M, N>& loaded, Site site = Site::here()) {
  M::tensor_wait_loads(site);
  M::settle(loaded.values, loaded.state, site);
}

template <class M, int Words>
JFA_DEVICE void tmem_store_words(std::uint32_t address, const auto* from, Site site) {
  constexpr int kChunk = kTmemChunk<Words>;
  static_assert(Words % kChunk == 0, "columns are stored 16 at a time");
  JFA_UNROLL
  for (int c = 0; c < Words; c += kChunk) {
    M::template tensor_store<kChunk>(address + static_cast<std::uint32_t>(c), from + c, site);
  }
}

/// Stores rows from registers, rounded where elements have 16 bits, asynchronously:
/// M::tensor_wait_stores() before others are told.
/// https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-instructions-tcgen05-st
template <class M, class T, int N>
JFA_DEVICE void tmem_store(TmemRows<M, T, N> to, const RowOperand<M, T, N>& from,
                           Site site = Site::here()) {
  tmem_store_words<M, N / 2>(to.address, from.values, site);
}
template <class M, class T, int N>
JFA_DEVICE void tmem_store(TmemRows<M, T, N> to, RowFragment<M, N>& from,
                           Site site = Site::here()) {
  if constexpr (sizeof(T) == 4) {
    from.state.reading(site);
    tmem_store_words<M, N>(to.address, from.values, site);
  } else {
    RowOperand<M, T, N> rounded;
    convert(rounded, from, site);
    tmem_store(to, rounded, site);
  }
}

}  // namespace jfa::inline JFA_BACKEND
