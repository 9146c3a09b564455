// Copies between global and shared memory by the copy unit. Each is issued by one thread.
#pragma once

#include "machine/tile.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

template <class TileOrView>
using MachineOf = typename decltype(view_of(std::declval<TileOrView&>()))::M;
template <class TileOrView>
using TensorMapOf = typename MachineOf<TileOrView>::TensorMap;

/// Calls `fn(panel, coordinates)` for each panel of a tile: dimension 0 advances by a panel's
/// width.
template <class View, int Rank, class Fn>
JFA_DEVICE void for_each_panel(View view, const int (&at)[Rank], Fn fn) {
  JFA_UNROLL
  for (int p = 0; p < View::kPanels; ++p) {
    int coordinates[Rank];
    JFA_UNROLL
    for (int i = 0; i < Rank; ++i) coordinates[i] = at[i];
    coordinates[0] += p * View::kPanelCols;
    fn(view.panel(p), coordinates);
  }
}

/// Fills `tile` from the tensor at element coordinates `at`, dimension 0 first; completes its
/// bytes, clipped ones included, on `full`.
template <CacheHint Hint = CacheHint::None, class TileOrView, int Rank>
JFA_DEVICE void tma_load(Mbarrier& full, TileOrView&& tile, const TensorMapOf<TileOrView>& map,
                         const int (&at)[Rank], Site site = Site::here()) {
  for_each_panel(view_of(tile), at, [&](auto* panel, const int(&c)[Rank]) {
    MachineOf<TileOrView>::template tensor_load<Rank, Hint>(panel, &map, c, &full, site);
  });
}

/// The same into every block of the cluster whose bit is set in `blocks`: at the same place in
/// each, completing on each one's own `full`.
template <CacheHint Hint = CacheHint::None, class TileOrView, int Rank>
JFA_DEVICE void tma_load_multicast(Mbarrier& full, TileOrView&& tile,
                                   const TensorMapOf<TileOrView>& map, const int (&at)[Rank],
                                   std::uint16_t blocks, Site site = Site::here()) {
  for_each_panel(view_of(tile), at, [&](auto* panel, const int(&c)[Rank]) {
    MachineOf<TileOrView>::template tensor_load_multicast<Rank, Hint>(panel, &map, c, &full, blocks,
                                                                      site);
  });
}

/// Writes `tile` to the tensor. Belongs to the thread's group that `M::bulk_commit` closes.
template <CacheHint Hint = CacheHint::None, class TileOrView, int Rank>
JFA_DEVICE void tma_store(const TensorMapOf<TileOrView>& map, const int (&at)[Rank],
                          TileOrView&& tile, Site site = Site::here()) {
  for_each_panel(view_of(tile), at, [&](auto* panel, const int(&c)[Rank]) {
    MachineOf<TileOrView>::template tensor_store<Rank, Hint>(&map, c, panel, site);
  });
}

/// Adds `tile` to the tensor, element by element and atomically, in no particular order.
template <CacheHint Hint = CacheHint::None, class TileOrView, int Rank>
JFA_DEVICE void tma_reduce_add(const TensorMapOf<TileOrView>& map, const int (&at)[Rank],
                               TileOrView&& tile, Site site = Site::here()) {
  for_each_panel(view_of(tile), at, [&](auto* panel, const int(&c)[Rank]) {
    MachineOf<TileOrView>::template tensor_reduce_add<Rank, Hint>(&map, c, panel, site);
  });
}

/// All but the thread's last `Pending` groups have read their tiles, which may be overwritten.
template <class M, int Pending = 0>
JFA_DEVICE void wait_read(Site site = Site::here()) {
  M::template bulk_wait_read<Pending>(site);
}

/// All but the thread's last `Pending` groups are complete: their writes are visible to it.
template <class M, int Pending = 0>
JFA_DEVICE void wait_stored(Site site = Site::here()) {
  M::template bulk_wait<Pending>(site);
}

}  // namespace JFA_BACKEND
}  // namespace jfa
