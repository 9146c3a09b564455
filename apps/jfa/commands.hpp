// The commands of the tool, one a file. Each function adds a command to the parser; parsing runs
// it. A command fails with an exception, whose message is the user's.
#pragma once

#include <CLI/CLI.hpp>

namespace jfa::tool {

void add_run(CLI::App& app);
void add_bench(CLI::App& app);
void add_check(CLI::App& app);
void add_gen(CLI::App& app);
void add_info(CLI::App& app);
// With the emulator built in:
void add_verify(CLI::App& app);
void add_trace(CLI::App& app);
void add_wiring(CLI::App& app);

}  // namespace jfa::tool
