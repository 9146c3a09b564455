// Mask policies: which keys a query row sees.
//
// A policy has
//   Params                        plain values, from Params::of(window)
//   keys(params, queries, extent) the keys that some of the queries may see
//   queries(params, keys, extent) the queries that may see some of the keys
//   Mask(params, queries)         for 64 rows of a tile: `queries` says where they stand
//   touches(first_key, keys)      whether it hides some of these keys from some of the rows
//   sees(row, key)                for a row 0 .. 63
//   kInnerBlocks                  whether other blocks than a tile's first may be touched
// Blocks are visited from the last key down, so that the end of a sequence is in the first.
#pragma once

#include "kernels/forward/softmax.hpp"
#include "plan/mask_bounds.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// The 64 rows of a warpgroup: row r is query `first` + (r >> pack_log2) of the sequence.
struct TileRows {
  int first;
  int pack_log2;
  int q_length;
  int kv_length;
};

/// Every key of the sequence.
template <class M>
struct NoMask {
  static constexpr bool kInnerBlocks = false;
  struct Params {
    static Params of(Window) { return {}; }
  };

  int kv_length;

  static JFA_DEVICE Range keys(const Params&, Range, Extent extent) {
    return {0, extent.kv_length};
  }
  static JFA_DEVICE Range queries(const Params&, Range, Extent extent) {
    return {0, extent.q_length};
  }
  JFA_DEVICE NoMask(const Params&, const TileRows& rows) : kv_length(rows.kv_length) {}
  JFA_DEVICE bool touches(int first_key, int keys) const { return first_key + keys > kv_length; }
  JFA_DEVICE bool sees(int /*row*/, int key) const { return key < kv_length; }
};

/// Keys from `left` before the query's position to `right` behind it, causal included.
template <class M>
struct WindowMask {
  static constexpr bool kInnerBlocks = true;
  static constexpr int kUnbounded = 1 << 30;  // more than any sequence has rows
  struct Params {
    int left;
    int right;

    static Params of(Window window) {
      const auto side = [](std::int64_t keys) {
        return keys < 0 || keys > kUnbounded - 2 ? kUnbounded - 2 : static_cast<int>(keys);
      };
      return {side(window.left), side(window.right)};
    }
  };

  int position;  // of row 0, among keys
  int pack_log2;
  int kv_length;
  Params window;

  static JFA_DEVICE Range keys(const Params& p, Range queries, Extent extent) {
    return visible_keys(queries, extent, {p.left, p.right});
  }
  static JFA_DEVICE Range queries(const Params& p, Range keys, Extent extent) {
    return visible_queries(keys, extent, {p.left, p.right});
  }
  JFA_DEVICE WindowMask(const Params& p, const TileRows& rows)
      : position(rows.first + rows.kv_length - rows.q_length),
        pack_log2(rows.pack_log2),
        kv_length(rows.kv_length),
        window(p) {}
  JFA_DEVICE bool touches(int first_key, int keys) const {
    const int last = first_key + keys - 1;
    return last >= kv_length || last > position + window.right ||
           first_key < position + (63 >> pack_log2) - window.left;
  }
  JFA_DEVICE bool sees(int row, int key) const {
    const int at = position + (row >> pack_log2);
    return key < kv_length && key <= at + window.right && key >= at - window.left;
  }
};

/// Hides from `s`, whose columns are keys from `first_key` on, what the mask hides.
template <class Mask, class M, int N>
JFA_DEVICE void hide(Fragment<M, N>& s, const Mask& mask, int first_key) {
  if (mask.touches(first_key, N)) {
    s.apply([&](int row, int col, float& v) {
      v = mask.sees(row, first_key + col) ? v : -__builtin_inff();
    });
  }
}

}  // namespace JFA_BACKEND
}  // namespace jfa
