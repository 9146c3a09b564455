#include "arguments.hpp"

#include <charconv>
#include <iostream>

#include "batch/suite.hpp"
#include "builtin_suite.hpp"

namespace jfa::tool {
namespace {

constexpr const char* kDevices = "auto, cuda, cpu or emulator";

Device device_of(const std::string& name) {
  if (name == "cpu") return Device::kCpu;
  if (name == "cuda") return Device::kCuda;
  if (name == "emulator") return Device::kEmulator;
  if (name != "auto") refuse_argument("--device", name, kDevices);
  const std::optional<std::string> reason = why_unavailable(Device::kCuda);
  if (!reason) return Device::kCuda;
  std::cerr << "jfa: note: using cpu: " << *reason << '\n';
  return Device::kCpu;
}

}  // namespace

void add_engine_arguments(CLI::App& command, EngineArguments& arguments) {
  command
      .add_option(
          "--device", arguments.device,
          std::string("Where to compute: ") + kDevices + "; auto takes the GPU where there is one")
      ->capture_default_str();
  command.add_option("--threads", arguments.threads, "Threads of the CPU engine; 0: all cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

Execution execution_of(const EngineArguments& arguments) {
  Execution execution;
  execution.device = device_of(arguments.device);
  execution.threads = arguments.threads;
  if (const std::optional<std::string> reason = why_unavailable(execution.device)) {
    throw Error(ErrorCode::kUnavailable, *reason);
  }
  return execution;
}

void note_left_out(const std::string& name, const Error& error) {
  std::cerr << "jfa: note: " << name << " is left out: " << error.what() << '\n';
}

std::optional<std::string> why_unavailable(Device device) {
  // The smallest call there is: a batch of no sequences.
  const std::int32_t offset = 0;
  constexpr std::int64_t kHeadDim = 64;
  Inputs inputs;
  inputs.q = inputs.k = inputs.v =
      packed(static_cast<const void*>(nullptr), DType::kBf16, 0, 1, kHeadDim);
  inputs.kv_offsets = IndexView(&offset, 1);
  Execution execution;
  execution.device = device;
  try {
    workspace_sizes(inputs, {}, execution);
    return std::nullopt;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnavailable) throw;
    return error.what();
  }
}

std::string device_name(Device device) {
  switch (device) {
    case Device::kCpu:
      return "cpu";
    case Device::kCuda:
      return "cuda:0";
    case Device::kEmulator:
      return "emulator";
  }
  return "unknown";
}

void add_suite_arguments(CLI::App& command, SuiteArguments& arguments) {
  command.add_option("--suite", arguments.suite,
                     "Suite file (JSON); default: the built-in suite for CPUs");
  command.add_option("--case", arguments.name_part,
                     "Only the cases whose names hold this; default: all");
}

std::vector<Case> select_cases(const SuiteArguments& arguments) {
  const std::vector<Case> all =
      arguments.suite.empty() ? parse_suite(kBuiltinSuite) : read_suite(arguments.suite);
  const std::string suite = arguments.suite.empty() ? "the built-in suite" : arguments.suite;
  std::vector<Case> selected;
  std::string names;
  for (const Case& c : all) {
    if (c.name.find(arguments.name_part) != std::string::npos) selected.push_back(c);
    names += (names.empty() ? "" : ", ") + c.name;
  }
  if (selected.empty()) {
    throw Error(ErrorCode::kInvalidArgument, suite + " has no case whose name holds \"" +
                                                 arguments.name_part + "\", it has: " + names);
  }
  std::cerr << "jfa: note: " << selected.size() << " of " << all.size() << " cases of " << suite
            << '\n';
  return selected;
}

void add_json_argument(CLI::App& command, std::string& path) {
  command.add_option("--json", path,
                     "Write the results as JSON to this file; -: to standard output");
}

void refuse_argument(const std::string& option, const std::string& value,
                     const std::string& allowed) {
  throw CLI::ValidationError(option + " is " + value + ", must be " + allowed,
                             CLI::ExitCodes::ValidationError);
}

std::vector<std::int64_t> parse_integers(const std::string& option, std::string_view text,
                                         std::size_t count) {
  std::vector<std::int64_t> values;
  const char* next = text.data();
  const char* const end = next + text.size();
  while (true) {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(next, end, value);
    if (error != std::errc() || (stop != end && *stop != ',')) break;
    values.push_back(value);
    if (stop == end) {
      if (count != 0 && values.size() != count) break;
      return values;
    }
    next = stop + 1;
  }
  refuse_argument(option, std::string(text),
                  (count == 0 ? std::string("integers") : std::to_string(count) + " integers") +
                      " between commas");
}

}  // namespace jfa::tool
