// What the backward kernels' rings have in common.
#pragma once

#include "machine/machine.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// A ring's slot whose bytes lie in tiles elsewhere in Smem: a ring with tiles in it is as large as
/// their alignment of 1 KiB makes it.
template <int Bytes>
struct Apart {
  static constexpr std::uint32_t kCopiedBytes = Bytes;
};

/// Calls fn(work) on one thread of the warp for each piece of work in `ring`, until there is no
/// more: its `count` is negative.
template <class M, class Ring, class Work, class Fn>
JFA_DEVICE void for_each_work(Ring& ring, int Work::*count, Fn fn) {
  auto r = ring.reader();
  const bool lead = M::elect();
  for (;;) {
    const Work& work = ring.wait(r);
    if (M::load_shared(&(work.*count)) < 0) break;
    if (lead) fn(work);
    ring.release(r);
  }
}

}  // namespace JFA_BACKEND
}  // namespace jfa
