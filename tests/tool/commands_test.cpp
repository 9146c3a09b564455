// The command line and its commands but run: what they do, what they refuse and in which words.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tool_fixture.hpp"

namespace jfa {
namespace {

TEST_F(ToolTest, HelpAndVersionSucceed) {
  for (const char* command : {"run", "bench", "check", "gen", "info"}) {
    const Finished done = jfa({command, "--help"});
    EXPECT_EQ(done.code, 0);
    EXPECT_NE(done.out.find("Options:"), std::string::npos);
  }
  EXPECT_EQ(jfa({"--help"}).code, 0);
  EXPECT_EQ(jfa({"--version"}).out, std::string(version()) + "\n");
}

TEST_F(ToolTest, RefusesWhatIsNoCommand) {
  expect_refused({"fly"}, "unknown command fly, must be one of run, bench, check, gen, info", 2);
  expect_refused({}, "A subcommand is required", 2);
  expect_refused({"info", "--colour"}, "--colour", 2);
  expect_refused({"run"}, "IN is required", 2);
}

TEST_F(ToolTest, RefusesUnknownDevices) {
  for (const char* command : {"check", "bench"}) {
    expect_refused({command, "--device", "tpu"},
                   "--device is tpu, must be auto, cuda, cpu or emulator", 2);
  }
  write_input(small_file());
  expect_run_refused({"--device", "tpu"}, "--device", 2);
  const std::vector<std::string> run{"run", path("in.safetensors"), "-o", path("out.safetensors")};
  for (const std::string device : {"tpu", "CPU", ""}) {
    std::vector<std::string> arguments = run;
    arguments.insert(arguments.end(), {"--device", device});
    expect_refused(arguments, "must be auto, cuda, cpu or emulator", 2);
  }
  expect_only_input();
}

TEST_F(ToolTest, InfoSaysWhichEnginesThereAre) {
  const Finished done = jfa({"info", "--json", "-"});
  EXPECT_EQ(done.code, 0);
  const json info = json::parse(done.out);
  EXPECT_EQ(info.at("version"), version());
  EXPECT_GE(info.at("threads"), 1);
  EXPECT_NE(info.at("card"), "");
  ASSERT_EQ(info.at("engines").size(), 3U);
  EXPECT_EQ(info.at("engines")[0].at("name"), "cpu");
  EXPECT_TRUE(info.at("engines")[0].at("available"));
}

TEST_F(ToolTest, DevicesThatAreNotThereSaySo) {
  write_input(small_file());
  const json engines = json::parse(jfa({"info", "--json", "-"}).out).at("engines");
  int missing = 0;
  for (const json& engine : engines) {
    if (engine.at("available")) continue;
    ++missing;
    const std::string name = engine.at("name");
    expect_refused({"run", path("in.safetensors"), "-o", path("out.safetensors"), "--device", name},
                   "device " + name + " is not ", 1);
    expect_refused({"bench", "--device", name}, "device " + name, 1);
    expect_refused({"check", "--device", name}, "device " + name, 1);
  }
  expect_only_input();
  if (missing == 0) GTEST_SKIP() << "every device is there";
}

TEST_F(ToolTest, AutoSaysWhyItTakesTheCpu) {
  const json engines = json::parse(jfa({"info", "--json", "-"}).out).at("engines");
  if (engines[1].at("available")) GTEST_SKIP() << "there is a GPU";
  write_input(small_file());
  const Finished done = jfa({"run", path("in.safetensors"), "-o", path("out.safetensors")});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.err.find("jfa: note: using cpu: device cuda is not "), std::string::npos)
      << done.err;
  EXPECT_NE(done.out.find(" on cpu"), std::string::npos) << done.out;
}

TEST_F(ToolTest, FullStandardOutputIsAnError) {
  const Finished done = run_process(
      {"/bin/sh", "-c", std::string("exec ") + JFA_TOOL_PATH + " info > /dev/full"}, path(""));
  EXPECT_EQ(done.code, 1);
  EXPECT_NE(done.err.find("standard output: cannot write"), std::string::npos) << done.err;
}

TEST_F(ToolTest, RefusesOutputsBeforeTheWork) {
  write_input(small_file());
  expect_refused({"run", path("in.safetensors"), "-o", path("no/such/out"), "--device", "cpu"},
                 "cannot create: No such file or directory", 1);
  const std::string json_path = path("no/such/out.json");
  expect_run_refused({"--json", json_path}, json_path + ": cannot create");
  expect_refused({"bench", "--json", json_path, "--device", "cpu"}, json_path, 1);
  expect_refused({"check", "--json", json_path, "--device", "cpu"}, json_path, 1);
  expect_refused({"gen", "-o", json_path, "--batch", "1"}, json_path, 1);
}

TEST_F(ToolTest, GenMakesWhatRunReads) {
  const std::string in = path("in.safetensors");
  const std::vector<std::vector<std::string>> shapes{
      {"--lengths", "uniform:1,40"},
      {"--lengths", "fixed:9", "--q-lengths", "zipf:1,30,1.5", "--dtype", "fp16"},
      {"--lengths", "lognormal:8,1,64", "--broadcast-q", "5", "--dtype", "fp32"},
      {"--lengths", "list:0,130,0,70,1", "--block", "64,64", "--local", "0", "--global", "1"},
      {"--lengths", "fixed:0"}};
  for (std::vector<std::string> arguments : shapes) {
    arguments.insert(arguments.begin(), {"gen", "-o", in, "--batch", "5", "--heads", "4",
                                         "--heads-kv", "2", "--head-dim", "32", "--gradients"});
    const Finished done = jfa(arguments);
    ASSERT_EQ(done.code, 0) << done.err;
    EXPECT_NE(done.out.find("5 sequences"), std::string::npos) << done.out;
    const bool blocks = done.out.find(" --block 64,64") != std::string::npos;
    const json result = run_checked(blocks ? std::vector<std::string>{"--block", "64,64"}
                                           : std::vector<std::string>{});
    EXPECT_EQ(result.at("checks").size(), 5U);
  }
}

TEST_F(ToolTest, GenIsReproducible) {
  const auto bytes_of = [&](const std::string& seed) {
    const std::string file = path("gen.safetensors");
    EXPECT_EQ(jfa({"gen", "-o", file, "--batch", "4", "--lengths", "uniform:0,9", "--head-dim", "8",
                   "--seed", seed, "--gradients"})
                  .code,
              0);
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const std::string first = bytes_of("7");
  EXPECT_EQ(first, bytes_of("7"));
  EXPECT_NE(first, bytes_of("8"));
}

TEST_F(ToolTest, GenTakesCasesOfASuite) {
  const Finished done =
      jfa({"gen", "-o", path("in.safetensors"), "--case", "cpu-empty-causal", "--gradients"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find(" --causal"), std::string::npos) << done.out;
  run_checked({"--causal"});
  expect_refused({"gen", "-o", path("x"), "--case", "cpu-"}, "must name one case", 1);
  expect_refused({"gen", "-o", path("x"), "--case", "nope"}, "has no case whose name holds", 1);
  expect_refused({"gen", "-o", path("x"), "--case", "cpu-empty-causal", "--heads", "2"},
                 "--heads is given, must be absent with --case", 2);
}

TEST_F(ToolTest, GenRefusesShapes) {
  const auto refused = [&](std::vector<std::string> flags, const std::string& message, int code) {
    flags.insert(flags.begin(), {"gen", "-o", path("x")});
    expect_refused(flags, message, code);
    EXPECT_FALSE(fs::exists(path("x")));
  };
  refused({"--lengths", "normal:1,2"}, "--lengths is normal:1,2, must be fixed:N, list:A,B", 2);
  refused({"--lengths", "7"}, "--lengths is 7, must be fixed:N", 2);
  refused({"--lengths", "uniform:9,1"}, "--lengths is uniform:9,1, must be lengths from 9", 2);
  refused({"--lengths", "uniform:-1,1"}, "must be lengths from 0", 2);
  refused({"--lengths", "uniform:1"}, "--lengths is uniform:1", 2);
  refused({"--lengths", "zipf:0,5,1"}, "must be lengths from 1", 2);
  refused({"--lengths", "lognormal:5,-1,9"}, "positive parameters", 2);
  refused({"--lengths", "fixed:nan"}, "--lengths is fixed:nan", 2);
  refused({"--lengths", "list:1,2", "--batch", "3"}, "a list of --batch = 3 lengths", 2);
  refused({"--dtype", "fp8"}, "--dtype is fp8, must be bf16, fp16 or fp32", 2);
  refused({"--heads", "3", "--heads-kv", "2"}, "heads_q is 3, must be a multiple of heads_kv", 1);
  refused({"--head-dim", "257"}, "--head-dim", 2);
  refused({"--block", "64"}, "--block is 64, must be 2 integers", 2);
  refused({"--block", "64,65"}, "block_sparse.block holds 65", 1);
  refused({"--local", "2"}, "--local requires --block", 2);
  refused({"--broadcast-q", "3", "--q-lengths", "fixed:3"}, "excludes", 2);
}

class SuiteCommandTest : public ToolTest {
 protected:
  SuiteCommandTest() {
    std::ofstream(path("suite.json")) << R"([
{"name":"one","dtype":"fp32","heads_q":2,"heads_kv":1,"head_dim":16,"kv_lengths":[5,0,9]},
{"name":"two","dtype":"bf16","heads_q":2,"heads_kv":2,"head_dim":8,"kv_lengths":[70,3],
 "broadcast_q":true,"q_length":4,"window":[10,-1]}])";
  }
};

TEST_F(SuiteCommandTest, CheckComparesEveryCase) {
  const Finished done =
      jfa({"check", "--suite", path("suite.json"), "--device", "cpu", "--json", path("c.json")});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("one"), std::string::npos);
  EXPECT_NE(done.err.find("[0/2]"), std::string::npos) << "progress: " << done.err;
  const json cases = json::parse(std::ifstream(path("c.json"))).at("cases");
  ASSERT_EQ(cases.size(), 2U);
  for (const json& c : cases) {
    EXPECT_TRUE(c.at("ok"));
    for (const char* output : {"out", "lse", "dq", "dk", "dv"}) {
      EXPECT_LE(c.at(output).at("relative_error"), c.at(output).at("allowed"));
    }
  }
  EXPECT_NEAR(cases[0].at("out").at("allowed"), 1e-5, 1e-12);
  EXPECT_GT(cases[1].at("out").at("allowed"), 1e-3);
}

