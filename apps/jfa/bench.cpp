// jfa bench: times the cases of a suite.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "commands.hpp"
#include "cpu/team.hpp"
#include "gpu_workload.hpp"
#include "machine.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "targets.hpp"
#include "workload.hpp"

namespace jfa::tool {
namespace {

struct BenchArguments {
  SuiteArguments suite;
  EngineArguments engine;
  std::string direction = "fwd,bwd";
  double seconds = 1;
  double rest = 0;
  bool deterministic = false;
  std::uint64_t seed = 1;
  std::string targets;
  std::string json;
};

/// What the machine can do at most, a second; 0 where that is not known.
struct Ceilings {
  double flops = 0;
  double bytes = 0;
};

/// What a bench runs on, and how well that could do.
struct Machine {
  Execution execution;
  std::optional<cuda::Card> card;  ///< with device cuda
  Ceilings ceilings;
};

struct Result {
  std::string name;
  Direction direction;
  Work work;
  Timing timing;
  double floor_ms = 0;  ///< what the work takes at the ceilings
  std::size_t copies = 1;
  double error = 0;  ///< GPU: relative, of sampled rows
};

std::vector<Direction> directions_of(const std::string& text) {
  if (text == "fwd") return {Direction::kForward};
  if (text == "bwd") return {Direction::kBackward};
  if (text == "fwd,bwd" || text == "bwd,fwd") return {Direction::kForward, Direction::kBackward};
  refuse_argument("--direction", text, "fwd, bwd or fwd,bwd");
}

/// Measured on that card: an 8192^3 product of bf16 matrices, a copy within its memory.
Ceilings ceilings_of(const cuda::Card& card) {
  if (card.name.find("H200") == std::string::npos) return {};
  return {785e12, 4.3e12};
}

Machine machine_of(const EngineArguments& arguments) {
  Machine machine{execution_of(arguments), std::nullopt, {}};
  if (machine.execution.device == Device::kEmulator) {
    refuse_argument("--device", arguments.device, "auto, cuda or cpu: an emulator has no times");
  }
  if (machine.execution.device == Device::kCuda) {
    machine.card = cuda::all_cards().at(0);
    machine.ceilings = ceilings_of(*machine.card);
    return machine;
  }
  const int threads = cpu::thread_count(machine.execution.threads);
  machine.ceilings = {measure_fp32_peak(threads), measure_copy_bandwidth(threads)};
  return machine;
}

std::string describe(const Machine& machine) {
  const Ceilings& most = machine.ceilings;
  const std::string rates = significant(most.flops / 1e12, 3) + " TFLOP/s, copy " +
                            significant(most.bytes / 1e9, 4) + " GB/s";
  if (!machine.card) {
    return cpu_model() + ", " + counted(cpu::thread_count(machine.execution.threads), "thread") +
           ", " + simd_target() + ": measured fp32 peak " + rates;
  }
  const std::string card = machine.card->name + ", driver " + cuda::driver_version();
  return most.flops > 0 ? card + ": the floor is of bf16 products " + rates : card;
}

double floor_ms(const Work& work, const Ceilings& ceilings) {
  if (ceilings.flops == 0) return 0;
  return 1000 * std::max(work.flops / ceilings.flops, work.bytes / ceilings.bytes);
}

/// The columns of the table; peers' only with targets.
class BenchTable {
 public:
  BenchTable(std::ostream& stream, const std::optional<Targets>& targets, bool gpu)
      : targets_(targets), gpu_(gpu), table_(stream, columns(targets.has_value(), gpu)) {}

  void row(const Result& r) {
    const double seconds = r.timing.median_ms / 1000;
    std::vector<std::string> cells{
        r.name,
        name_of(r.direction),
        fixed(r.timing.median_ms, 3),
        fixed(r.timing.min_ms, 3),
        significant(r.work.flops / seconds / 1e12, 3),
        significant(r.work.bytes / seconds / 1e9, 3),
        r.floor_ms > 0 ? fixed(100 * r.floor_ms / r.timing.median_ms, 1) : "-"};
    if (gpu_) {
      cells.push_back(fixed(r.timing.plan_ms, 4));
      cells.push_back(fixed(r.timing.host_us, 1));
      cells.push_back(scientific(r.error, 1));
    }
    if (targets_) {
      const Target* found = targets_->find(r.name, name_of(r.direction));
      const Target target = found != nullptr ? *found : Target{};
      add_peer(target.best_ms, target.best, r, cells);
      add_peer(target.fa3_ms, "", r, cells);
    }
    table_.row(cells);
  }

