// jfa wiring: the rings, gates and turns of a kernel, who releases each and who waits.
#include <iostream>
#include <memory>

#include "commands.hpp"
#include "subjects.hpp"

namespace jfa::tool {
namespace {

struct WiringArguments {
  RunArguments run;
  bool graph = false;
};

}  // namespace

void add_wiring(CLI::App& app) {
  auto arguments = std::make_shared<WiringArguments>();
  CLI::App& command =
      *app.add_subcommand("wiring", "Show who waits on what, and who releases it, in a kernel");
  command.footer("Read off one run in the emulator.");
  add_run_arguments(command, arguments->run);
  command.add_flag("--graph", arguments->graph, "Print a Graphviz graph instead of a table");
  command.callback([arguments] {
    const emulator::Trace trace = traced_run(arguments->run);
    (arguments->graph ? emulator::write_wiring_graph : emulator::write_wiring)(trace, std::cout);
  });
}

}  // namespace jfa::tool