TEST_F(SuiteCommandTest, CasesAreChosenByName) {
  const Finished done =
      jfa({"check", "--suite", path("suite.json"), "--case", "tw", "--json", "-"});
  EXPECT_EQ(done.code, 0);
  const json cases = json::parse(done.out).at("cases");
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].at("name"), "two");
  expect_refused({"check", "--suite", path("suite.json"), "--case", "three"},
                 "has no case whose name holds \"three\", it has: one, two", 1);
  expect_refused({"bench", "--suite", path("missing.json")}, "cannot open", 1);
  std::ofstream(path("bad.json")) << R"([{"name":"x","dtype":"fp8"}])";
  expect_refused({"bench", "--suite", path("bad.json")}, path("bad.json") + ": entry 0: case", 1);
}

TEST_F(SuiteCommandTest, BenchWritesWhatItMeasures) {
  std::ofstream(path("targets.json")) << R"({"card":"some card","cases":[
{"name":"one","direction":"fwd","best_ms":2.5,"best":"fa3","fa3_ms":2.5},
{"name":"one","direction":"bwd"}]})";
  const Finished done =
      jfa({"bench", "--suite", path("suite.json"), "--seconds", "0.01", "--threads", "1",
           "--device", "cpu", "--json", path("b.json"), "--targets", path("targets.json")});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_NE(done.out.find("best peer ms"), std::string::npos) << done.out;
  const json bench = json::parse(std::ifstream(path("b.json")));
  const json& header = bench.at("header");
  EXPECT_GT(header.at("fp32_peak_tflops"), 0.0005);
  EXPECT_GT(header.at("copy_gbps"), 0.1);
  EXPECT_EQ(header.at("threads"), 1);
  for (const char* field : {"commit", "date", "card", "compiler"}) {
    EXPECT_NE(header.at(field), "") << field;
  }
  const json& cases = bench.at("cases");
  ASSERT_EQ(cases.size(), 4U);
  for (const json& c : cases) {
    EXPECT_GE(c.at("ms"), c.at("ms_min"));
    EXPECT_GT(c.at("ms_min"), 0);
    EXPECT_GE(c.at("repeats"), 3);
    EXPECT_GT(c.at("floor_ms"), 0);
    EXPECT_EQ(c.at("device"), "cpu");
  }
  // Sequences of 5 and 9 rows: 106 pairs, 2 heads of 16.
  EXPECT_EQ(cases[0].at("flops"), 4.0 * 106 * 2 * 16);
  EXPECT_EQ(cases[1].at("flops"), 2.5 * 4.0 * 106 * 2 * 16);
  // q and out of 2 heads, k and v of one; lse of 2; two offset arrays of 4 entries.
  EXPECT_EQ(cases[0].at("bytes"), 14 * 16 * 4 * (2 + 2 + 1 + 1) + 14 * 2 * 4 + 2 * 4 * 4);
  EXPECT_EQ(cases[1].at("bytes"), 14 * 16 * 4 * (4 * 2 + 4 * 1) + 14 * 2 * 4 + 2 * 4 * 4);
  EXPECT_EQ(cases[0].at("best_ms"), 2.5);
  EXPECT_EQ(cases[0].at("fa3_ms"), 2.5);
  EXPECT_FALSE(cases[1].contains("best_ms"));
}

