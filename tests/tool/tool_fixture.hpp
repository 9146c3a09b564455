// What the tests of the command line share: a folder, the tool, a small input file.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "process.hpp"
#include "safetensors/safetensors.hpp"

namespace jfa {

namespace fs = std::filesystem;
using nlohmann::json;

inline HostTensor indices(const std::vector<std::int64_t>& values, DType dtype = DType::kI32) {
  HostTensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, static_cast<double>(values[static_cast<std::size_t>(i)]));
  }
  return tensor;
}

/// A folder of its own for each test, removed with what is in it.
class ToolTest : public testing::Test {
 protected:
  ToolTest() { fs::create_directories(folder_); }
  ~ToolTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }

  Finished jfa(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), JFA_TOOL_PATH);
    return run_process(arguments, folder_);
  }

  /// Expects exit status `code`, and an error that holds `message`.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& message,
                      int code) const {
    const Finished done = jfa(arguments);
    EXPECT_EQ(done.code, code) << done.err;
    EXPECT_NE(done.err.find("jfa: error: "), std::string::npos) << done.err;
    EXPECT_NE(done.err.find(message), std::string::npos) << done.err;
  }

  /// Expects that `jfa run` of in.safetensors fails and leaves no file but that one.
  void expect_run_refused(const std::vector<std::string>& flags, const std::string& message,
                          int code = 1) const {
    std::vector<std::string> arguments{
        "run", path("in.safetensors"), "-o", path("out.safetensors"), "--device", "cpu"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    expect_refused(arguments, message, code);
    expect_only_input();
  }

  void expect_only_input() const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(name == "in.safetensors" || name == "stdout" || name == "stderr") << name;
    }
  }

  /// Runs in.safetensors into out.safetensors with --check and returns the check's JSON.
  json run_checked(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {"run", path("in.safetensors"), "-o", path("out.safetensors"),
                                 "--device", "cpu", "--check", "--json", "-"});
    const Finished done = jfa(flags);
    EXPECT_EQ(done.code, 0) << done.err;
    return json::parse(done.out);
  }

  /// A batch of three sequences of 3, 0 and 4 rows that a test may change before it is written.
  struct File {
    std::map<std::string, HostTensor> tensors;

    void write(const std::string& to) const {
      safetensors::Tensors pointers;
      for (const auto& [name, tensor] : tensors) pointers[name] = &tensor;
      safetensors::write(to, pointers);
    }
  };
  static File small_file(DType dtype = DType::kF32) {
    File file;
    file.tensors["q"] = random_tensor(dtype, {7, 4, 8}, 1);
    file.tensors["k"] = random_tensor(dtype, {7, 2, 8}, 2);
    file.tensors["v"] = random_tensor(dtype, {7, 2, 8}, 3);
    file.tensors["q_offsets"] = indices({0, 3, 3, 7});
    file.tensors["kv_offsets"] = indices({0, 3, 3, 7});
    return file;
  }

  void write_input(const File& file) const { file.write(path("in.safetensors")); }

  /// Expects that the small file is refused once `change` has been made to it.
  void expect_file_refused(const std::function<void(std::map<std::string, HostTensor>&)>& change,
                           const std::string& message,
                           const std::vector<std::string>& flags = {}) const {
    File file = small_file();
    change(file.tensors);
    write_input(file);
    expect_run_refused(flags, message);
  }

 private:
  fs::path folder_ = fs::path(testing::TempDir()) /
                     ("jfa_tool_" + std::to_string(getpid()) + "_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name());
};

}  // namespace jfa
