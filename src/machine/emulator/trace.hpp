// What happened in a run, in order, and who released whom. Event order is not time.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "machine/emulator/call_site.hpp"
#include "machine/emulator/clock.hpp"

namespace jfa::emulator {

enum class EventKind : std::uint8_t {
  Role,      // a thread enters a role
  Wait,      // a thread begins to wait
  Pass,      // ... and goes on
  Arrive,    // an arrival at a barrier, or another release
  Issue,     // a copy or an MMA group is issued
  Complete,  // ... and has acted
  Fence,
  Exit,
};
const char* to_string(EventKind kind);

inline constexpr std::int64_t kNoEvent = -1;

struct Event {
  std::int64_t number = 0;
  Agent who;
  EventKind kind = EventKind::Fence;
  SiteId site = kNoSite;
  std::uint32_t object = 0;  // index into Trace::objects
  std::int64_t phase = -1;
  std::int64_t cause = kNoEvent;  // Pass: the event that released; Complete: the issue
};

struct Trace {
  std::vector<Event> events;
  std::vector<std::string> objects{""};  // names of barriers and copies
  std::vector<CallSite> sites;           // by SiteId
  struct Lane {
    Agent agent;
    std::string role;
  };
  std::vector<Lane> lanes;  // the threads that took a role
};

// The Chrome/Perfetto form: a track a warp and one its asynchronous operations, a slice a wait, an
// arrow from the arrival that released it.
void write_perfetto(const Trace& trace, std::ostream& out);
// A picture of the same: one line a warp.
void write_svg(const Trace& trace, std::ostream& out);

// Waiting by role and barrier, longest first; units are events passed while waiting.
struct WaitRow {
  std::string role;
  std::string barrier;
  std::string site;
  std::int64_t waits = 0;
  std::int64_t events = 0;
};
std::vector<WaitRow> waiting(const Trace& trace);
void write_waiting(const Trace& trace, std::ostream& out);

// Who releases and who waits at each barrier, as a run shows it; the slots of a ring are one.
struct Wire {
  std::string barrier;
  std::set<std::string> released_by;
  std::set<std::string> waited_for_by;
};
std::vector<Wire> wiring(const Trace& trace);
void write_wiring(const Trace& trace, std::ostream& out);
// The same as a Graphviz graph: roles are nodes, barriers the arrows from releaser to waiter.
void write_wiring_graph(const Trace& trace, std::ostream& out);

}  // namespace jfa::emulator
