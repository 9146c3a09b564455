#include "machine/emulator/shadow.hpp"

#include <algorithm>
#include <bit>

namespace jfa::emulator {
namespace {

bool writes(AccessKind kind) {
  return kind == AccessKind::Write || kind == AccessKind::AtomicWrite;
}

bool is_atomic(AccessKind kind) {
  return kind == AccessKind::AtomicRead || kind == AccessKind::AtomicWrite ||
         kind == AccessKind::AtomicUpdate;
}

bool changes(AccessKind kind) {
  return kind == AccessKind::Reduce || kind == AccessKind::AtomicUpdate;
}

// Two accesses that may meet without order: both atomic, or both additions.
bool commute(AccessKind a, AccessKind b) {
  if (is_atomic(a) && is_atomic(b)) return true;
  return changes(a) && changes(b);
}

// How an earlier access through one proxy is ordered before one seen from all `views`.
Verdict order(const Epoch& epoch, bool earlier_async, bool now_async,
              std::span<const Viewpoint> views) {
  Verdict verdict = Verdict::Ordered;
  for (const auto& view : views) {
    const bool own = view.self && *view.self == epoch.agent;
    if (!own && !knows(*view.generic, epoch)) return Verdict::Unordered;
    if (!now_async || earlier_async) continue;
    const bool fenced = own ? epoch.time <= view.fenced : knows(*view.async, epoch);
    if (!fenced) verdict = Verdict::NoProxyFence;
  }
  return verdict;
}

template <class Fn>
void for_each_lane(const ReaderTable::Entry& entry, Fn fn) {
  if (entry.agent.lane == kWholeRow) {
    fn(Epoch{entry.agent, entry.time});
    return;
  }
  for (std::uint32_t left = entry.lanes; left != 0; left &= left - 1) {
    Agent agent = entry.agent;
    agent.lane = static_cast<std::uint8_t>(std::countr_zero(left));
    fn(Epoch{agent, entry.time});
  }
}

Verdict order(const ReaderTable::Entry& entry, bool now_async, std::span<const Viewpoint> views,
              Epoch& culprit) {
  Agent row = entry.agent;
  row.lane = kWholeRow;  // who knows that much of the whole warp knows it of each lane
  if (order(Epoch{row, entry.time}, entry.async, now_async, views) == Verdict::Ordered) {
    return Verdict::Ordered;
  }
  Verdict verdict = Verdict::Ordered;
  for_each_lane(entry, [&](const Epoch& epoch) {
    if (verdict == Verdict::Unordered) return;
    const Verdict one = order(epoch, entry.async, now_async, views);
    if (one == Verdict::Ordered) return;
    verdict = one;
    culprit = epoch;
  });
  return verdict;
}

std::uint64_t hash_of(const ReaderTable::Set& set) {
  std::uint64_t hash = set.size();
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 31;
  };
  for (const auto& entry : set) {
    mix(std::uint64_t{entry.agent.block} << 48 | std::uint64_t{entry.agent.row} << 40 |
        std::uint64_t{entry.agent.lane} << 32 | entry.lanes);
    mix(std::uint64_t{entry.time} << 32 | entry.site << 4 |
        static_cast<std::uint32_t>(entry.kind) << 1 | static_cast<std::uint32_t>(entry.async));
  }
  return hash;
}

std::size_t slot_of(std::uint32_t set, const Access& access) {
  std::uint64_t hash = std::uint64_t{set} << 32 | access.epoch.time;
  hash = (hash ^ access.epoch.agent.row * 32u ^ access.epoch.agent.lane) * 0x9e3779b97f4a7c15u;
  return hash >> 32;
}

}  // namespace

const char* to_string(AccessKind kind) {
  switch (kind) {
    case AccessKind::Read:
      return "read";
    case AccessKind::Write:
      return "write";
    case AccessKind::Reduce:
      return "reduce-add";
    case AccessKind::AtomicRead:
      return "acquire load";
    case AccessKind::AtomicWrite:
      return "release store";
    case AccessKind::AtomicUpdate:
      return "atomic update";
  }
  return "";
}

// NOTE [remembered sets]: the set an access came to is right for the same access later, too: by
// then its thread knows more, so that more could be left out, but whoever is ordered after the
// access is ordered after what it knew.
std::uint32_t ReaderTable::add(std::uint32_t set, const Access& access,
                               std::span<const Viewpoint> views) {
  Remembered& last = remembered_[slot_of(set, access) % kRemembered];
  if (last.set != set || last.access != access || last.result == 0) {
    last = {set, access, extended(set, access, views)};
  }
  return last.result;
}

