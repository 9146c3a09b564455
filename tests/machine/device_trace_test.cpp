// Records as a GPU writes them, made by hand, through names, clocks and the written forms.
#include "cuda/device_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

namespace jfa {
namespace {

TraceRecord record(TraceKind kind, std::int64_t begin, std::int64_t end, std::string_view name = "",
                   std::uint32_t object = 0) {
  TraceRecord result{begin, end, kind, object, -1, 0, {}};
  std::memcpy(result.name, name.data(), name.size());
  return result;
}

TraceRecord barrier(std::uint32_t address, std::int32_t slot, bool is_empty) {
  TraceRecord result = record(TraceKind::kBarrier, 0, 0, "kv", address);
  result.slot = slot;
  result.is_empty = is_empty ? 1 : 0;
  return result;
}

/// Two blocks whose clocks run at 2 cycles a nanosecond, the second 1000 ns later.
std::vector<TracedBlock> two_blocks() {
  TracedBlock first{{1000, 5000, 3000, 6000}, {}};
  first.warps = {
      {barrier(64, 0, false), barrier(72, 1, true), record(TraceKind::kRole, 1100, 2900, "load"),
       record(TraceKind::kBarrierWait, 1200, 1400, "", 72)},
      {record(TraceKind::kRole, 1100, 2900, "attend"),
       record(TraceKind::kBarrierWait, 1400, 1800, "", 64),
       record(TraceKind::kMmaWait, 2000, 2100, "MMA")}};
  TracedBlock second{{0, 6000, 2000, 7000}, {{record(TraceKind::kMeeting, 100, 300, "block")}}};
  return {first, second};
}

TEST(DeviceTrace, NamesAndTimes) {
  const auto slices = slices_of(two_blocks());
  ASSERT_EQ(slices.size(), 6U);
  const auto wait = std::find_if(slices.begin(), slices.end(), [](const TraceSlice& slice) {
    return slice.name == "kv empty[1]";
  });
  ASSERT_NE(wait, slices.end());
  EXPECT_EQ(wait->role, "load");
  EXPECT_DOUBLE_EQ(wait->begin_ns, 100);
  EXPECT_DOUBLE_EQ(wait->end_ns, 200);
  const TraceSlice& meeting = slices.back();
  EXPECT_EQ(meeting.block, 1);
  EXPECT_EQ(meeting.role, "");
  EXPECT_DOUBLE_EQ(meeting.begin_ns, 1050);
}

TEST(DeviceTrace, PerfettoIsJsonOfAllSlices) {
  std::ostringstream out;
  write_perfetto(slices_of(two_blocks()), out);
  const auto trace = nlohmann::json::parse(out.str());
  int slices = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++slices;
    if (event["name"] == "kv full[0]") {
      EXPECT_DOUBLE_EQ(event["dur"], 0.2);
    }
  }
  EXPECT_EQ(slices, 6);
}

TEST(DeviceTrace, WaitingIsSortedByTime) {
  std::ostringstream out;
  write_waiting(slices_of(two_blocks()), out);
  const std::string table = out.str();
  EXPECT_NE(table.find("| attend | kv full | 1 | 0.2 | 22.2% |"), std::string::npos) << table;
  EXPECT_LT(table.find("kv full"), table.find("kv empty"));
}

TEST(DeviceTrace, NothingRecorded) { EXPECT_TRUE(slices_of({}).empty()); }

}  // namespace
}  // namespace jfa
