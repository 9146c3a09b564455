// jfa check: every case of a suite against the fp64 reference, forward and backward.
#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "accuracy.hpp"
#include "arguments.hpp"
#include "commands.hpp"
#include "computation.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "targets.hpp"

namespace jfa::tool {
namespace {

constexpr std::size_t kOutputs = 5;

struct CheckArguments {
  SuiteArguments suite;
  EngineArguments engine;
  std::string direction = "fwd,bwd";
  std::uint64_t seed = 1;
  std::string peer_errors;
  std::string json;
};

/// Whether both directions are asked for, not forward alone.
bool with_backward(const std::string& text) {
  if (text == "fwd") return false;
  if (text == "fwd,bwd") return true;
  refuse_argument("--direction", text, "fwd or fwd,bwd");
}

/// Lowers what is allowed to twice a peer's error, where one is known for the case.
void hold_to_peer(const PeerErrors& peer, const std::string& name,
                  std::vector<Comparison>& comparisons) {
  constexpr double kPeerFactor = 2;
  for (Comparison& comparison : comparisons) {
    const auto found = peer.find({name, comparison.output});
    if (found == peer.end()) continue;
    comparison.allowed = std::min(comparison.allowed, kPeerFactor * found->second);
  }
}

/// Seconds the reference takes for a case, roughly, before its batch is made.
double expected_seconds(const Case& c, bool backward) {
  double pairs = 0;
  for (std::size_t b = 0; b < c.kv_lengths.size(); ++b) {
    const std::int64_t queries = c.broadcast_q         ? c.q_length
                                 : c.q_lengths.empty() ? c.kv_lengths[b]
                                                       : c.q_lengths[b];
    pairs += static_cast<double>(queries) * static_cast<double>(c.kv_lengths[b]);
  }
  return reference_seconds(pairs * static_cast<double>(c.heads_q * c.head_dim), backward);
}

std::vector<Comparison> check_case_results(const Case& c, const Execution& execution, bool backward,
                                           std::uint64_t seed) {
  const Batch batch = make_batch(c, seed);
  Gradients gradients;
  if (backward) gradients = random_gradients(batch, true, ~seed);
  Options options;
  options.mask = batch.mask();
  Computation computation(batch, options, execution, backward ? &gradients : nullptr);
  computation.forward();
  if (backward) computation.backward();
  computation.fetch();
  return compare_with_reference(batch, options, backward ? &gradients : nullptr, computation);
}

bool all_ok(const std::vector<Comparison>& comparisons) {
  return std::all_of(comparisons.begin(), comparisons.end(),
                     [](const Comparison& c) { return c.ok(); });
}

std::vector<std::string> table_row(const Case& c, const std::vector<Comparison>& comparisons) {
  std::vector<std::string> cells{c.name};
  double worst = 0;
  for (const Comparison& comparison : comparisons) {
    cells.push_back(scientific(comparison.error, 1));
    const double share = comparison.error / comparison.allowed;
    if (!(share <= worst)) worst = share;  // a NaN stays
  }
  cells.resize(kOutputs + 1, "-");  // without a backward pass
  cells.push_back(fixed(100 * worst, 0) + "%");
  cells.emplace_back(all_ok(comparisons) ? "ok" : "FAIL");
  return cells;
}

nlohmann::ordered_json json_of(const Case& c, const std::vector<Comparison>& comparisons) {
  nlohmann::ordered_json entry{{"name", c.name}, {"ok", all_ok(comparisons)}};
  for (const Comparison& comparison : comparisons) {
    entry[comparison.output] = {{"relative_error", comparison.error},
                                {"allowed", comparison.allowed}};
  }
  return entry;
}

void check(const CheckArguments& arguments) {
  const bool backward = with_backward(arguments.direction);
  Execution execution = execution_of(arguments.engine);
  require_json_writable(arguments.json);
  const std::vector<Case> cases = select_cases(arguments.suite);
  const PeerErrors peer =
      arguments.peer_errors.empty() ? PeerErrors{} : read_peer_errors(arguments.peer_errors);
  double total = 0;
  for (const Case& c : cases) total += expected_seconds(c, backward);
  if (total > 60) {
    std::cerr << "jfa: note: the fp64 reference takes about " << fixed(total / 60, 0)
              << " minutes for these cases; --case takes fewer\n";
  }
  Progress progress(cases.size(), total);
  Table table(text_stream(arguments.json), {{"case", 32},
                                            {"out", 7},
                                            {"lse", 7},
                                            {"dq", 7},
                                            {"dk", 7},
                                            {"dv", 7},
                                            {"of allowed", 10},
                                            {"", 4}});
  auto entries = nlohmann::ordered_json::array();
  std::size_t failed = 0;
  for (const Case& c : cases) {
    progress.start(c.name);
    std::vector<Comparison> comparisons;
    try {
      comparisons = with_fallback(arguments.engine, execution, [&](const Execution& where) {
        return check_case_results(c, where, backward, arguments.seed);
      });
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      note_left_out(c.name, error);
      continue;
    }
    hold_to_peer(peer, c.name, comparisons);
    progress.finish(expected_seconds(c, backward));
    table.row(table_row(c, comparisons));
    entries.push_back(json_of(c, comparisons));
    if (!all_ok(comparisons)) ++failed;
  }
  if (entries.empty()) {
    throw Error(ErrorCode::kUnsupported,
                "device " + device_name(execution.device) + " offers no case of those asked for");
  }
  write_json(arguments.json, {{"header", result_header(execution)}, {"cases", entries}});
  if (failed > 0) {
    throw std::runtime_error("error larger than allowed in " + std::to_string(failed) + " of " +
                             std::to_string(cases.size()) + " cases");
  }
}

}  // namespace

void add_check(CLI::App& app) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App& command = *app.add_subcommand(
      "check", "Compare the cases of a suite with an fp64 reference, forward and backward");
  command.footer(
      "Prints relative Frobenius errors. Allowed are 1e-5, and in bf16 and fp16 1e-5 plus twice\n"
      "what rounding costs: of the exact result and, for dq and dk, of the out that the backward\n"
      "pass reads.");
  add_suite_arguments(command, arguments->suite);
  add_engine_arguments(command, arguments->engine);
  command
      .add_option("--direction", arguments->direction,
                  "fwd or fwd,bwd: whether gradients are compared too")
      ->capture_default_str();
  command.add_option("--seed", arguments->seed, "Of the random inputs")->capture_default_str();
  command.add_option("--peer-errors", arguments->peer_errors,
                     "JSON file of a peer's errors by case (bench/torch_errors.py makes one); at "
                     "most twice the peer's error is allowed then");
  add_json_argument(command, arguments->json);
  command.callback([arguments] { check(*arguments); });
}

}  // namespace jfa::tool
