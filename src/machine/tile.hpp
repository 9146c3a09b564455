// Tiles: matrices in shared memory, laid out as tensor maps and wgmma expect them.
#pragma once

#include <type_traits>

#include "machine/types.hpp"

namespace jfa::inline JFA_BACKEND {

/// A part of a Tile: `Rows` x `Cols` elements. A swizzled tile is stored in panels as wide as its
/// swizzle, each `PanelRows` rows of `kPanelCols` elements; an unswizzled one is a single panel.
template <class Machine, class T, int Rows, int Cols, Swizzle S, int PanelRows>
struct TileView {
  using M = Machine;
  using Element = T;
  static constexpr int kRows = Rows;
  static constexpr int kCols = Cols;
  static constexpr Swizzle kSwizzle = S;
  static constexpr int kSize = static_cast<int>(sizeof(T));
  static constexpr int kPanelCols = S == Swizzle::None ? Cols : static_cast<int>(S) / kSize;
  static constexpr int kPanels = Cols / kPanelCols;
  static constexpr int kPitch = kPanelCols * kSize;       // bytes from row to row
  static constexpr int kPanelBytes = PanelRows * kPitch;  // bytes from panel to panel
  static constexpr bool kTransposed = false;
  static_assert(Cols % kPanelCols == 0, "columns must fill whole panels of the swizzle's width");

  T* base;

  JFA_DEVICE TileView view() const { return *this; }
  /// `Count` rows from row `first`, a multiple of 8 (the swizzle repeats every 8 rows).
  template <int Count>
  JFA_DEVICE auto rows(int first) const {
    static_assert(Count % 8 == 0, "a view starts and ends at a multiple of 8 rows");
    return TileView<M, T, Count, Cols, S, PanelRows>{base + first * kPanelCols};
  }
  /// `Count` columns from column `first`, both multiples of kPanelCols.
  template <int Count>
  JFA_DEVICE auto cols(int first) const {
    static_assert(S != Swizzle::None, "only a swizzled tile can be split by columns");
    return TileView<M, T, Rows, Count, S, PanelRows>{base + first * PanelRows};
  }

  JFA_DEVICE T* panel(int index) const { return base + index * (kPanelBytes / kSize); }
  /// Where element (row, col) lies.
  JFA_DEVICE T* pointer(int row, int col) const {
    const int panel = S == Swizzle::None ? 0 : col / kPanelCols;
    const int byte = (col - panel * kPanelCols) * kSize;
    constexpr int kChunks = static_cast<int>(S) / 16;
    const int flip = S == Swizzle::None ? 0 : ((row * kPitch >> 7) & (kChunks - 1)) << 4;
    const int across = panel * kPanelBytes + (byte ^ flip);
    return reinterpret_cast<T*>(reinterpret_cast<char*>(base) + row * kPitch + across);
  }
  /// `Count` neighbours in a row, one access (at most 16 bytes, aligned to their size).
  template <int Count = 1>
  JFA_DEVICE Pack<T, Count> load(int row, int col, Site site = Site::here()) const {
    return M::load_shared(reinterpret_cast<const Pack<T, Count>*>(pointer(row, col)), site);
  }
  template <int Count = 1>
  JFA_DEVICE void store(int row, int col, Pack<T, Count> values, Site site = Site::here()) const {
    M::store_shared(reinterpret_cast<Pack<T, Count>*>(pointer(row, col)), values, site);
  }

  /// As an MMA operand whose rows run along M or N and whose columns run along the depth.
  static constexpr int kMmaExtent = Rows;
  static constexpr int kMmaDepth = Cols;
  static constexpr JFA_HOST_DEVICE int mma_step_bytes(int k) {
    return k * 16 / kPanelCols * kPanelBytes + k * 16 % kPanelCols * kSize;
  }
  static constexpr int kMmaLeadingBytes = 16;  // not used by swizzled layouts along the depth
};

/// A view whose rows run along the depth (PTX "MN-major"): V in P V, dS in its transpose times Q.
template <class View>
struct TransposedView : View {
  JFA_DEVICE TransposedView view() const { return *this; }
  static constexpr bool kTransposed = true;
  static constexpr int kMmaExtent = View::kCols;
  static constexpr int kMmaDepth = View::kRows;
  static constexpr JFA_HOST_DEVICE int mma_step_bytes(int k) { return k * 16 * View::kPitch; }
  static constexpr int kMmaLeadingBytes = View::kPanelBytes;  // from one panel to the next
};

/// A `Rows` x `Cols` matrix in shared memory, a member of a kernel's Smem.
template <class M, class T, int Rows, int Cols, Swizzle S = Swizzle::B128>
struct alignas(S == Swizzle::None ? 128 : 8 * static_cast<int>(S)) Tile {
  using View = TileView<M, T, Rows, Cols, S, Rows>;
  static_assert(S == Swizzle::None || Rows % 8 == 0, "a swizzled tile has a multiple of 8 rows");

  T elements[Rows * Cols];

  JFA_DEVICE View view() { return View{elements}; }
};

JFA_DEVICE auto transposed(auto&& tile) {
  return TransposedView<decltype(tile.view())>{tile.view()};
}

/// The map of a row-major `rows` x `cols` matrix from which one copy fills a panel of `View`.
/// `row_stride` in elements; row_stride * sizeof(T) and `base` are multiples of 16 bytes.
template <class View>
TensorMapSpec matrix_map(typename View::Element* base, std::uint64_t rows, std::uint64_t cols,
                         std::uint64_t row_stride) {
  return {.base = base,
          .type = kElementType<typename View::Element>,
          .rank = 2,
          .dims = {cols, rows},
          .strides = {row_stride * View::kSize},
          .box = {View::kPanelCols, View::kRows},
          .swizzle = View::kSwizzle};
}

}  // namespace jfa::inline JFA_BACKEND
