#include "machine/emulator/trace.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <tuple>

namespace jfa::emulator {
namespace {

// A wait of one thread, from Wait to Pass.
struct Slice {
  const Event* wait;
  const Event* pass;
};

// A track: a warp, or what the block's copy unit or a tensor unit does.
struct Track {
  std::uint16_t block;
  int row;  // of the clock; all copies share one
  bool operator<(const Track& other) const {
    return std::tie(block, row) < std::tie(other.block, other.row);
  }
};

Track track_of(const Agent& agent) {
  const int row = agent.row;
  return {agent.block, std::min(row, kWarpRows + kTensorRows)};
}

std::string name_of(const Trace& trace, const Track& track) {
  if (track.row >= kWarpRows + kTensorRows) return "copies";
  if (track.row >= kWarpRows) {
    return "MMA of warps " + std::to_string(track.row - kWarpRows) + " and on";
  }
  std::string name = "warp " + std::to_string(track.row);
  for (const auto& lane : trace.lanes) {
    if (lane.agent.block == track.block && lane.agent.row == track.row)
      return name + ' ' + lane.role;
  }
  return name;
}

std::string role_of(const Trace& trace, const Agent& agent) {
  for (const auto& lane : trace.lanes) {
    if (lane.agent == agent) return lane.role;
  }
  return "";
}

// The waits of a trace. Lanes of a warp that wait at one place together are one slice: that of the
// first to come, until the last goes on.
std::vector<Slice> slices(const Trace& trace) {
  std::map<std::tuple<std::uint16_t, std::uint8_t, std::uint8_t>, const Event*> open;
  std::map<std::tuple<std::uint16_t, std::uint8_t, SiteId, std::uint32_t, std::int64_t>,
           std::size_t>
      merged;
  std::vector<Slice> result;
  for (const Event& event : trace.events) {
    const auto lane = std::tuple(event.who.block, event.who.row, event.who.lane);
    if (event.kind == EventKind::Wait) open[lane] = &event;
    if (event.kind != EventKind::Pass) continue;
    const auto begun = open.find(lane);
    if (begun == open.end()) continue;
    const Event* wait = begun->second;
    open.erase(begun);
    const auto [place, fresh] = merged.try_emplace(
        std::tuple(event.who.block, event.who.row, wait->site, wait->object, wait->phase),
        result.size());
    if (!fresh && result[place->second].pass->number > wait->number) {
      result[place->second].pass = &event;
      continue;
    }
    place->second = result.size();
    result.push_back({wait, &event});
  }
  return result;
}

// The first and last event of each operation in flight.
std::vector<Slice> operations(const Trace& trace) {
  std::vector<Slice> result;
  for (const Event& event : trace.events) {
    if (event.kind != EventKind::Complete || event.cause == kNoEvent) continue;
    result.push_back({&trace.events[static_cast<std::size_t>(event.cause)], &event});
  }
  return result;
}

nlohmann::json slice_event(const Trace& trace, const Slice& slice, const Track& track,
                           const std::string& name) {
  return {
      {"name", name},
      {"ph", "X"},
      {"pid", track.block},
      {"tid", track.row},
      {"ts", slice.wait->number},
      {"dur", std::max<std::int64_t>(slice.pass->number - slice.wait->number, 1)},
      {"args", {{"site", to_string(trace.sites[slice.wait->site])}, {"phase", slice.wait->phase}}}};
}

nlohmann::json flow_event(const char* phase, const Event& event, std::int64_t id) {
  const Track track = track_of(event.who);
  return {{"name", "releases"}, {"cat", "barrier"}, {"ph", phase},        {"id", id},
          {"pid", track.block}, {"tid", track.row}, {"ts", event.number}, {"bp", "e"}};
}

}  // namespace

const char* to_string(EventKind kind) {
  switch (kind) {
    case EventKind::Role:
      return "enters role";
    case EventKind::Wait:
      return "waits for";
    case EventKind::Pass:
      return "passes";
    case EventKind::Arrive:
      return "arrives at";
    case EventKind::Issue:
      return "issues";
    case EventKind::Complete:
      return "completes";
    case EventKind::Fence:
      return "fences";
    case EventKind::Exit:
      return "exits";
  }
  return "";
}

void write_perfetto(const Trace& trace, std::ostream& out) {
  nlohmann::json events = nlohmann::json::array();
  std::map<Track, bool> tracks;
  for (const Slice& slice : slices(trace)) {
    const Track track = track_of(slice.wait->who);
    tracks[track] = true;
    events.push_back(slice_event(trace, slice, track, trace.objects[slice.wait->object]));
    if (slice.pass->cause == kNoEvent) continue;
    events.push_back(flow_event("s", trace.events[static_cast<std::size_t>(slice.pass->cause)],
                                slice.pass->number));
    events.push_back(flow_event("f", *slice.pass, slice.pass->number));
  }
  for (const Slice& slice : operations(trace)) {
    const Track track = track_of(slice.pass->who);
    tracks[track] = true;
    events.push_back(slice_event(trace, slice, track, trace.objects[slice.pass->object]));
  }
  for (const auto& [track, used] : tracks) {
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", track.block},
                      {"tid", track.row},
                      {"args", {{"name", name_of(trace, track)}}}});
    events.push_back({{"name", "process_name"},
                      {"ph", "M"},
                      {"pid", track.block},
                      {"args", {{"name", "block " + std::to_string(track.block)}}}});
  }
  out << nlohmann::json{{"traceEvents", events},
                        {"displayTimeUnit", "ns"},
                        {"otherData", {{"unit", "event order, not time"}}}}
      << '\n';
}