TEST_F(SuiteCommandTest, BenchDoesNotTimeTheEmulator) {
  const json engines = json::parse(jfa({"info", "--json", "-"}).out).at("engines");
  if (!engines[2].at("available")) GTEST_SKIP() << "no emulator built in";
  expect_refused({"bench", "--suite", path("suite.json"), "--device", "emulator"},
                 "--device is emulator, must be auto, cuda or cpu", 2);
}

TEST_F(SuiteCommandTest, CheckTakesDirections) {
  const Finished done = jfa({"check", "--suite", path("suite.json"), "--case", "one", "--device",
                             "cpu", "--direction", "fwd", "--json", "-"});
  EXPECT_EQ(done.code, 0) << done.err;
  const json checked = json::parse(done.out).at("cases")[0];
  EXPECT_TRUE(checked.contains("out"));
  EXPECT_FALSE(checked.contains("dq"));
  expect_refused({"check", "--direction", "bwd"}, "--direction is bwd, must be fwd or fwd,bwd", 2);
}

TEST_F(SuiteCommandTest, BenchTakesDirections) {
  const Finished done = jfa({"bench", "--suite", path("suite.json"), "--case", "one", "--direction",
                             "bwd", "--seconds", "0.01", "--json", "-"});
  EXPECT_EQ(done.code, 0) << done.err;
  const json cases = json::parse(done.out).at("cases");
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].at("direction"), "bwd");
  expect_refused({"bench", "--direction", "up"}, "--direction is up, must be fwd, bwd or fwd,bwd",
                 2);
  std::ofstream(path("targets.json")) << "{}";
  expect_refused({"bench", "--targets", path("targets.json")}, "not a file of peers' figures", 1);
}

}  // namespace
}  // namespace jfa
