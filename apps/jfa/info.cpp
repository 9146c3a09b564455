// jfa info: what is built in, and what it runs on.
#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "arguments.hpp"
#include "commands.hpp"
#include "cpu/team.hpp"
#include "machine.hpp"
#include "report.hpp"

namespace jfa::tool {
namespace {

/// What an engine offers, where it is built in.
struct Engine {
  Device device;
  const char* name;
  const char* kernels;
};
constexpr std::array<Engine, 3> kEngines{
    {{Device::kCpu, "cpu", "forward and backward; bf16, fp16, fp32; head_dim 1 to 256"},
     {Device::kCuda, "cuda", ""},
     {Device::kEmulator, "emulator", ""}}};

void info(const std::string& json) {
  nlohmann::ordered_json result = result_header({});
  result["engines"] = nlohmann::ordered_json::array();
  std::ostream& text = text_stream(json);
  text << "jfa       " << version() << " (commit " << result["commit"].get<std::string>() << ", "
       << compiler() << ")\n"
       << "machine   " << cpu_model() << ", " << counted(cpu::thread_count(0), "thread") << ", "
       << simd_target() << " (SIMD target in use)\n";
  for (const Engine& engine : kEngines) {
    const std::optional<std::string> reason = why_unavailable(engine.device);
    text << "engine    " << engine.name << ": " << (reason ? *reason : engine.kernels) << '\n';
    nlohmann::ordered_json entry{{"name", engine.name}, {"available", !reason}};
    entry[reason ? "reason" : "kernels"] = reason ? *reason : engine.kernels;
    result["engines"].push_back(entry);
  }
  write_json(json, result);
}

}  // namespace

void add_info(CLI::App& app) {
  auto json = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand("info", "Say what is built in and what it runs on");
  add_json_argument(command, *json);
  command.callback([json] { info(*json); });
}

}  // namespace jfa::tool
