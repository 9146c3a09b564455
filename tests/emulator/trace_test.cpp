// What a traced run of a sample kernel renders to.
#include "machine/emulator/trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/samples/emulated_samples.hpp"

namespace jfa::emulator {
namespace {

Trace trace_of(const std::string& name, Schedule schedule) {
  RunOptions options;
  options.schedule = schedule;
  options.trace = true;
  for (const Subject& subject : sample_subjects()) {
    if (subject.name == name) return subject.run(options).result.trace;
  }
  return {};
}

TEST(Trace, EventsAreNumberedAndCausesComeBefore) {
  const Trace trace = trace_of("softmax", Schedule::Random);
  ASSERT_GT(trace.events.size(), 1000u);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    ASSERT_EQ(trace.events[i].number, static_cast<std::int64_t>(i));
    ASSERT_LT(trace.events[i].cause, trace.events[i].number);
    ASSERT_LT(trace.events[i].site, trace.sites.size());
    ASSERT_LT(trace.events[i].object, trace.objects.size());
  }
}

TEST(Trace, PerfettoHasWaitsNamedByBarriersAndArrowsInPairs) {
  std::ostringstream out;
  write_perfetto(trace_of("softmax", Schedule::CopiesLate), out);
  const auto json = nlohmann::json::parse(out.str());
  std::map<std::string, int> names, phases;
  for (const auto& event : json.at("traceEvents")) {
    ++phases[event.at("ph").get<std::string>()];
    if (event.at("ph") == "X") ++names[event.at("name").get<std::string>()];
  }
  EXPECT_GT(names["rows full[0]"], 0);
  EXPECT_GT(names["out tile"], 0);
  EXPECT_GT(names["tensor load"], 0);
  EXPECT_GT(phases["s"], 0);
  EXPECT_EQ(phases["s"], phases["f"]);
}

TEST(Trace, SvgHasALineForEachWarp) {
  std::ostringstream out;
  write_svg(trace_of("softmax", Schedule::RoundRobin), out);
  const std::string svg = out.str();
  EXPECT_EQ(svg.rfind("<svg", 0), 0u);
  for (const char* text : {"warp 0 load", "warp 4 softmax", "warp 7 softmax", "copies", "</svg>"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
}

TEST(Trace, WaitingIsSortedAndSaysWho) {
  const auto rows = waiting(trace_of("softmax", Schedule::CopiesLate));
  ASSERT_FALSE(rows.empty());
  bool found = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) {
      EXPECT_GE(rows[i - 1].events, rows[i].events);
    }
    found = found || (rows[i].role == "softmax" && rows[i].barrier == "rows full[0]");
    EXPECT_GT(rows[i].waits, 0);
  }
  EXPECT_TRUE(found);
}

TEST(Trace, WiringNamesReleasersAndWaiters) {
  std::map<std::string, Wire> wires;
  for (auto& wire : wiring(trace_of("softmax", Schedule::Random))) wires[wire.barrier] = wire;
  using Names = std::set<std::string>;
  EXPECT_EQ(wires["rows full"].released_by, (Names{"copies of load", "load"}));
  EXPECT_EQ(wires["rows full"].waited_for_by, Names{"softmax"});
  EXPECT_EQ(wires["rows empty"].released_by, Names{"softmax"});
  EXPECT_EQ(wires["rows empty"].waited_for_by, Names{"load"});
  std::ostringstream graph;
  write_wiring_graph(trace_of("softmax", Schedule::Random), graph);
  EXPECT_NE(graph.str().find("\"softmax\" -> \"load\" [label=\"rows empty\"]"), std::string::npos);
}

TEST(Trace, WiringNamesWhoseMmasRelease) {
  int found = 0;
  for (const Wire& wire : wiring(trace_of("tmem_gemm", Schedule::Random))) {
    if (wire.barrier != "stages empty" && wire.barrier != "products full") continue;
    EXPECT_EQ(wire.released_by, std::set<std::string>{"MMAs of multiply"}) << wire.barrier;
    ++found;
  }
  EXPECT_EQ(found, 2);
}

TEST(Trace, IsEmptyUnlessAskedFor) {
  const auto subjects = sample_subjects();
  EXPECT_TRUE(subjects.front().run({}).result.trace.events.empty());
}

}  // namespace
}  // namespace jfa::emulator
