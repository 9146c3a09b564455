// Cuts a batch's work into shares of about equal cost, each a run of consecutive items.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/host_plan.hpp"

namespace jfa::cpu {

/// An item in the line of all items: sequence after sequence, items(b) of each.
struct Position {
  std::int64_t sequence = 0;
  std::int64_t item = 0;
};

/// Where a point of the work line lies: a sequence, and how far into its work, 0 to 1.
struct WorkPoint {
  std::int64_t sequence = 0;
  double fraction = 0;
};

/// The point that `share` of `shares` equal shares begins at; the batch's end when share == shares.
inline WorkPoint share_begin(const HostPlan& plan, std::int64_t share, std::int64_t shares) {
  const auto batch = static_cast<std::int64_t>(plan.sequences.size());
  if (share >= shares) return {batch, 0};
  const std::vector<double>& before = plan.work_before;
  const double target = before.back() * (static_cast<double>(share) / static_cast<double>(shares));
  const auto next = std::upper_bound(before.begin(), before.end(), target);
  const std::int64_t b = std::min<std::int64_t>(next - before.begin() - 1, batch);
  if (b >= batch) return {batch, 0};
  return {b, (target - before[static_cast<std::size_t>(b)]) / plan.work(b)};
}

/// Calls `work(b, item)` for every item of a share, where sequence b has `items(b)` items of about
/// equal cost. Over all shares each item is met once.
template <typename Items, typename Work>
void for_each_item(const HostPlan& plan, std::int64_t share, std::int64_t shares, Items&& items,
                   Work&& work) {
  const auto item_at = [&](const WorkPoint& point) -> std::int64_t {
    if (point.fraction == 0) return 0;
    const std::int64_t count = items(point.sequence);
    return std::min(count, static_cast<std::int64_t>(point.fraction * static_cast<double>(count)));
  };
  const WorkPoint begin = share_begin(plan, share, shares);
  const WorkPoint end = share_begin(plan, share + 1, shares);
  std::int64_t item = item_at(begin);
  for (std::int64_t b = begin.sequence; b < end.sequence; ++b, item = 0) {
    for (const std::int64_t count = items(b); item < count; ++item) work(b, item);
  }
  for (const std::int64_t count = item_at(end); item < count; ++item) work(end.sequence, item);
}

}  // namespace jfa::cpu
