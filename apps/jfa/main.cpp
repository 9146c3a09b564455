// The jfa tool: attention on jagged batches from the command line.
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>

#include "commands.hpp"
#include "jfa/jfa.hpp"

namespace jfa::tool {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

void add_commands(CLI::App& app) {
  app.require_subcommand(1);
  app.set_version_flag("--version", version());
  add_run(app);
  add_bench(app);
  add_check(app);
  add_gen(app);
  add_info(app);
#ifdef JFA_EMULATOR
  add_verify(app);
  add_trace(app);
  add_wiring(app);
#endif
}

/// Says what there is, where the parser would only say that a word is not expected.
void refuse_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == argv[1]) return;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  throw CLI::ExtrasError("unknown command " + std::string(argv[1]) + ", must be one of " + known,
                         CLI::ExitCodes::ExtrasError);
}

int fail(const std::string& message, int code) {
  std::cout.flush();
  std::cerr << "jfa: error: " << message << '\n';
  return code;
}

int run_tool(int argc, char** argv) {
  CLI::App app("Attention on jagged batches: run it, check it, time it.", "jfa");
  try {
    add_commands(app);
    refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
    if (!std::cout.flush()) throw std::runtime_error("standard output: cannot write");
    return 0;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return fail(error.what() + std::string("\nRun 'jfa --help' or 'jfa COMMAND --help'."), kUsage);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", kFailed);
  } catch (const std::exception& error) {
    return fail(error.what(), kFailed);
  }
}

}  // namespace
}  // namespace jfa::tool

int main(int argc, char** argv) {
  // A write past a file-size limit then fails as one to a full disk does.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return jfa::tool::run_tool(argc, argv);
  } catch (...) {  // not even the message could be written
    return jfa::tool::kFailed;
  }
}
