#include "cuda/device_trace.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

namespace jfa {
namespace {

std::string text_of(const TraceRecord& record) {
  return {record.name, std::find(std::begin(record.name), std::end(record.name), '\0')};
}

/// Names of a block's mbarriers by address.
std::map<std::uint32_t, std::string> barrier_names(const TracedBlock& block) {
  std::map<std::uint32_t, std::string> names;
  for (const auto& warp : block.warps) {
    for (const TraceRecord& record : warp) {
      if (record.kind != TraceKind::kBarrier) continue;
      std::string& name = names[record.object] = text_of(record);
      if (record.slot < 0) continue;
      name += record.is_empty != 0 ? " empty" : " full";
      name += '[' + std::to_string(record.slot) + ']';
    }
  }
  return names;
}

/// Cycles of a block's clock as nanoseconds of the card's.
class Clock {
 public:
  Clock(const TraceClocks& clocks, std::int64_t origin_ns)
      : clocks_(clocks), origin_ns_(origin_ns) {
    const auto cycles = static_cast<double>(clocks.end_cycles - clocks.start_cycles);
    ns_per_cycle_ = cycles > 0 ? static_cast<double>(clocks.end_ns - clocks.start_ns) / cycles : 1;
  }
  double operator()(std::int64_t cycles) const {
    return static_cast<double>(clocks_.start_ns - origin_ns_) +
           static_cast<double>(cycles - clocks_.start_cycles) * ns_per_cycle_;
  }

 private:
  TraceClocks clocks_;
  std::int64_t origin_ns_;
  double ns_per_cycle_ = 1;
};

/// The role a warp is in at `cycles`, "" outside all.
std::string role_at(const std::vector<TraceRecord>& warp, std::int64_t cycles) {
  for (const TraceRecord& record : warp) {
    if (record.kind == TraceKind::kRole && record.begin <= cycles && cycles <= record.end) {
      return text_of(record);
    }
  }
  return "";
}

}  // namespace

std::vector<TraceSlice> slices_of(const std::vector<TracedBlock>& blocks) {
  std::vector<TraceSlice> slices;
  if (blocks.empty()) return slices;
  std::int64_t origin = blocks[0].clocks.start_ns;
  for (const TracedBlock& block : blocks) origin = std::min(origin, block.clocks.start_ns);
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto names = barrier_names(blocks[b]);
    const Clock clock(blocks[b].clocks, origin);
    for (std::size_t w = 0; w < blocks[b].warps.size(); ++w) {
      for (const TraceRecord& record : blocks[b].warps[w]) {
        if (record.kind == TraceKind::kBarrier) continue;
        const auto named = names.find(record.object);
        const bool by_address = record.kind == TraceKind::kBarrierWait && named != names.end();
        slices.push_back({static_cast<int>(b), static_cast<int>(w), record.kind,
                          role_at(blocks[b].warps[w], record.begin),
                          by_address ? named->second : text_of(record), clock(record.begin),
                          clock(record.end)});
      }
    }
  }
  return slices;
}

void write_perfetto(const std::vector<TraceSlice>& slices, std::ostream& out) {
  nlohmann::json events = nlohmann::json::array();
  std::map<std::pair<int, int>, std::string> tracks;
  for (const TraceSlice& slice : slices) {
    std::string& track = tracks[{slice.block, slice.warp}];
    if (track.empty()) track = "warp " + std::to_string(slice.warp) + ' ' + slice.role;
    events.push_back({{"name", slice.name},
                      {"cat", slice.kind == TraceKind::kRole ? "role" : "wait"},
                      {"ph", "X"},
                      {"pid", slice.block},
                      {"tid", slice.warp},
                      {"ts", slice.begin_ns / 1000},
                      {"dur", (slice.end_ns - slice.begin_ns) / 1000}});
  }
  for (const auto& [place, name] : tracks) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", place.first},
                      {"tid", place.second},
                      {"args", {{"name", name}}}});
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", place.first},
                      {"args", {{"name", "block " + std::to_string(place.first)}}}});
  }
  out << nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ns"}} << '\n';
}

void write_waiting(const std::vector<TraceSlice>& slices, std::ostream& out) {
  struct Row {
    int waits = 0;
    double ns = 0;
  };
  std::map<std::pair<std::string, std::string>, Row> rows;
  std::map<std::string, double> role_ns;
  for (const TraceSlice& slice : slices) {
    const double ns = slice.end_ns - slice.begin_ns;
    if (slice.kind == TraceKind::kRole) {
      role_ns[slice.role] += ns;
      continue;
    }
    // The slots of a ring are one row.
    Row& row = rows[{slice.role, slice.name.substr(0, slice.name.find('['))}];
    ++row.waits;
    row.ns += ns;
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Row>> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  out << "| role | waits for | waits | us | of the role's time |\n| --- | --- | --- | --- | --- "
         "|\n";
  for (const auto& [key, row] : sorted) {
    const double whole = role_ns[key.first];
    out << "| " << key.first << " | " << key.second << " | " << row.waits << " | " << std::fixed
        << std::setprecision(1) << row.ns / 1000 << " | ";
    if (whole > 0) out << 100 * row.ns / whole << '%';
    out << " |\n";
  }
}

}  // namespace jfa