 private:
  static std::vector<Table::Column> columns(bool peers, bool gpu) {
    std::vector<Table::Column> all{{"case", 32},   {"dir", 3},  {"ms", 10},        {"min ms", 10},
                                   {"TFLOP/s", 8}, {"GB/s", 6}, {"% of floor", 10}};
    if (gpu) all.insert(all.end(), {{"plan ms", 8}, {"host us", 7}, {"error", 7}});
    if (peers) {
      all.insert(all.end(), {{"best peer ms", 18}, {"faster", 7}, {"FA3 ms", 9}, {"faster", 7}});
    }
    return all;
  }

  static void add_peer(double peer_ms, const std::string& who, const Result& r,
                       std::vector<std::string>& cells) {
    const bool known = peer_ms > 0;
    cells.push_back(known ? fixed(peer_ms, 3) + (who.empty() ? "" : " " + who) : "-");
    cells.push_back(known ? fixed(peer_ms / r.timing.median_ms, 2) + "x" : "-");
  }

  const std::optional<Targets>& targets_;
  bool gpu_;
  Table table_;
};

nlohmann::ordered_json json_of(const Result& r, const Execution& execution,
                               const std::optional<Targets>& targets) {
  const double seconds = r.timing.median_ms / 1000;
  nlohmann::ordered_json entry{{"name", r.name},
                               {"direction", name_of(r.direction)},
                               {"device", device_name(execution.device)},
                               {"ms", r.timing.median_ms},
                               {"ms_min", r.timing.min_ms},
                               {"repeats", r.timing.repeats},
                               {"tflops", r.work.flops / seconds / 1e12},
                               {"gbps", r.work.bytes / seconds / 1e9},
                               {"flops", r.work.flops},
                               {"bytes", r.work.bytes},
                               {"copies", r.copies}};
  if (r.floor_ms > 0) {
    entry["floor_ms"] = r.floor_ms;
    entry["percent_of_floor"] = 100 * r.floor_ms / r.timing.median_ms;
  }
  if (execution.device == Device::kCuda) {
    entry["plan_ms"] = r.timing.plan_ms;
    entry["host_us"] = r.timing.host_us;
    entry["sampled_error"] = r.error;
  }
  const Target* target = targets ? targets->find(r.name, name_of(r.direction)) : nullptr;
  if (target != nullptr && target->best_ms > 0) {
    entry["best_ms"] = target->best_ms;
    entry["best"] = target->best;
  }
  if (target != nullptr && target->fa3_ms > 0) entry["fa3_ms"] = target->fa3_ms;
  return entry;
}

nlohmann::ordered_json bench_header(const BenchArguments& arguments, const Machine& machine,
                                    const std::optional<Targets>& targets) {
  nlohmann::ordered_json header = result_header(machine.execution);
  header[machine.card ? "bf16_peak_tflops" : "fp32_peak_tflops"] = machine.ceilings.flops / 1e12;
  header["copy_gbps"] = machine.ceilings.bytes / 1e9;
  header["seed"] = arguments.seed;
  header["seconds"] = arguments.seconds;
  if (machine.card) header["rest"] = arguments.rest;
  header["deterministic"] = arguments.deterministic;
  if (targets) header["targets_card"] = targets->card;
  return header;
}

/// Times one case in the directions asked for; one that no kernel of the build takes is left out.
std::vector<Result> time_on_gpu(const Case& c, const std::vector<Direction>& directions,
                                const Machine& machine, const BenchArguments& arguments) {
  const bool backward = directions.back() == Direction::kBackward;
  GpuWorkload workload(c, machine.execution, *machine.card, backward, arguments.deterministic,
                       arguments.seed);
  std::vector<Result> results;
  for (const Direction direction : directions) {
    try {
      const Work work = work_of(workload.batch(), direction);
      const Timing timing = workload.time(direction, arguments.seconds, arguments.rest);
      results.push_back({c.name, direction, work, timing, floor_ms(work, machine.ceilings),
                         workload.copies(), workload.sampled_error(direction)});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      note_left_out(c.name + " " + name_of(direction), error);
    }
  }
  return results;
}

std::vector<Result> time_on_cpu(const Case& c, const std::vector<Direction>& directions,
                                const Machine& machine, const BenchArguments& arguments) {
  const bool backward = directions.back() == Direction::kBackward;
  Workload workload(c, machine.execution, backward, arguments.seed);
  std::vector<Result> results;
  for (const Direction direction : directions) {
    const Work work = work_of(workload.batch(), direction);
    const Timing timing =
        time_calls([&](std::size_t i) { workload.call(direction, i); }, arguments.seconds);
    results.push_back(
        {c.name, direction, work, timing, floor_ms(work, machine.ceilings), workload.copies()});
  }
  return results;
}

/// Results that are wrong are no results.
void require_right(const std::vector<Result>& results) {
  constexpr double kMaxError = 0.01;  // several times bf16's
  for (const Result& result : results) {
    if (result.error <= kMaxError) continue;
    throw std::runtime_error(result.name + " is computed wrong: relative error " +
                             scientific(result.error, 1) + " in sampled rows");
  }
}

void bench(const BenchArguments& arguments) {
  const std::vector<Direction> directions = directions_of(arguments.direction);
  require_json_writable(arguments.json);
  const std::vector<Case> cases = select_cases(arguments.suite);
  std::optional<Targets> targets;
  if (!arguments.targets.empty()) targets = read_targets(arguments.targets);

  const Machine machine = machine_of(arguments.engine);
  std::ostream& text = text_stream(arguments.json);
  text << describe(machine) << '\n';
  if (targets) text << "peers' figures: " << targets->card << '\n';

  Progress progress(cases.size(), static_cast<double>(cases.size()));
  BenchTable table(text, targets, machine.card.has_value());
  auto entries = nlohmann::ordered_json::array();
  for (const Case& c : cases) {
    progress.start(c.name);
    std::vector<Result> results;
    try {
      results = machine.card ? time_on_gpu(c, directions, machine, arguments)
                             : time_on_cpu(c, directions, machine, arguments);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      note_left_out(c.name, error);
    }
    progress.finish(1);
    require_right(results);
    for (const Result& result : results) {
      table.row(result);
      entries.push_back(json_of(result, machine.execution, targets));
    }
  }
  write_json(arguments.json,
             {{"header", bench_header(arguments, machine, targets)}, {"cases", entries}});
}

}  // namespace

void add_bench(CLI::App& app) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App& command = *app.add_subcommand("bench", "Time the cases of a suite");
  command.footer(
      "TFLOP/s count 4 * head_dim flops an unmasked query-key pair and head, backward 2.5 times\n"
      "that; GB/s count each input and output once. The floor is what a pass would take at the\n"
      "machine's fp32 multiply-add peak or at its copy bandwidth, whichever is longer; both are\n"
      "measured first, with the same threads. Times are medians; a call is timed whole, planning\n"
      "included. Inputs are random, and so many that no cache holds them.\n"
      "On a GPU calls are timed by events of the stream, with a plan made before; the floor is of\n"
      "that card's measured rates. Cases that no kernel of the build takes are left out.");
  add_suite_arguments(command, arguments->suite);
  command.add_option("--direction", arguments->direction, "fwd, bwd or fwd,bwd")
      ->capture_default_str();
  add_engine_arguments(command, arguments->engine);
  command
      .add_option("--seconds", arguments->seconds,
                  "Time a case and direction for this long, at least three calls")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  command
      .add_option("--rest", arguments->rest,
                  "GPU: idle so many times a call's time after each timed call. A card at its\n"
                  "power limit lowers its clocks after some tens of milliseconds of work")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  command.add_flag("--deterministic", arguments->deterministic,
                   "Equal bits for equal inputs (the CPU engine's always are)");
  command.add_option("--seed", arguments->seed, "Of the random inputs")->capture_default_str();
  command.add_option("--targets", arguments->targets,
                     "Peers' figures (JSON) to print beside; default: none");
  add_json_argument(command, arguments->json);
  command.callback([arguments] { bench(*arguments); });
}

}  // namespace jfa::tool
