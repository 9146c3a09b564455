// Copies between global and shared memory by the copy unit. Each is issued by one thread.
#pragma once

#include "machine/tile.hpp"

namespace jfa::inline JFA_BACKEND {

/// One copy a panel of `view`: dimension 0 advances by a panel's width.
template <CopyKind Kind, CacheHint Hint, class View, int Rank>
JFA_DEVICE void copy_panels(View view, const auto& map, const int (&at)[Rank], Mbarrier* full,
                            std::uint16_t blocks, Site site) {
  JFA_UNROLL
  for (int p = 0; p < View::kPanels; ++p) {
    int c[Rank];
    JFA_UNROLL
    for (int i = 0; i < Rank; ++i) c[i] = at[i];
    c[0] += p * View::kPanelCols;
    View::M::template tensor_copy<Kind, Hint>(view.panel(p), map, c, full, blocks, site);
  }
}

/// Fills `tile` from the tensor at element coordinates `at`, dimension 0 first; completes its
/// bytes, clipped ones included, on `full`.
template <CacheHint Hint = CacheHint::None, int Rank>
JFA_DEVICE void tma_load(Mbarrier& full, auto&& tile, const auto& map, const int (&at)[Rank],
                         Site site = Site::here()) {
  copy_panels<CopyKind::Load, Hint>(tile.view(), map, at, &full, 0, site);
}

/// The same into every block of the cluster whose bit is set in `blocks`: at the same place in
/// each, completing on each one's own `full`.
template <CacheHint Hint = CacheHint::None, int Rank>
JFA_DEVICE void tma_load_multicast(Mbarrier& full, auto&& tile, const auto& map,
                                   const int (&at)[Rank], std::uint16_t blocks,
                                   Site site = Site::here()) {
  copy_panels<CopyKind::LoadMulticast, Hint>(tile.view(), map, at, &full, blocks, site);
}

/// Writes `tile` to the tensor. Belongs to the thread's group that `M::bulk_commit` closes.
template <CacheHint Hint = CacheHint::None, int Rank>
JFA_DEVICE void tma_store(const auto& map, const int (&at)[Rank], auto&& tile,
                          Site site = Site::here()) {
  copy_panels<CopyKind::Store, Hint>(tile.view(), map, at, nullptr, 0, site);
}

/// Adds `tile` to the tensor, element by element and atomically, in no particular order.
template <CacheHint Hint = CacheHint::None, int Rank>
JFA_DEVICE void tma_reduce_add(const auto& map, const int (&at)[Rank], auto&& tile,
                               Site site = Site::here()) {
  copy_panels<CopyKind::ReduceAdd, Hint>(tile.view(), map, at, nullptr, 0, site);
}

/// All but the thread's last `Pending` groups have read their tiles, which may be overwritten.
template <class M, int Pending = 0>
JFA_DEVICE void wait_read(Site site = Site::here()) {
  M::template bulk_wait<Pending, true>(site);
}
/// All but the thread's last `Pending` groups are complete: their writes are visible to it.
template <class M, int Pending = 0>
JFA_DEVICE void wait_stored(Site site = Site::here()) {
  M::template bulk_wait<Pending, false>(site);
}

}  // namespace jfa::inline JFA_BACKEND
