// jfa trace: one launch of a kernel in the emulator, event by event.
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "commands.hpp"
#include "files/files.hpp"
#include "subjects.hpp"

namespace jfa::tool {
namespace {

struct TraceArguments {
  RunArguments run;
  std::string perfetto;
  std::string svg;
};

using Writer = void (*)(const emulator::Trace&, std::ostream&);

void write_form(const std::string& path, const emulator::Trace& trace, Writer write) {
  if (path.empty()) return;
  std::ostringstream text;
  write(trace, text);
  OutputFile file(path);
  file.append(text.str());
  file.commit();
  std::cout << "wrote " << path << '\n';
}

void trace(const TraceArguments& arguments) {
  const emulator::Trace trace = traced_run(arguments.run);
  emulator::write_waiting(trace, std::cout);
  write_form(arguments.perfetto, trace, emulator::write_perfetto);
  write_form(arguments.svg, trace, emulator::write_svg);
}

}  // namespace

void add_trace(CLI::App& app) {
  auto arguments = std::make_shared<TraceArguments>();
  CLI::App& command =
      *app.add_subcommand("trace", "Record one launch: who waits where, released by whom");
  command.footer(
      "Prints waiting by role and barrier, in events passed: the emulator's trace is the order of\n"
      "events, not time.");
  add_run_arguments(command, arguments->run);
  command.add_option("-o,--perfetto", arguments->perfetto, "Perfetto JSON file to write");
  command.add_option("--svg", arguments->svg, "Timeline to draw");
  command.callback([arguments] { trace(*arguments); });
}

}  // namespace jfa::tool
