// The kernels that the emulator commands work on.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "machine/emulator/verify.hpp"

namespace jfa::tool {

/// Kernels whose name contains `part`; "" is all. Throws Error naming what there is, if none does.
std::vector<emulator::Subject> select_subjects(const std::string& part);

/// One kernel on one schedule.
struct RunArguments {
  std::string kernel;
  std::string schedule = "round-robin";
  std::uint64_t seed = 0;
};
void add_run_arguments(CLI::App& command, RunArguments& arguments);

/// The kernel's run with every event kept. Throws where the run shows a defect, with the report.
emulator::Trace traced_run(const RunArguments& arguments);

}  // namespace jfa::tool