std::uint32_t ReaderTable::extended(std::uint32_t set, const Access& access,
                                    std::span<const Viewpoint> views) {
  Set next;
  next.reserve(sets_[set].size() + 1);
  const bool whole = access.epoch.agent.lane == kWholeRow;
  const std::uint32_t lanes = whole ? ~0u : 1u << access.epoch.agent.lane;
  Agent agent = access.epoch.agent;
  agent.lane = whole ? kWholeRow : std::uint8_t{0};
  bool merged = false;
  for (Entry entry : sets_[set]) {
    const bool alike = entry.kind == access.kind && entry.async == access.async;
    if (alike && entry.agent == agent) {
      if (entry.time == access.epoch.time && entry.site == access.site) {
        entry.lanes |= lanes;
        merged = true;
      } else if ((entry.lanes &= ~lanes) == 0) {
        continue;
      }
    } else if (Epoch culprit; alike && order(entry, false, views, culprit) == Verdict::Ordered) {
      continue;
    }
    next.push_back(entry);
  }
  if (!merged) {
    next.push_back({agent, lanes, access.epoch.time, access.site, access.kind, access.async});
  }
  return intern(std::move(next));
}

std::uint32_t ReaderTable::intern(Set&& set) {
  const auto hash = hash_of(set);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto place = first; place != last; ++place) {
    if (sets_[place->second] == set) return place->second;
  }
  const auto id = static_cast<std::uint32_t>(sets_.size());
  sets_.push_back(std::move(set));
  by_hash_.emplace(hash, id);
  return id;
}

void ReaderTable::clear() {
  sets_.resize(1);
  by_hash_.clear();
  remembered_.fill({});
}

Shadow::Shadow(std::uint64_t bytes, bool initialized, ReaderTable& readers, bool write_once)
    : readers_(readers), write_once_(write_once) {
  Cell fresh;
  fresh.initialized = initialized;
  cells_.assign((bytes + kGranule - 1) / kGranule, fresh);
}

