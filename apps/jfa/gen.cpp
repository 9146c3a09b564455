// jfa gen: a jagged batch of random values, to a file.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "batch/batch.hpp"
#include "batch/suite.hpp"
#include "commands.hpp"
#include "computation.hpp"
#include "files/files.hpp"
#include "lengths.hpp"
#include "report.hpp"
#include "safetensors/safetensors.hpp"

namespace jfa::tool {
namespace {

struct GenArguments {
  std::string output;
  SuiteArguments suite;
  std::int64_t batch = 32;
  std::string lengths = "uniform:1,1024";
  std::string q_lengths;
  std::optional<std::int64_t> broadcast_q;
  std::int64_t heads = 4;
  std::optional<std::int64_t> heads_kv;
  std::int64_t head_dim = 128;
  std::string dtype = "bf16";
  std::string block;
  std::int64_t local = 1;
  std::int64_t global = 0;
  bool gradients = false;
  std::uint64_t seed = 1;
};

/// The one case of a suite that the arguments name: by its full name, or by a part only it has.
Case case_of_suite(const SuiteArguments& arguments) {
  const std::vector<Case> cases = select_cases(arguments);
  for (const Case& c : cases) {
    if (c.name == arguments.name_part) return c;
  }
  if (cases.size() == 1) return cases.front();
  throw Error(ErrorCode::kInvalidArgument, "--case is \"" + arguments.name_part +
                                               "\", must name one case, it is part of the "
                                               "names of " +
                                               std::to_string(cases.size()));
}

Case case_by_distribution(const GenArguments& arguments) {
  Case c;
  c.name = "gen";
  const std::optional<DType> dtype = attention_dtype(arguments.dtype);
  if (!dtype) refuse_argument("--dtype", arguments.dtype, "bf16, fp16 or fp32");
  c.dtype = *dtype;
  c.heads_q = arguments.heads;
  c.heads_kv = arguments.heads_kv.value_or(arguments.heads);
  c.head_dim = arguments.head_dim;
  c.kv_lengths = draw_lengths("--lengths", arguments.lengths, arguments.batch, arguments.seed);
  c.broadcast_q = arguments.broadcast_q.has_value();
  c.q_length = arguments.broadcast_q.value_or(0);
  if (!arguments.q_lengths.empty()) {
    c.q_lengths =
        draw_lengths("--q-lengths", arguments.q_lengths, arguments.batch, ~arguments.seed);
  }
  if (!arguments.block.empty()) {
    const std::vector<std::int64_t> block = parse_integers("--block", arguments.block, 2);
    c.block_sparse = BlockPattern{block[0], block[1], arguments.local, arguments.global};
  }
  check_case(c);
  return c;
}

/// The flags that `jfa run` needs beside the file.
std::string run_flags(const Case& c) {
  std::string flags;
  if (c.causal) flags += " --causal";
  if (c.window.left != -1 || c.window.right != -1) {
    flags += " --window " + std::to_string(c.window.left) + "," + std::to_string(c.window.right);
  }
  if (c.block_sparse) {
    flags += " --block " + std::to_string(c.block_sparse->block_q) + "," +
             std::to_string(c.block_sparse->block_kv);
  }
  return flags;
}

void write_batch(const std::string& path, const Batch& batch, const Gradients* gradients) {
  safetensors::Tensors tensors{
      {"q", &batch.q}, {"k", &batch.k}, {"v", &batch.v}, {"kv_offsets", &batch.kv_offsets}};
  if (batch.q_offsets) tensors["q_offsets"] = &*batch.q_offsets;
  if (batch.block_row_offsets) {
    tensors["block_row_offsets"] = &*batch.block_row_offsets;
    tensors["block_columns"] = &*batch.block_columns;
  }
  if (gradients != nullptr) tensors["dout"] = &gradients->dout;
  safetensors::write(path, tensors);
}

void gen(const GenArguments& arguments, bool from_suite) {
  const Case c = from_suite ? case_of_suite(arguments.suite) : case_by_distribution(arguments);
  require_writable(arguments.output);
  const Batch batch = make_batch(c, arguments.seed);
  std::optional<Gradients> gradients;
  // A stream of its own: make_batch draws q, k and v from the seed.
  if (arguments.gradients) gradients = random_gradients(batch, false, ~arguments.seed);
  write_batch(arguments.output, batch, gradients ? &*gradients : nullptr);
  std::cout << "wrote " << arguments.output << ": "
            << counted(batch.kv_offsets.size() - 1, "sequence") << ", "
            << counted(batch.out_rows(), "query row") << ", "
            << counted(batch.k.shape()[0], "key row") << "; compute it with\n  jfa run "
            << arguments.output << " -o OUT.safetensors" << run_flags(c) << '\n';
}

void add_shape_arguments(CLI::App& command, GenArguments& arguments) {
  command.add_option("--batch", arguments.batch, "Number of sequences")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31))
      ->capture_default_str();
  command
      .add_option(
          "--lengths", arguments.lengths,
          "Keys of each sequence, and its queries without --q-lengths and\n--broadcast-q: " +
              std::string(kDistributions))
      ->capture_default_str();
  CLI::Option* q_lengths = command.add_option("--q-lengths", arguments.q_lengths,
                                              "Queries of each sequence; default: as many as keys");
  command
      .add_option("--broadcast-q", arguments.broadcast_q,
                  "Rows of one query block that all sequences share; default: none")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31))
      ->excludes(q_lengths);
  command.add_option("--heads", arguments.heads, "Query heads")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 16))
      ->capture_default_str();
  command
      .add_option("--heads-kv", arguments.heads_kv,
                  "Key and value heads, a divisor of --heads; default: as many")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 16));
  command.add_option("--head-dim", arguments.head_dim, "Elements of a head")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command.add_option("--dtype", arguments.dtype, "bf16, fp16 or fp32")->capture_default_str();
}