void write_svg(const Trace& trace, std::ostream& out) {
  constexpr int kLeft = 190, kRow = 22, kTop = 24;
  constexpr double kWidth = 1200;
  std::map<Track, std::vector<std::pair<Slice, bool>>> tracks;
  for (const Slice& slice : slices(trace))
    tracks[track_of(slice.wait->who)].push_back({slice, true});
  for (const Slice& slice : operations(trace)) {
    tracks[track_of(slice.pass->who)].push_back({slice, false});
  }
  const double scale = kWidth / std::max<double>(1, static_cast<double>(trace.events.size()));
  const auto x = [&](const Event& event) {
    return kLeft + static_cast<double>(event.number) * scale;
  };
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kLeft + kWidth + 10
      << "\" height=\"" << kTop + kRow * static_cast<int>(tracks.size()) + 8
      << "\" font-family=\"sans-serif\" font-size=\"11\">\n<text x=\"4\" y=\"14\">event order, not "
         "time: waits in orange, copies and MMAs in blue</text>\n";
  int y = kTop;
  for (const auto& [track, drawn] : tracks) {
    out << "<text x=\"4\" y=\"" << y + 14 << "\">block " << track.block << ' '
        << name_of(trace, track) << "</text>\n";
    for (const auto& [slice, waits] : drawn) {
      out << "<rect x=\"" << x(*slice.wait) << "\" y=\"" << y + 2 << "\" width=\""
          << std::max(1.0, x(*slice.pass) - x(*slice.wait)) << "\" height=\"" << kRow - 6
          << "\" fill=\"" << (waits ? "#f4a340" : "#4a90d9") << "\" fill-opacity=\"0.7\"><title>"
          << trace.objects[waits ? slice.wait->object : slice.pass->object] << " at "
          << to_string(trace.sites[slice.wait->site]) << "</title></rect>\n";
    }
    y += kRow;
  }
  out << "</svg>\n";
}

std::vector<WaitRow> waiting(const Trace& trace) {
  std::map<std::tuple<std::string, std::string, std::string>, WaitRow> rows;
  for (const Slice& slice : slices(trace)) {
    WaitRow row{role_of(trace, slice.wait->who), trace.objects[slice.wait->object],
                to_string(trace.sites[slice.wait->site]), 0, 0};
    auto& kept = rows.try_emplace(std::tuple(row.role, row.barrier, row.site), row).first->second;
    ++kept.waits;
    kept.events += slice.pass->number - slice.wait->number;
  }
  std::vector<WaitRow> result;
  for (auto& [key, row] : rows) result.push_back(std::move(row));
  std::sort(result.begin(), result.end(),
            [](const WaitRow& a, const WaitRow& b) { return a.events > b.events; });
  return result;
}

void write_waiting(const Trace& trace, std::ostream& out) {
  out << "| role | waits for | at | waits | events passed |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& row : waiting(trace)) {
    out << "| " << row.role << " | " << row.barrier << " | " << row.site << " | " << row.waits
        << " | " << row.events << " |\n";
  }
}

std::vector<Wire> wiring(const Trace& trace) {
  std::map<std::string, Wire> wires;
  // A commit of tcgen05 arrives by itself, for the thread that issued its MMAs.
  const auto who = [&](const Event& event) {
    Agent thread = event.who;
    const bool of_mmas = thread.row >= kWarpRows && thread.row < kWarpRows + kTensorRows;
    if (of_mmas) thread = {thread.block, static_cast<std::uint8_t>(thread.row % kWarpRows), 0};
    const std::string role = role_of(trace, thread);
    return (of_mmas ? "MMAs of " : "") + (role.empty() ? std::string("(no role)") : role);
  };
  const auto wire_of = [&](const Event& event) -> Wire& {
    std::string name = trace.objects[event.object];
    name.resize(std::min(name.find('['), name.size()));
    Wire& wire = wires[name];
    wire.barrier = name;
    return wire;
  };
  for (const Event& event : trace.events) {
    const bool at_barrier = event.object != 0 && event.phase >= 0;
    if (event.kind == EventKind::Arrive && at_barrier)
      wire_of(event).released_by.insert(who(event));
    if (event.kind != EventKind::Pass || !at_barrier) continue;
    Wire& wire = wire_of(event);
    wire.waited_for_by.insert(who(event));
    if (event.cause == kNoEvent) continue;
    const Event& cause = trace.events[static_cast<std::size_t>(event.cause)];
    if (cause.kind == EventKind::Issue) wire.released_by.insert("copies of " + who(cause));
  }
  std::vector<Wire> result;
  for (auto& [name, wire] : wires) result.push_back(std::move(wire));
  return result;
}

namespace {

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

void write_wiring(const Trace& trace, std::ostream& out) {
  out << "| barrier | released by | waited for by |\n| --- | --- | --- |\n";
  for (const auto& wire : wiring(trace)) {
    out << "| " << wire.barrier << " | " << joined(wire.released_by) << " | "
        << joined(wire.waited_for_by) << " |\n";
  }
}

void write_wiring_graph(const Trace& trace, std::ostream& out) {
  out << "digraph wiring {\n  rankdir=LR;\n";
  for (const auto& wire : wiring(trace)) {
    for (const auto& from : wire.released_by) {
      for (const auto& to : wire.waited_for_by) {
        out << "  \"" << from << "\" -> \"" << to << "\" [label=\"" << wire.barrier << "\"];\n";
      }
    }
  }
  out << "}\n";
}

}  // namespace jfa::emulator
