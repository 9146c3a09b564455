// jfa info: what is built in, and what it runs on.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "commands.hpp"
#include "cpu/team.hpp"
#include "cuda/card.hpp"
#include "cuda/cuda_engine.hpp"
#include "machine.hpp"
#include "report.hpp"

namespace jfa::tool {
namespace {

/// What an engine offers, where it is built in.
struct Engine {
  Device device;
  const char* name;
  std::string kernels;
};

/// The kernels of a direction, one after another.
template <class Traits>
std::string listed(const char* direction, const std::vector<Traits>& kernels) {
  std::string all;
  for (const Traits& traits : kernels) {
    all += (all.empty() ? std::string(direction) + ": " : "; ") + describe(traits);
  }
  return all;
}

std::string gpu_kernels() {
  return listed("forward", cuda::forward_traits()) + "; " +
         listed("backward", cuda::backward_traits());
}

std::vector<Engine> all_engines() {
  return {{Device::kCpu, "cpu", "forward and backward; bf16, fp16, fp32; head_dim 1 to 256"},
          {Device::kCuda, "cuda", gpu_kernels()},
          {Device::kEmulator, "emulator", "the kernels of cuda, every access checked; slow"}};
}

std::string describe(const cuda::Card& card) {
  return card.name + ", compute capability " + std::to_string(card.major) + "." +
         std::to_string(card.minor) + ", " + counted(card.processors, "multiprocessor");
}

void list_cards(std::ostream& text, nlohmann::ordered_json& result) {
  result["cards"] = nlohmann::ordered_json::array();
  for (const cuda::Card& card : cuda::all_cards()) {
    const std::string name = "cuda:" + std::to_string(card.ordinal);
    text << "card      " << name << ": " << describe(card) << ", driver " << cuda::driver_version()
         << (card.usable.ok() ? "" : " (no kernels for it)") << '\n';
    result["cards"].push_back(
        {{"device", name},
         {"name", card.name},
         {"compute_capability", std::to_string(card.major) + "." + std::to_string(card.minor)},
         {"multiprocessors", card.processors},
         {"driver", cuda::driver_version()},
         {"usable", card.usable.ok()}});
  }
}

void info(const std::string& json) {
  nlohmann::ordered_json result = result_header({});
  result["engines"] = nlohmann::ordered_json::array();
  std::ostream& text = text_stream(json);
  text << "jfa       " << version() << " (commit " << result["commit"].get<std::string>() << ", "
       << compiler() << ")\n"
       << "machine   " << cpu_model() << ", " << counted(cpu::thread_count(0), "thread") << ", "
       << simd_target() << " (SIMD target in use)\n";
  list_cards(text, result);
  for (const Engine& engine : all_engines()) {
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
