// Parsing of suite files.
#include "batch/suite.hpp"

#include <gtest/gtest.h>

#include <string>

#include "jfa/error.hpp"

namespace jfa {
namespace {

/// A suite of one case: the fields that must be there, then `more`.
std::string suite_with(const std::string& more, const std::string& lengths = "[3,0,5]") {
  return R"([{"name":"x","dtype":"bf16","heads_q":4,"heads_kv":2,"head_dim":64,"kv_lengths":)" +
         lengths + (more.empty() ? "" : "," + more) + "}]";
}

std::string error_of(const std::string& text) {
  try {
    parse_suite(text);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

void expect_refused(const std::string& text, const std::string& message) {
  const std::string error = error_of(text);
  EXPECT_NE(error.find(message), std::string::npos) << text << "\n  gives: " << error;
}

TEST(SuiteTest, ParsesTheLeast) {
  const std::vector<Case> cases = parse_suite(suite_with(""));
  ASSERT_EQ(cases.size(), 1U);
  const Case& c = cases[0];
  EXPECT_EQ(c.name, "x");
  EXPECT_EQ(c.dtype, DType::kBf16);
  EXPECT_EQ(c.heads_q, 4);
  EXPECT_EQ(c.heads_kv, 2);
  EXPECT_EQ(c.head_dim, 64);
  EXPECT_EQ(c.kv_lengths, (std::vector<std::int64_t>{3, 0, 5}));
  EXPECT_TRUE(c.q_lengths.empty());
  EXPECT_FALSE(c.causal);
  EXPECT_FALSE(c.broadcast_q);
  EXPECT_EQ(c.window.left, -1);
  EXPECT_EQ(c.window.right, -1);
  EXPECT_FALSE(c.block_sparse);
}

TEST(SuiteTest, ParsesEveryField) {
  const std::vector<Case> cases = parse_suite(
      suite_with(R"("causal":true,"window":[7,-1],"broadcast_q":false,"q_lengths":[1,2,3],)"
                 R"("block_sparse":{"block":[64,128],"local":2,"global":1})"));
  const Case& c = cases.at(0);
  EXPECT_TRUE(c.causal);
  EXPECT_EQ(c.window.left, 7);
  EXPECT_EQ(c.window.right, -1);
  EXPECT_EQ(c.q_lengths, (std::vector<std::int64_t>{1, 2, 3}));
  ASSERT_TRUE(c.block_sparse);
  EXPECT_EQ(c.block_sparse->block_q, 64);
  EXPECT_EQ(c.block_sparse->block_kv, 128);
  EXPECT_EQ(c.block_sparse->local, 2);
  EXPECT_EQ(c.block_sparse->global, 1);
}

TEST(SuiteTest, ParsesBroadcast) {
  const std::vector<Case> cases = parse_suite(suite_with(R"("broadcast_q":true,"q_length":32)"));
  EXPECT_TRUE(cases.at(0).broadcast_q);
  EXPECT_EQ(cases.at(0).q_length, 32);
  EXPECT_TRUE(parse_suite("[]").empty());
}

TEST(SuiteTest, ReadsTheProjectsSuites) {
  const std::string folder = JFA_SOURCE_DIR "/bench/";
  EXPECT_EQ(read_suite(folder + "suite.json").size(), 25U);
  EXPECT_GE(read_suite(folder + "suite_cpu.json").size(), 25U);
}

TEST(SuiteTest, RefusesOtherJson) {
  expect_refused("", "not valid JSON");
  expect_refused("[{]", "not valid JSON at byte 3");
  expect_refused("{}", "the suite is {}, must be a list of cases");
  expect_refused("[1]", "entry 0: the case is 1, must be an object");
  expect_refused("[1e999]", "a number too large");
  expect_refused(std::string(100'000, '['), "nests deeper than 4 levels");
  expect_refused(R"([{"name":"x","name":"y"}])", R"(field "name" is there twice)");
  expect_refused(R"([{"dtype":"bf16"}])", "name is missing");
  expect_refused(R"([{"name":""}])", R"(name is "", must be a string, not empty)");
  expect_refused(R"([{"name":7}])", "name is 7, must be a string");
  expect_refused(R"([{"name":"x"}])", R"(case "x": dtype is missing)");
}

TEST(SuiteTest, RefusesValuesByName) {
  expect_refused(R"([{"name":"x","dtype":"fp64"}])", R"(dtype is "fp64", must be "bf16", "fp16")");
  expect_refused(R"([{"name":"x","dtype":"bf16","heads_q":0}])",
                 "heads_q is 0, must be an integer from 1");
  expect_refused(R"([{"name":"x","dtype":"bf16","heads_q":1.5}])", "heads_q is 1.5");
  expect_refused(R"([{"name":"x","dtype":"bf16","heads_q":18446744073709551615}])",
                 "heads_q is 18446744073709551615");
  expect_refused(suite_with("", "[3,-1]"), "kv_lengths[1] is -1, must be an integer from 0");
  expect_refused(suite_with("", "3"), "kv_lengths is 3, must be a list of integers");
  expect_refused(suite_with("", "[68719476736,1]"), "kv_lengths sum to more than");
  expect_refused(suite_with(R"("causal":1)"), "causal is 1, must be true or false");
  expect_refused(suite_with(R"("window":[1])"), "window is [1], must be a list of two integers");
  expect_refused(suite_with(R"("window":[-2,0])"), "window[0] is -2, must be an integer from -1");
  expect_refused(suite_with(R"("colour":1)"), R"(unknown field "colour", known: name, dtype)");
  expect_refused(R"([{"name":"x","dtype":"bf16","heads_q":3,"heads_kv":2,"head_dim":64,)"
                 R"("kv_lengths":[]}])",
                 "heads_q is 3, must be a multiple of heads_kv = 2");
  expect_refused(R"([{"name":"x","dtype":"bf16","heads_q":2,"heads_kv":2,"head_dim":257}])",
                 "head_dim is 257, must be an integer from 1 to 256");
}

TEST(SuiteTest, RefusesFieldsThatDoNotGoTogether) {
  expect_refused(suite_with(R"("broadcast_q":true)"), "q_length is missing");
  expect_refused(suite_with(R"("q_length":3)"), "q_length is given, must be absent");
  expect_refused(suite_with(R"("broadcast_q":true,"q_length":3,"q_lengths":[1,1,1])"),
                 "q_lengths is given, must be absent with broadcast_q");
  expect_refused(suite_with(R"("q_lengths":[1])"), "q_lengths has 1 entries, must have 3");
  expect_refused(suite_with(R"("broadcast_q":true,"q_length":68719476736)"),
                 "q_length is 68719476736, must be at most");
}

TEST(SuiteTest, RefusesBlockPatterns) {
  const auto with = [](const std::string& fields) {
    return suite_with(R"("block_sparse":{)" + fields + "}");
  };
  expect_refused(with(""), "block is missing");
  expect_refused(with(R"("block":[64,100],"local":0,"global":0)"),
                 "block_sparse.block holds 100, must be positive multiples of 64");
  expect_refused(with(R"("block":[64,64],"local":-1,"global":0)"), "block_sparse.local is -1");
  expect_refused(with(R"("block":[64],"local":1,"global":0)"), "block_sparse.block is [64]");
  expect_refused(with(R"("block":[64,64],"local":1,"global":0,"x":0)"), R"(unknown field "x")");
  expect_refused(suite_with(R"("block_sparse":[])"), "block_sparse is [], must be an object");
}

TEST(SuiteTest, RefusesNamesThatRepeat) {
  const std::string one = suite_with("").substr(1, suite_with("").size() - 2);
  expect_refused("[" + one + "," + one + "]", R"(entry 1: name "x" is there twice)");
}

TEST(SuiteTest, SaysWhichFile) {
  try {
    read_suite("/no/such/suite.json");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/no/such/suite.json: cannot open: No such file or directory");
  }
}

}  // namespace
}  // namespace jfa
