// Mask policies: which keys a query row sees.
//
// A policy has
//   Params                               plain values, from Params::of(window, lists)
//   some_keys(params, queries, extent)   the keys that at least one of the queries may see
//   all_keys(params, queries, extent)    the keys that each of the queries sees
//   queries(params, keys, extent)        the queries that may see some of the keys
//   Mask(params, rows)                   for rows of a tile: `rows` says where they stand
//   touches(first_key, keys, rows)       whether it hides some of these keys from some of the rows
//   sees(row, key)                       for a row 0 .. rows - 1
//   kSharesKeys                          whether the tiles of a sequence all see the same keys
//   kListed                              whether lists say which blocks a tile visits
// `queries` is not empty. A block of keys is masked element by element only where some of it is
// visible and not all of it to all rows.
#pragma once

#include "plan/device_indices.hpp"
#include "plan/mask_bounds.hpp"

namespace jfa::inline JFA_BACKEND {

/// Rows of a tile, 64 of a warpgroup's or a multiple: row r is query `first` + (r >> pack_log2) of
/// the sequence.
struct TileRows {
  int first;
  int pack_log2;
  int q_length;
  int kv_length;
};

/// The blocks of a tile that a warpgroup visits, `begin` to `end` - 1 of those the tile loads; none
/// where it has no rows. From `plain_begin` to `plain_end` - 1 nothing is masked.
struct alignas(16) Visits {
  int begin;
  int end;
  int plain_begin;
  int plain_end;
};

/// A block-sparse mask in device memory, jfa::BlockSparse.
struct BlockLists {
  DeviceIndices row_offsets;  // [heads, rows_per_head]; no data: none is given
  DeviceIndices columns;
  std::int64_t rows_per_head;
  std::int64_t column_count;
  const int* first_rows;  // [batch]: a sequence's first row, made with the plan
  int heads;              // 1: every head alike
  int block_q;
  int block_kv;
};

/// Every key of the sequence.
template <class M>
struct NoMask {
  static constexpr bool kSharesKeys = true;
  static constexpr bool kListed = false;
  struct Params {
    static Params of(Window, const BlockLists& = {}) { return {}; }
  };

  int kv_length;

  static JFA_DEVICE Range some_keys(const Params&, Range, Extent extent) {
    return {0, extent.kv_length};
  }
  static JFA_DEVICE Range all_keys(const Params&, Range, Extent extent) {
    return {0, extent.kv_length};
  }
  static JFA_DEVICE Range queries(const Params&, Range, Extent extent) {
    return {0, extent.q_length};
  }
  JFA_DEVICE NoMask(const Params&, const TileRows& rows) : kv_length(rows.kv_length) {}
  JFA_DEVICE bool touches(int first_key, int keys, int /*rows*/) const {
    return first_key + keys > kv_length;
  }
  JFA_DEVICE bool sees(int /*row*/, int key) const { return key < kv_length; }
};

/// Keys from `left` before the query's position to `right` behind it, causal included.
template <class M>
struct WindowMask {
  static constexpr bool kSharesKeys = false;
  static constexpr bool kListed = false;
  static constexpr int kUnbounded = 1 << 30;  // more than any sequence has rows
  struct Params {
    int left;
    int right;

    static Params of(Window window, const BlockLists& = {}) {
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

  static JFA_DEVICE Range some_keys(const Params& p, Range queries, Extent extent) {
    return visible_keys(queries, extent, {p.left, p.right});
  }
  static JFA_DEVICE Range queries(const Params& p, Range keys, Extent extent) {
    return visible_queries(keys, extent, {p.left, p.right});
  }
  static JFA_DEVICE Range all_keys(const Params& p, Range queries, Extent extent) {
    return common_keys(queries, extent, {p.left, p.right});
  }
  JFA_DEVICE WindowMask(const Params& p, const TileRows& rows)
      : position(rows.first + rows.kv_length - rows.q_length),
        pack_log2(rows.pack_log2),
        kv_length(rows.kv_length),
        window(p) {}
  JFA_DEVICE bool touches(int first_key, int keys, int rows) const {
    const int last = first_key + keys - 1;
    return last >= kv_length || last > position + window.right ||
           first_key < position + ((rows - 1) >> pack_log2) - window.left;
  }
  JFA_DEVICE bool sees(int row, int key) const {
    const int at = position + (row >> pack_log2);
    return key < kv_length && key <= at + window.right && key >= at - window.left;
  }
};

/// The blocks that lists name, and of their keys those that a window leaves.
template <class M>
struct ListedMask : WindowMask<M> {
  static constexpr bool kListed = true;
  struct Params : WindowMask<M>::Params {
    BlockLists lists;

    static Params of(Window window, const BlockLists& lists) {
      return {WindowMask<M>::Params::of(window, lists), lists};
    }
  };
  using WindowMask<M>::WindowMask;
};

/// Goes through one row of lists from its last column down. What is wrong there is left out:
/// columns that do not fall, and what lies outside of the arrays.
template <class M>
struct ListedColumns {
  std::int64_t first = 0;
  std::int64_t at = 0;
  int column = -1;  // in hand; -1 at the end

  static JFA_DEVICE ListedColumns of(const BlockLists& lists, int head, std::int64_t row) {
    ListedColumns c;
    if (row + 1 >= lists.rows_per_head) return c;
    const std::int64_t place = (lists.heads == 1 ? 0 : head) * lists.rows_per_head + row;
    const auto bound = [&](std::int64_t i) {
      return DeviceRows::clamp(lists.row_offsets.at<M>(i), 0, lists.column_count);
    };
    c.first = bound(place);
    c.at = bound(place + 1);
    c.column = 0x7fffffff;
    c.advance(lists);
    return c;
  }
  JFA_DEVICE void advance(const BlockLists& lists) {
    const int last = column;
    do {
      column = --at >= first
                   ? static_cast<int>(DeviceRows::clamp(lists.columns.at<M>(at), -1, 0x7fffffff))
                   : -1;
    } while (column >= last);
  }
};

}  // namespace jfa::inline JFA_BACKEND
