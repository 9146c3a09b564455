// jfa run: what it reads and writes, what it refuses and in which words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tool_fixture.hpp"

namespace jfa {
namespace {

using RunTest = ToolTest;

TEST_F(RunTest, WritesOutAndLse) {
  write_input(small_file(DType::kBf16));
  const Finished done = jfa({"run", path("in.safetensors"), "-o", path("out.safetensors")});
  EXPECT_EQ(done.code, 0) << done.err;
  const safetensors::File out(path("out.safetensors"));
  EXPECT_EQ(out.entries().size(), 2U);
  EXPECT_EQ(out.entries().at("out").dtype, "BF16");
  EXPECT_EQ(out.entries().at("out").shape, (std::vector<std::int64_t>{7, 4, 8}));
  EXPECT_EQ(out.entries().at("lse").dtype, "F32");
  EXPECT_EQ(out.entries().at("lse").shape, (std::vector<std::int64_t>{4, 7}));
}

TEST_F(RunTest, WritesGradientsWhereDoutIs) {
  File file = small_file();
  file.tensors["dout"] = random_tensor(DType::kF32, {7, 4, 8}, 4);
  file.tensors["dlse"] = random_tensor(DType::kF32, {4, 7}, 5);
  write_input(file);
  const json result = run_checked({"--causal"});
  ASSERT_EQ(result.at("checks").size(), 5U);
  for (const json& check : result.at("checks")) {
    EXPECT_TRUE(check.at("ok")) << check;
    EXPECT_LE(check.at("relative_error"), 1e-5);
  }
  EXPECT_GT(result.at("backward_ms"), 0);
  const safetensors::File out(path("out.safetensors"));
  EXPECT_EQ(out.entries().at("dq").shape, (std::vector<std::int64_t>{7, 4, 8}));
  EXPECT_EQ(out.entries().at("dk").shape, (std::vector<std::int64_t>{7, 2, 8}));
  EXPECT_EQ(out.entries().at("dv").shape, (std::vector<std::int64_t>{7, 2, 8}));
}

TEST_F(RunTest, ReadsEveryTensorOfTheContract) {
  File file = small_file();
  file.tensors["q_lengths"] = indices({2, 0, 4}, DType::kI64);
  file.tensors["kv_lengths"] = indices({3, 0, 1});
  file.tensors["block_row_offsets"] = indices({0, 1, 2});
  file.tensors["block_columns"] = indices({0, 0});
  write_input(file);
  run_checked({"--block", "64,64"});
  const safetensors::File out(path("out.safetensors"));
  const HostTensor lse = out.read("lse", 2, 2);
  EXPECT_TRUE(std::isinf(lse.at(2))) << "row 2 is a gap";
  EXPECT_FALSE(std::isinf(lse.at(1)));
}

TEST_F(RunTest, BroadcastsWithoutQOffsets) {
  File file = small_file();
  file.tensors.erase("q_offsets");
  write_input(file);
  run_checked({});
  EXPECT_EQ(safetensors::File(path("out.safetensors")).entries().at("out").shape,
            (std::vector<std::int64_t>{21, 4, 8}));
}

TEST_F(RunTest, ValuesMayBeginWithAMinus) {
  write_input(small_file());
  run_checked({"--window", "-1,0", "--scale", "-0.5"});
  const HostTensor window = safetensors::File(path("out.safetensors")).read("out", 3, 3);
  run_checked({"--causal", "--scale=-0.5"});
  const HostTensor causal = safetensors::File(path("out.safetensors")).read("out", 3, 3);
  run_checked({"--causal", "--scale", "0.5"});
  const HostTensor positive = safetensors::File(path("out.safetensors")).read("out", 3, 3);
  double difference = 0;
  for (std::int64_t i = 0; i < window.size(); ++i) {
    EXPECT_EQ(window.at(i), causal.at(i));
    difference = std::max(difference, std::abs(window.at(i) - positive.at(i)));
  }
  EXPECT_GT(difference, 0.01) << "the scale's sign changes nothing";
  run_checked({"--window", "2,-1", "--softcap", "3.5"});
  expect_refused(
      {"run", path("in.safetensors"), "-o", path("x"), "--device", "cpu", "--window", "-2,0"},
      "mask.window.left is -2", 1);
}

TEST_F(RunTest, ComparesWithExpectedOut) {
  File file = small_file();
  write_input(file);
  run_checked({});
  file.tensors["expected_out"] = safetensors::File(path("out.safetensors")).read("out", 3, 3);
  write_input(file);
  const json same = run_checked({});
  EXPECT_EQ(same.at("checks").back().at("against"), "expected_out");
  EXPECT_EQ(same.at("checks").back().at("relative_error"), 0);
  file.tensors["expected_out"].set(0, 100);
  write_input(file);
  expect_refused({"run", path("in.safetensors"), "-o", path("out.safetensors"), "--check"},
                 "error larger than allowed: out against expected_out", 1);
}

TEST_F(RunTest, ChecksTheRealEncoder) {
  const Finished done = jfa({"run", JFA_SOURCE_DIR "/examples/data/minilm.safetensors", "-o",
                             path("out.safetensors"), "--check", "--json", path("check.json")});
  EXPECT_EQ(done.code, 0) << done.err;
  const json checks = json::parse(std::ifstream(path("check.json"))).at("checks");
  EXPECT_EQ(checks.back().at("against"), "expected_out");
  EXPECT_LT(checks.back().at("relative_error"), 1e-5);
}

TEST_F(RunTest, CheckAllowsWhatRoundingCosts) {
  // With one key a sequence, dq and dk cancel to zero; with a large scale, dq and dk are small
  // beside what the rounding of out does to them.
  const std::vector<std::string> gen{"gen",        "-o", path("in.safetensors"), "--batch", "200",
                                     "--head-dim", "64", "--gradients"};
  for (const auto& [lengths, scale] : {std::pair{"fixed:1", "0.125"}, std::pair{"fixed:64", "5"}}) {
    for (const char* dtype : {"bf16", "fp32"}) {
      std::vector<std::string> arguments = gen;
      arguments.insert(arguments.end(), {"--lengths", lengths, "--dtype", dtype});
      ASSERT_EQ(jfa(arguments).code, 0);
      run_checked({"--scale", scale});
    }
  }
}

TEST_F(RunTest, RefusesFlags) {
  write_input(small_file());
  expect_run_refused({"--window", "1"}, "--window is 1, must be 2 integers between commas", 2);
  expect_run_refused({"--window", "1,2,3"}, "--window is 1,2,3", 2);
  expect_run_refused({"--window", "a,2"}, "--window is a,2", 2);
  expect_run_refused({"--window", "99999999999999999999,0"}, "--window is 99999999999999999999", 2);
  expect_run_refused({"--window", "0,-3"}, "mask.window.right is -3, must be -1 (unbounded)");
  expect_run_refused({"--scale", "inf"}, "softmax_scale is inf");
  expect_run_refused({"--scale", "nan"}, "softmax_scale is nan");
  expect_run_refused({"--scale", "x"}, "--scale", 2);
  expect_run_refused({"--softcap", "-1"}, "softcap is -1");
  expect_run_refused({"--threads", "-1"}, "--threads", 2);
  expect_run_refused({"--block", "64,64"}, "has no block_row_offsets and block_columns");
}

TEST_F(RunTest, RefusesFilesThatLackTensors) {
  for (const std::string name : {"q", "k", "v", "kv_offsets"}) {
    expect_file_refused([&](auto& tensors) { tensors.erase(name); },
                        "has no tensor \"" + name + "\"");
  }
  expect_file_refused([](auto& tensors) { tensors["block_columns"] = indices({0}); },
                      "has only one of block_row_offsets and block_columns");
  expect_file_refused(
      [](auto& tensors) {
        tensors["block_columns"] = indices({0, 0});
        tensors["block_row_offsets"] = indices({0, 1, 2});
      },
      "--block Q,KV must tell the blocks' sizes");
  expect_file_refused(
      [](auto& tensors) {
        tensors["dlse"] = random_tensor(DType::kF32, {4, 7}, 1);
      },
      "has dlse without dout");
}

TEST_F(RunTest, RefusesTensorsOfTheWrongKind) {
  expect_file_refused(
      [](auto& t) {
        t["q"] = random_tensor(DType::kF32, {7, 32}, 1);
      },
      R"(tensor "q" has shape [7,32], must have 3 dimensions)");
  expect_file_refused(
      [](auto& t) {
        t["k"] = random_tensor(DType::kBf16, {7, 2, 8}, 1);
      },
      "k.dtype is bf16, must be fp32");
  expect_file_refused(
      [](auto& t) {
        t["v"] = random_tensor(DType::kF32, {7, 2, 4}, 1);
      },
      "v.head_dim is 4");
  expect_file_refused([](auto& t) { t["k"] = random_tensor(DType::kF32, {7, 3, 8}, 1); }, "heads");
  expect_file_refused(
      [](auto& t) {
        t["q"] = random_tensor(DType::kF32, {7, 4, 257}, 1);
      },
      "head_dim is 257");
  expect_file_refused([](auto& t) { t["kv_offsets"] = random_tensor(DType::kF32, {4}, 1); },
                      "kv_offsets.dtype is fp32, must be int32 or int64");
  expect_file_refused(
      [](auto& t) {
        t["dout"] = random_tensor(DType::kF32, {6, 4, 8}, 1);
      },
      "dout.rows is 6, must be 7");
  expect_file_refused(
      [](auto& t) {
        t["dout"] = random_tensor(DType::kF32, {7, 4, 8}, 1);
        t["dlse"] = random_tensor(DType::kBf16, {4, 7}, 1);
      },
      "dlse must be F32");
  expect_file_refused(
      [](auto& t) {
        t["expected_out"] = random_tensor(DType::kF32, {7, 4, 4}, 1);
      },
      "expected_out does not have the shape of out", {"--check"});
}

TEST_F(RunTest, RefusesOffsetsAndLists) {
  expect_file_refused(
      [](auto& t) {
        t["kv_offsets"] = indices({0, 3, 2, 7});
      },
      "kv_offsets[2] is 2, must be at least the offset before it, 3");
  expect_file_refused(
      [](auto& t) {
        t["kv_offsets"] = indices({1, 3, 3, 7});
      },
      "kv_offsets[0] is 1, must be 0");
  expect_file_refused(
      [](auto& t) {
        t["q_offsets"] = indices({0, 3, 3, 8});
      },
      "q_offsets[3] is 8, must be at most the tensor's rows, 7");
  expect_file_refused([](auto& t) { t["q_offsets"] = indices({0, 7}); }, "q_offsets.size is 2");
  expect_file_refused([](auto& t) { t["kv_lengths"] = indices({3, 1, 4}); }, "kv_lengths[1] is 1");
  expect_file_refused(
      [](auto& t) {
        t.erase("q_offsets");
        t["q_lengths"] = indices({1, 1, 1});
      },
      "q_lengths");
  const auto add_lists = [](auto& t) {
    t["block_row_offsets"] = indices({0, 1, 2});
    t["block_columns"] = indices({0, 1});
  };
  expect_file_refused(add_lists, "mask.block_sparse.columns[1] is 1", {"--block", "64,64"});
  expect_file_refused(add_lists, "mask.block_sparse.block_q is 60", {"--block", "60,64"});
}

TEST_F(RunTest, RefusesMalformedFiles) {
  std::ofstream(path("in.safetensors"));
  expect_run_refused({}, "has 0 bytes");
  write_input(small_file());
  for (const std::uintmax_t bytes :
       {std::uintmax_t{7}, std::uintmax_t{100}, fs::file_size(path("in.safetensors")) - 1}) {
    fs::resize_file(path("in.safetensors"), bytes);
    expect_run_refused({}, path("in.safetensors"));
    write_input(small_file());
  }
  fs::remove(path("in.safetensors"));
  expect_run_refused({}, "cannot open: No such file or directory");
}

TEST_F(RunTest, FullDisksLeaveNothingBehind) {
  write_input(small_file());
  expect_refused({"run", path("in.safetensors"), "-o", "/dev/full", "--device", "cpu"},
                 "/dev/full: cannot write: No space left on device", 1);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  // A limit of one block of 512 bytes on the size of files fails in the midst of writing.
  std::ofstream(path("old.safetensors")) << "old";
  const Finished done =
      run_process({"/bin/sh", "-c", "ulimit -f 1; exec \"$0\" \"$@\"", JFA_TOOL_PATH, "run",
                   path("in.safetensors"), "-o", path("old.safetensors"), "--device", "cpu"},
                  path(""));
  EXPECT_EQ(done.code, 1);
  EXPECT_NE(done.err.find("old.safetensors: cannot write: File too large"), std::string::npos)
      << done.err;
  EXPECT_EQ(fs::file_size(path("old.safetensors")), 3U) << "the old file is gone";
  fs::remove(path("old.safetensors"));
  expect_only_input();
}

}  // namespace
}  // namespace jfa