void add_block_arguments(CLI::App& command, GenArguments& arguments) {
  CLI::Option* block = command.add_option(
      "--block", arguments.block, "Q,KV: block-sparse, with blocks of these sizes; default: dense");
  command
      .add_option("--local", arguments.local,
                  "With --block: query blocks see key blocks up to this far from their own")
      ->check(CLI::NonNegativeNumber)
      ->needs(block)
      ->capture_default_str();
  command
      .add_option("--global", arguments.global,
                  "With --block: and this many key blocks at the beginning")
      ->check(CLI::NonNegativeNumber)
      ->needs(block)
      ->capture_default_str();
}

}  // namespace

void add_gen(CLI::App& app) {
  auto arguments = std::make_shared<GenArguments>();
  CLI::App& command = *app.add_subcommand("gen", "Make a jagged batch of random values, to a file");
  command.add_option("-o,--output", arguments->output, "Output file (safetensors)")->required();
  add_shape_arguments(command, *arguments);
  add_block_arguments(command, *arguments);
  const std::vector<CLI::Option*> shape = command.get_options([](const CLI::Option* option) {
    return option->get_name() != "--help" && option->get_name() != "--output";
  });
  CLI::Option* name =
      command.add_option("--case", arguments->suite.name_part,
                         "Take everything above from this case of a suite instead; default: none");
  command
      .add_option("--suite", arguments->suite.suite,
                  "Suite file (JSON) of --case; default: the built-in suite for CPUs")
      ->needs(name);
  command.add_flag("--gradients", arguments->gradients,
                   "Also dout, so that jfa run computes gradients; default: off");
  command.add_option("--seed", arguments->seed, "Equal seeds give equal files")
      ->capture_default_str();
  command.callback([arguments, name, shape] {
    for (const CLI::Option* option : shape) {
      if (name->count() > 0 && option->count() > 0) {
        refuse_argument(option->get_name(), "given", "absent with --case");
      }
    }
    gen(*arguments, name->count() > 0);
  });
}

}  // namespace jfa::tool
