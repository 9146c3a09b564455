// Items of work: finding their sequence in a plan, and handing them from role to role.
#pragma once

#include "machine/machine.hpp"
#include "plan/schedule.hpp"

namespace jfa::inline JFA_BACKEND {

/// The lowest bit set. (The library's count of trailing zeros is no device function.)
JFA_DEVICE int lowest_bit(std::uint32_t bits) {
  int place = 0;
  JFA_UNROLL
  for (int step = 16; step > 0; step /= 2) {
    if ((bits & ((1U << step) - 1)) == 0) {
      bits >>= step;
      place += step;
    }
  }
  return place;
}

/// Hands `work` over, by a warp; `w` is the ring's cursor.
template <class M>
JFA_DEVICE void publish(auto& ring, auto& w, const auto& work) {
  ring.fill(w, [&](auto& slot) {
    if (M::lane() == 0) M::store_shared(&slot, work);
  });
}

/// How many items blocks have drawn before, on lane 0.
template <class M>
JFA_DEVICE int draw(int* ticket) {
  return M::lane() == 0 ? M::atomic_add(ticket, 1) : 0;
}
/// The same once `ring` has room for the work of one more: an item that waits in the queue of a
/// busy block holds up the end of the launch.
template <class M>
JFA_DEVICE int draw_late(auto& ring, const auto& w, int* ticket) {
  M::template mbarrier_wait<Scope::Block>(&ring.empty[w.slot], w.phase.previous());
  return draw<M>(ticket);
}

/// The place in the plan, from `at` on, of the sequence that `item` belongs to, where each item of
/// a sequence stands for `heads` of them. Called by a whole warp.
template <class M>
JFA_DEVICE int find_item(const PlannedSequence* plan, int batch, int heads, int at, int item) {
  for (;;) {
    const int next = at + 1 + M::lane();
    const int first = next < batch ? M::load_global(&plan[next].first_item) : 0;
    const std::uint32_t later = M::ballot(next >= batch || first * heads > item);
    if (later != 0) return at + lowest_bit(later);
    at += 32;
  }
}

/// The same from nothing, by halving, for one head.
template <class M>
JFA_DEVICE int search_item(const PlannedSequence* plan, int batch, int item) {
  int first = 0;
  int last = batch - 1;
  while (first < last) {
    const int middle = first + (last - first + 1) / 2;
    if (M::load_global(&plan[middle].first_item) <= item) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

/// Calls fn(task, first, last, step) for each task of this block: a fixed share of the items of
/// head task / shares, first, first + step and so on before last. Teams of `team` neighbouring
/// tasks deal out what is theirs together item by item; step is how many are in the task's.
template <class M, class Fn>
JFA_DEVICE void for_each_task(std::int64_t items, int shares, int heads, int team, Fn fn) {
  for (int task = M::block_index(); task < shares * heads; task += M::grid_size()) {
    const int share = task % shares;
    const int leader = share / team * team;
    const int step = leader + team < shares ? team : shares - leader;
    fn(task, static_cast<int>(items * leader / shares) + share - leader,
       static_cast<int>(items * (leader + step) / shares), step);
  }
}

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

}  // namespace jfa::inline JFA_BACKEND
