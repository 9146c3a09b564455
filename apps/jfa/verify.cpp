// jfa verify: kernels in the emulator under many schedules, and with each synchronization mutated.
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "commands.hpp"
#include "report.hpp"
#include "subjects.hpp"

namespace jfa::tool {
namespace {

struct VerifyArguments {
  std::string kernel;
  int seeds = 8;
  bool mutate = false;
  std::string justified;
};

void verify(const VerifyArguments& arguments) {
  const std::vector<emulator::Subject> subjects = select_subjects(arguments.kernel);
  emulator::VerifyOptions options;
  options.seeds = arguments.seeds;
  options.mutate = arguments.mutate;
  if (!arguments.justified.empty()) {
    options.justified = emulator::load_justified(arguments.justified);
  }
  if (const int problems = emulator::verify(subjects, options, std::cout); problems > 0) {
    throw std::runtime_error(counted(problems, "problem") + " found");
  }
}

}  // namespace

void add_verify(CLI::App& app) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App& command =
      *app.add_subcommand("verify", "Search kernels for races, deadlocks and missing fences");
  command.footer(
      "Runs each kernel in the emulator under every schedule and seed. With --mutate, drops or\n"
      "perturbs each synchronization of each kernel in turn: what nobody notices is reported.");
  command.add_option("--kernel", arguments->kernel, "Only kernels whose name contains this");
  command.add_option("--seeds", arguments->seeds, "Seeds of each schedule")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command.add_flag("--mutate", arguments->mutate, "Show that every synchronization is needed");
  command.add_option("--justified", arguments->justified,
                     "JSON list of mutations that may go unnoticed (docs/emulator_survivors.json)");
  command.callback([arguments] { verify(*arguments); });
}

}  // namespace jfa::tool
