// jfa run: attention of the tensors in a file.
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "accuracy.hpp"
#include "arguments.hpp"
#include "commands.hpp"
#include "computation.hpp"
#include "files/files.hpp"
#include "report.hpp"
#include "safetensors/safetensors.hpp"

namespace jfa::tool {
namespace {

struct RunArguments {
  std::string input;
  std::string output;
  EngineArguments engine;
  bool causal = false;
  std::string window = "-1,-1";
  std::string block;
  std::optional<double> scale;
  double softcap = 0;
  bool deterministic = false;
  bool check = false;
  std::string json;
};

/// Everything an input file may hold.
struct RunInput {
  Batch batch;
  std::optional<Gradients> gradients;
  std::optional<HostTensor> expected_out;
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

std::optional<HostTensor> read_optional(const safetensors::File& file, std::string_view name,
                                        std::size_t min_rank, std::size_t max_rank) {
  if (!file.contains(name)) return std::nullopt;
  return file.read(name, min_rank, max_rank);
}

void read_blocks(const safetensors::File& file, const RunArguments& arguments, Batch& batch) {
  const bool rows = file.contains("block_row_offsets");
  const bool columns = file.contains("block_columns");
  if (rows != columns) {
    refuse(arguments.input + ": has only one of block_row_offsets and block_columns");
  }
  if (rows && arguments.block.empty()) {
    refuse(arguments.input + ": has block lists, --block Q,KV must tell the blocks' sizes");
  }
  if (!rows && !arguments.block.empty()) {
    refuse("--block is " + arguments.block + ", but " + arguments.input +
           " has no block_row_offsets and block_columns");
  }
  if (!rows) return;
  const std::vector<std::int64_t> sizes = parse_integers("--block", arguments.block, 2);
  batch.block_q = sizes[0];
  batch.block_kv = sizes[1];
  batch.block_row_offsets = file.read("block_row_offsets", 1, 2);
  batch.block_columns = file.read("block_columns", 1, 1);
}

Batch read_batch(const safetensors::File& file, const RunArguments& arguments) {
  Batch batch;
  batch.q = file.read("q", 3, 3);
  batch.k = file.read("k", 3, 3);
  batch.v = file.read("v", 3, 3);
  batch.kv_offsets = file.read("kv_offsets", 1, 1);
  batch.q_offsets = read_optional(file, "q_offsets", 1, 1);
  batch.q_lengths = read_optional(file, "q_lengths", 1, 1);
  batch.kv_lengths = read_optional(file, "kv_lengths", 1, 1);
  const std::vector<std::int64_t> window = parse_integers("--window", arguments.window, 2);
  batch.causal = arguments.causal;
  batch.window = {window[0], window[1]};
  read_blocks(file, arguments, batch);
  return batch;
}

RunInput read_input(const RunArguments& arguments) {
  const safetensors::File file(arguments.input);
  RunInput input;
  input.batch = read_batch(file, arguments);
  if (file.contains("dout")) {
    input.gradients = Gradients{file.read("dout", 3, 3), read_optional(file, "dlse", 2, 2)};
    const auto& dlse = input.gradients->dlse;
    if (dlse && dlse->dtype() != DType::kF32) refuse(arguments.input + ": dlse must be F32");
  } else if (file.contains("dlse")) {
    refuse(arguments.input + ": has dlse without dout");
  }
  if (arguments.check) input.expected_out = read_optional(file, "expected_out", 3, 3);
  return input;
}

Options options_of(const RunArguments& arguments, const Batch& batch) {
  Options options;
  options.mask = batch.mask();
  options.softmax_scale = arguments.scale;
  options.softcap = arguments.softcap;
  options.deterministic = arguments.deterministic;
  return options;
}

template <typename Call>
double milliseconds(Call&& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

std::vector<Comparison> check_results(const RunInput& input, const Options& options,
                                      const Computation& computation) {
  const Gradients* gradients = input.gradients ? &*input.gradients : nullptr;
  const auto& q = input.batch.q.shape();
  const double seconds = reference_seconds(
      unmasked_pairs(input.batch) * static_cast<double>(q[1] * q[2]), gradients != nullptr);
  if (seconds > 5) {
    std::cerr << "jfa: note: the fp64 reference takes about " << fixed(seconds, 0) << " s\n";
  }
  std::vector<Comparison> comparisons =
      compare_with_reference(input.batch, options, gradients, computation);
  if (input.expected_out) {
    if (input.expected_out->shape() != computation.out.shape()) {
      refuse("expected_out does not have the shape of out");
    }
    comparisons.push_back(compare_with("out", computation.out, "expected_out", *input.expected_out,
                                       comparisons.front().allowed));
  }
  return comparisons;
}

void print_comparisons(std::ostream& stream, const std::vector<Comparison>& comparisons) {
  Table table(stream,
              {{"output", 6}, {"against", 12}, {"relative error", 14}, {"allowed", 9}, {"", 4}});
  for (const Comparison& c : comparisons) {
    table.row({c.output, c.against, scientific(c.error, 2), scientific(c.allowed, 2),
               c.ok() ? "ok" : "FAIL"});
  }
}

void fail_if_any_failed(const std::vector<Comparison>& comparisons) {
  std::string failed;
  for (const Comparison& c : comparisons) {
    if (!c.ok()) failed += (failed.empty() ? "" : ", ") + c.output + " against " + c.against;
  }
  if (!failed.empty()) throw std::runtime_error("error larger than allowed: " + failed);
}

void write_results(const std::string& path, const Computation& computation, bool gradients) {
  safetensors::Tensors tensors{{"out", &computation.out}, {"lse", &computation.lse}};
  if (gradients) {
    tensors["dq"] = &computation.dq;
    tensors["dk"] = &computation.dk;
    tensors["dv"] = &computation.dv;
  }
  safetensors::write(path, tensors);
}

nlohmann::ordered_json json_of(const RunArguments& arguments, const Execution& execution,
                               double forward_ms, std::optional<double> backward_ms,
                               const std::vector<Comparison>& comparisons) {
  nlohmann::ordered_json result{{"header", result_header(execution)},
                                {"input", arguments.input},
                                {"output", arguments.output},
                                {"forward_ms", forward_ms},
                                {"checks", nlohmann::ordered_json::array()}};
  if (backward_ms) result["backward_ms"] = *backward_ms;
  for (const Comparison& c : comparisons) {
    result["checks"].push_back({{"output", c.output},
                                {"against", c.against},
                                {"relative_error", c.error},
                                {"allowed", c.allowed},
                                {"ok", c.ok()}});
  }
  return result;
}

/// Results and how long they took.
struct Computed {
  std::unique_ptr<Computation> computation;
  double forward_ms = 0;
  std::optional<double> backward_ms;
};

Computed compute(const RunInput& input, const Options& options, const Execution& execution) {
  Computed done;
  done.computation = std::make_unique<Computation>(input.batch, options, execution,
                                                   input.gradients ? &*input.gradients : nullptr);
  done.forward_ms = milliseconds([&] { done.computation->forward(); });
  if (input.gradients) done.backward_ms = milliseconds([&] { done.computation->backward(); });
  done.computation->fetch();
  return done;
}

void run(const RunArguments& arguments) {
  Execution execution = execution_of(arguments.engine);
  require_json_writable(arguments.json);
  const RunInput input = read_input(arguments);
  require_writable(arguments.output);
  const Options options = options_of(arguments, input.batch);
  const Computed done = with_fallback(arguments.engine, execution, [&](const Execution& where) {
    return compute(input, options, where);
  });
  const Computation& computation = *done.computation;

  std::ostream& text = text_stream(arguments.json);
  const auto& q = input.batch.q.shape();
  text << counted(input.batch.kv_offsets.size() - 1, "sequence") << ", "
       << counted(computation.out.shape()[0], "query row") << ", "
       << counted(input.batch.k.shape()[0], "key row") << ", " << counted(q[1], "head") << " of "
       << q[2] << "; forward " << fixed(done.forward_ms, 2) << " ms";
  if (done.backward_ms) text << ", backward " << fixed(*done.backward_ms, 2) << " ms";
  text << " on " << device_name(execution.device) << '\n';

  std::vector<Comparison> comparisons;
  if (arguments.check) {
    comparisons = check_results(input, options, computation);
    print_comparisons(text, comparisons);
  }
  write_results(arguments.output, computation, input.gradients.has_value());
  text << "wrote " << arguments.output << '\n';
  write_json(arguments.json,
             json_of(arguments, execution, done.forward_ms, done.backward_ms, comparisons));
  fail_if_any_failed(comparisons);
}

}  // namespace

void add_run(CLI::App& app) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App& command = *app.add_subcommand("run", "Attention of the tensors in a file");
  command.footer(
      "IN holds q [rows, heads, head_dim], k, v and kv_offsets [B + 1], and optionally q_offsets\n"
      "(absent: all sequences share q), q_lengths, kv_lengths, block_row_offsets and\n"
      "block_columns, and dout (then gradients are computed too) and dlse. OUT gets out and lse,\n"
      "and with dout dq, dk and dv. It is written whole or not at all.");
  command.add_option("IN", arguments->input, "Input file (safetensors)")->required();
  command.add_option("-o,--output", arguments->output, "Output file (safetensors)")->required();
  add_engine_arguments(command, arguments->engine);
  command.add_flag("--causal", arguments->causal,
                   "Queries see no later keys, aligned at the bottom right; default: off");
  command
      .add_option("--window", arguments->window,
                  "L,R: a query sees L keys before its own position and R after it; -1: all")
      ->capture_default_str();
  command.add_option("--block", arguments->block,
                     "Q,KV: block sizes of block_row_offsets and block_columns, multiples of 64");
  command.add_option("--scale", arguments->scale,
                     "Factor of the scores; default: 1 / sqrt(head_dim)");
  command
      .add_option("--softcap", arguments->softcap,
                  "C > 0: scores become C * tanh(score / C); 0: off")
      ->capture_default_str();
  command.add_flag("--deterministic", arguments->deterministic,
                   "Bitwise equal results for equal inputs; default: off (the CPU engine always "
                   "is)");
  command.add_flag(
      "--check", arguments->check,
      "Compare with an fp64 reference, and with expected_out where IN has it; prints\n"
      "relative Frobenius errors and fails where one is over 1e-5, or in bf16 and fp16\n"
      "over 1e-5 plus twice what rounding costs; default: off");
  add_json_argument(command, arguments->json);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace jfa::tool
