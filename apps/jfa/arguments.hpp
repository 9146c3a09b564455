// Arguments that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batch/case.hpp"
#include "jfa/attention.hpp"

namespace jfa::tool {

struct EngineArguments {
  std::string device = "auto";
  int threads = 0;
};
void add_engine_arguments(CLI::App& command, EngineArguments& arguments);

/// The device and the threads asked for; a device that is not built in is refused. Says on stderr
/// what auto came to where that is not a GPU.
Execution execution_of(const EngineArguments& arguments);

/// `compute(execution)`. Where --device auto has taken the GPU and its engine does not offer what
/// is asked, says so and computes on the CPU, to which `execution` then is set.
template <typename Compute>
auto with_fallback(const EngineArguments& arguments, Execution& execution, Compute&& compute) {
  try {
    return compute(execution);
  } catch (const Error& error) {
    const bool may_fall_back = arguments.device == "auto" && execution.device == Device::kCuda;
    if (!may_fall_back || error.code() != ErrorCode::kUnsupported) throw;
    std::cerr << "jfa: note: using cpu: " << error.what() << '\n';
    execution.device = Device::kCpu;
    return compute(execution);
  }
}

/// Says on stderr that an engine does not offer what a case of a suite asks.
void note_left_out(const std::string& name, const Error& error);

/// Why a device cannot be used, in the library's words; nullopt where it can.
std::optional<std::string> why_unavailable(Device device);

/// "cpu", "cuda:0", "emulator"
std::string device_name(Device device);

struct SuiteArguments {
  std::string suite;
  std::string name_part;
};
void add_suite_arguments(CLI::App& command, SuiteArguments& arguments);

/// The cases whose names hold the part asked for; at least one, or an error. Without a suite file
/// the built-in suite for CPUs, which is said on stderr.
std::vector<Case> select_cases(const SuiteArguments& arguments);

void add_json_argument(CLI::App& command, std::string& path);

/// Throws the parser's own error, which ends the tool as one of usage.
[[noreturn]] void refuse_argument(const std::string& option, const std::string& value,
                                  const std::string& allowed);

/// `text` as `count` integers (any number where count is 0) between commas.
std::vector<std::int64_t> parse_integers(const std::string& option, std::string_view text,
                                         std::size_t count);

}  // namespace jfa::tool