std::optional<Conflict> Shadow::touch(std::uint64_t offset, std::uint64_t bytes,
                                      const Access& access, std::span<const Viewpoint> views) {
  Step step{access, views};
  const std::uint64_t end = offset + bytes;
  while (offset < end) {
    const std::uint64_t granule = offset / kGranule;
    const std::uint64_t start = granule * kGranule;
    std::optional<Conflict> conflict;
    if (offset == start && end >= start + kGranule) {
      conflict = touch_granule(granule, step);
    } else {
      const std::uint64_t first = (offset - start) / kCell;
      const std::uint64_t last = (std::min(end, start + kGranule) - start + kCell - 1) / kCell;
      conflict = touch_cells(granule, first, last - first, step);
    }
    if (conflict) return conflict;
    offset = start + kGranule;
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::touch(std::span<const std::uint32_t> granules, const Access& access,
                                      std::span<const Viewpoint> views) {
  Step step{access, views};
  for (const auto granule : granules) {
    if (auto conflict = touch_granule(granule, step)) return conflict;
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::touch_granule(std::uint64_t granule, Step& step) {
  Cell& cell = cells_[granule];
  if (!cell.split) return touch_cell(cell, granule * kGranule, step);
  if (auto conflict = touch_cells(granule, 0, kCells, step)) return conflict;
  merge(cell);
  return std::nullopt;
}

std::optional<Conflict> Shadow::touch_cells(std::uint64_t granule, std::uint64_t first,
                                            std::uint64_t count, Step& step) {
  Split& cells = split(cells_[granule]);
  for (std::uint64_t c = first; c < first + count; ++c) {
    const auto conflict = touch_cell(cells[c], granule * kGranule + c * kCell, step);
    if (conflict) return conflict;
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::touch_cell(Cell& cell, std::uint64_t offset, Step& step) {
  if (step.primed && cell == step.before) {
    cell = step.after;
    return std::nullopt;
  }
  if (auto conflict = check(cell, offset, step)) return conflict;
  const Access& access = step.access;
  Cell after = cell;
  if (writes(access.kind)) {
    after.writer = access.epoch;
    after.site = access.site & 0xffffffu;
    after.initialized = 1;
    after.async = access.async;
    after.atomic = is_atomic(access.kind);
    after.readers = 0;
  } else {
    after.readers = readers_.add(cell.readers, access, step.views);
  }
  step.before = cell;
  step.after = after;
  step.primed = true;
  cell = after;
  return std::nullopt;
}

std::optional<Conflict> Shadow::check(const Cell& cell, std::uint64_t offset, const Step& step) {
  const Access& access = step.access;
  const AccessKind wrote = cell.atomic ? AccessKind::AtomicWrite : AccessKind::Write;
  if (write_once_ && cell.writer.time != 0 && writes(access.kind)) {
    return Conflict{
        Verdict::WrittenTwice, {cell.writer, cell.site, wrote, cell.async != 0}, offset};
  }
  if (cell.writer.time != 0 && !commute(wrote, access.kind)) {
    const Verdict verdict = order(cell.writer, cell.async, access.async, step.views);
    if (verdict != Verdict::Ordered) {
      return Conflict{verdict, {cell.writer, cell.site, wrote, cell.async != 0}, offset};
    }
  }
  if (!cell.initialized && !writes(access.kind)) {
    return Conflict{Verdict::Uninitialized, {}, offset};
  }
  return check_readers(cell, offset, step);
}

std::optional<Conflict> Shadow::check_readers(const Cell& cell, std::uint64_t offset,
                                              const Step& step) {
  const Access& access = step.access;
  const bool modifies = writes(access.kind) || changes(access.kind);
  for (const auto& entry : readers_[cell.readers]) {
    if (commute(entry.kind, access.kind)) continue;
    if (!modifies && !changes(entry.kind)) continue;
    Epoch culprit;
    Verdict verdict = order(entry, access.async, step.views, culprit);
    if (verdict == Verdict::Ordered) continue;
    Conflict conflict{verdict, {culprit, entry.site, entry.kind, entry.async}, offset};
    if (verdict == Verdict::NoProxyFence && !changes(entry.kind)) {
      conflict.verdict = Verdict::Pedantic;
      if (!pedantic_) pedantic_ = conflict;
      continue;
    }
    return conflict;
  }
  return std::nullopt;
}

Shadow::Split& Shadow::split(Cell& cell) {
  if (!cell.split) {
    std::uint32_t number;
    if (free_splits_.empty()) {
      number = static_cast<std::uint32_t>(splits_.size());
      splits_.emplace_back();
    } else {
      number = free_splits_.back();
      free_splits_.pop_back();
    }
    splits_[number].fill(cell);
    cell = Cell{};
    cell.split = 1;
    cell.writer.time = number;
  }
  return splits_[cell.writer.time];
}

void Shadow::merge(Cell& cell) {
  const std::uint32_t number = cell.writer.time;
  const Split& cells = splits_[number];
  for (std::size_t c = 1; c < kCells; ++c) {
    if (!(cells[c] == cells[0])) return;
  }
  cell = cells[0];
  free_splits_.push_back(number);
}

void Shadow::move_readers(ReaderTable& kept) {
  const auto move = [&](Cell& cell) {
    if (cell.readers != 0) cell.readers = kept.insert(readers_[cell.readers]);
  };
  for (auto& cell : cells_) {
    if (!cell.split) {
      move(cell);
    } else {
      for (auto& one : splits_[cell.writer.time]) move(one);
    }
  }
}

void Shadow::launch_boundary() {
  for (auto& cell : cells_) {
    bool initialized = cell.initialized;
    if (cell.split) {
      const Split& cells = splits_[cell.writer.time];
      const bool alike = std::all_of(cells.begin(), cells.end(), [&](const Cell& one) {
        return one.initialized == cells[0].initialized;
      });
      if (!alike) {
        for (auto& one : splits_[cell.writer.time]) {
          const bool had = one.initialized;
          one = Cell{};
          one.initialized = had;
        }
        continue;
      }
      initialized = cells[0].initialized;
    }
    cell = Cell{};
    cell.initialized = initialized;
  }
  pedantic_.reset();
  std::vector<bool> used(splits_.size(), false);
  for (const auto& cell : cells_) {
    if (cell.split) used[cell.writer.time] = true;
  }
  free_splits_.clear();
  for (std::uint32_t n = 0; n < splits_.size(); ++n) {
    if (!used[n]) free_splits_.push_back(n);
  }
}

}  // namespace jfa::emulator
