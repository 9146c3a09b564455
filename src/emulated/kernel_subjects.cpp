#include "emulated/kernel_subjects.hpp"

#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "batch/batch.hpp"
#include "emulated/emulated_kernels.hpp"
#include "emulated/exposure.hpp"
#include "launch/device_engine.hpp"
#include "problem/workspace.hpp"
#include "reference/reference.hpp"

namespace jfa {
namespace {

using emulator::BufferUse;
using emulator::Outcome;
using emulator::RunOptions;
using emulator::Subject;
using M = EmulatedHopper;

using ForwardKernels = std::span<const ForwardKernel<EmulatedQueue>>;
using BackwardKernels = std::span<const BackwardKernel<EmulatedQueue>>;

/// A subject whose runs share what the first of them makes: `run(*make(), options)`.
template <class Make, class Run>
Subject lazy_subject(std::string name, Make make, Run run) {
  struct Shared {
    std::once_flag once;
    decltype(make()) made;
  };
  auto shared = std::make_shared<Shared>();
  const auto make_once = [shared, make] {
    // Isolated: a thread that waits inside `make` must not begin another run, which waits for it.
    std::call_once(shared->once,
                   [&] { tbb::this_task_arena::isolate([&] { shared->made = make(); }); });
    return shared->made.get();
  };
  return {std::move(name),
          [make_once, run](const RunOptions& options) { return run(*make_once(), options); }};
}

/// A batch, a kernel for it and its plan. Runs on several threads share one and only read it.
struct Work {
  Work(Batch given, Options options, ForwardKernels kernels = emulated_forward_kernels())
      : batch(std::move(given)) {
    options.mask.block_sparse = batch.mask().block_sparse;
    throw_if_failed(check_inputs(batch.inputs(), options, {}, problem));
    throw_if_failed(choose(kernels, problem, kernel));
    plan.resize((sequences_bytes(problem) + sizeof(PlannedSequence) - 1) / sizeof(PlannedSequence));
    EmulatedQueue queue;
    expose_plan(queue, plan.data(), BufferUse::Scratch);
    enqueue_planner<M>(problem, shape(), reinterpret_cast<std::byte*>(plan.data()), queue);
  }

  ItemShape shape() const { return item_shape_of(*kernel, problem); }

  void expose_plan(EmulatedQueue& queue, const PlannedSequence* at, BufferUse use) const {
    Exposure exposure;
    exposure.add_indices(problem);
    exposure.add("plan", at, sequences_bytes(problem), use);
    exposure.expose(queue.device);
  }

  Batch batch;
  Problem problem;
  const ForwardKernel<EmulatedQueue>* kernel = nullptr;
  std::vector<PlannedSequence> plan;
};

/// What `launches(queue)` gives; values of a run that a finding ended mean nothing.
template <class Launches, class Compare>
Outcome outcome_of(EmulatedQueue& queue, Launches launches, Compare compare) {
  try {
    launches();
  } catch (const std::runtime_error&) {
    if (!queue.result.finding.found()) throw;
    return {std::move(queue.result), ""};
  }
  return {std::move(queue.result), compare()};
}

Outcome plan(const Work& work, const RunOptions& options) {
  std::vector<PlannedSequence> made(work.plan.size());
  EmulatedQueue queue;
  queue.options = options;
  work.expose_plan(queue, made.data(), BufferUse::Scratch);
  return outcome_of(
      queue,
      [&] {
        enqueue_planner<M>(work.problem, work.shape(), reinterpret_cast<std::byte*>(made.data()),
                           queue);
      },
      [&]() -> std::string {
        const bool same =
            std::memcmp(made.data(), work.plan.data(), sequences_bytes(work.problem)) == 0;
        return same ? "" : "the plan is not that of an undisturbed run";
      });
}

Outcome check_indices(const Work& work, const RunOptions& options) {
  alignas(16) std::uint64_t fault = ~std::uint64_t{0};
  EmulatedQueue queue;
  queue.options = options;
  work.expose_plan(queue, work.plan.data(), BufferUse::Input);
  queue.device.expose("check", &fault, sizeof(fault), BufferUse::Output);
  auto* given = const_cast<PlannedSequence*>(work.plan.data());
  return outcome_of(
      queue,
      [&] {
        queue.launch<IndexCheck<M>>(1, {planner_params(work.problem, work.shape(), given),
                                        lists_of(work.problem, nullptr), &fault});
      },
      [&]() -> std::string { return fault == 0 ? "" : "right offsets are called wrong"; });
}

/// Empty, or the first value that is further off than rounding to 16 bits explains.
std::string compare(const HostTensor& out, const HostTensor& lse,
                    const reference::ForwardResult& want) {
  for (std::size_t i = 0; i < want.lse.size(); ++i) {
    const double got = lse.at(static_cast<std::int64_t>(i));
    if (got == want.lse[i] || std::abs(got - want.lse[i]) < 1e-3) continue;
    return "lse " + std::to_string(i) + " is " + std::to_string(got) + ", not " +
           std::to_string(want.lse[i]);
  }
  for (std::size_t i = 0; i < want.out.size(); ++i) {
    const double got = out.at(static_cast<std::int64_t>(i));
    if (std::abs(got - want.out[i]) <= 0.01 * (std::abs(want.out[i]) + 0.5)) continue;
    return "out " + std::to_string(i) + " is " + std::to_string(got) + ", not " +
           std::to_string(want.out[i]);
  }
  return "";
}

/// A problem and what its outputs are.
struct ForwardWork : Work {
  ForwardWork(const Case& c, const Options& options, ForwardKernels kernels)
      : Work(make_batch(c, 1), options, kernels), want(reference::forward(problem)) {}

  reference::ForwardResult want;
};

Outcome forward(const ForwardWork& work, const RunOptions& options) {
  const Problem& problem = work.problem;
  HostTensor out(problem.q.dtype, {problem.out_rows, problem.heads_q, problem.head_dim});
  HostTensor lse(DType::kF32, {problem.heads_q, problem.out_rows});
  out.fill(NAN);
  lse.fill(NAN);
  alignas(16) int ticket = 0;
  const ForwardOutputs outputs{out.view(), lse.lse_view()};
  // One block: it meets every tile.
  EmulatedQueue queue;
  queue.options = options;
  queue.grid = 1;
  work.expose_plan(queue, work.plan.data(), BufferUse::Input);
  Exposure exposure;
  exposure.add_inputs(problem);
  exposure.add("out", outputs.out, BufferUse::Output);
  exposure.add("lse", outputs.lse, BufferUse::Output);
  exposure.add("ticket", &ticket, sizeof(ticket), BufferUse::InOut);
  exposure.expose(queue.device);
  return outcome_of(
      queue,
      [&] {
        work.kernel->launch(problem, outputs, {work.plan.data(), &ticket}, queue);
      },
      [&] { return compare(out, lse, work.want); });
}

Subject forward_subject(std::string name, const Case& c, const Options& options,
                        ForwardKernels kernels = emulated_forward_kernels()) {
  return lazy_subject(
      std::move(name), [=] { return std::make_unique<const ForwardWork>(c, options, kernels); },
      forward);
}

/// Blackwell's kernel: one group of rows and two, several tiles, blocks that only one group visits;
/// scores large enough to move a row's shift; more tiles of a single block than there is work at
/// once; lists that differ within a group, with rows and groups without any block.
std::vector<Subject> blackwell_subjects() {
  Case c;
  c.q_lengths = {130, 300, 1, 0, 260, 40, 40, 40, 40, 40, 40, 40, 40, 40};
  c.kv_lengths = {260, 500, 0, 7, 129, 60, 60, 60, 60, 60, 60, 60, 60, 60};
  Options large;
  large.softmax_scale = 3;
  Case masked;
  masked.head_dim = 128;
  masked.q_lengths = {130, 300, 1, 0, 260};
  masked.kv_lengths = {260, 700, 1, 7, 400};
  Options causal;
  causal.mask.causal = true;
  Case listed;
  listed.block_sparse = BlockPattern{64, 64, 1, 0};
  listed.q_lengths = {300, 60, 520};
  listed.kv_lengths = {900, 130, 65};
  const ForwardKernels kernels = emulated_blackwell_forward_kernels();
  return {forward_subject("forward_blackwell", c, large, kernels),
          forward_subject("forward_blackwell_128", masked, causal, kernels),
          forward_subject("forward_blackwell_listed", listed, {}, kernels)};
}

// ---- backward

/// A problem of gradients and what they are. One block meets every tile; several add in turn.
struct GradientWork {
  GradientWork(Batch given_batch, const Options& options, int blocks,
               BackwardKernels kernels = emulated_backward_kernels())
      : batch(std::move(given_batch)), grid(blocks) {
    throw_if_failed(check_inputs(batch.inputs(), options, {}, problem));
    throw_if_failed(choose(kernels, problem, kernel));
    const reference::ForwardResult forward = reference::forward(problem);
    const Shape rows{problem.out_rows, problem.heads_q, problem.head_dim};
    out = HostTensor(problem.q.dtype, rows);
    for (std::size_t i = 0; i < forward.out.size(); ++i) {
      out.set(static_cast<std::int64_t>(i), forward.out[i]);
    }
    lse = HostTensor(DType::kF32, {problem.heads_q, problem.out_rows});
    for (std::size_t i = 0; i < forward.lse.size(); ++i) {
      lse.set(static_cast<std::int64_t>(i), forward.lse[i]);
    }
    dout = random_tensor(problem.q.dtype, rows, 2);
    want = reference::backward(problem, dout.view(), nullptr);
    throw_if_failed(plan.acquire({}, by_keys_bytes(problem)));
    EmulatedQueue queue;
    Exposure exposure;
    exposure.add_indices(problem);
    exposure.add("plan", plan.data(), by_keys_bytes(problem), BufferUse::Scratch);
    exposure.expose(queue.device);
    queue.grid = grid;
    enqueue_by_keys<M>(problem, *kernel, plan.data(), queue);
    RunOptions undisturbed;
    std::string wrong = run(undisturbed, &sums).wrong;
    if (!wrong.empty()) throw std::runtime_error(wrong);
  }

  using Shape = std::vector<std::int64_t>;

  /// Leaves in `left` what is in dq_sum where blocks add in turn: the same bits every time, also
  /// where rounding hides them in dq.
  Outcome run(const RunOptions& options, std::vector<std::byte>* left) const;

  Batch batch;
  int grid;
  Problem problem;
  const BackwardKernel<EmulatedQueue>* kernel = nullptr;
  HostTensor out, lse, dout;
  reference::BackwardResult want;
  Workspace plan;
  std::vector<std::byte> sums;
};

/// Empty, or the first value that is further off than P, dS and gradients rounded to 16 bits
/// explain, measured against the size of the values around it.
std::string compare(const char* name, const HostTensor& got, const std::vector<double>& want) {
  double squares = 0;
  for (const double x : want) squares += x * x;
  const double mean = squares / static_cast<double>(std::max<std::size_t>(want.size(), 1));
  const double typical = std::max(0.5, std::sqrt(mean));
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double value = got.at(static_cast<std::int64_t>(i));
    if (std::abs(value - want[i]) <= 0.03 * (std::abs(want[i]) + typical)) continue;
    return std::string(name) + " " + std::to_string(i) + " is " + std::to_string(value) + ", not " +
           std::to_string(want[i]);
  }
  return "";
}

Outcome GradientWork::run(const RunOptions& options, std::vector<std::byte>* left) const {
  HostTensor dq(problem.q.dtype, {problem.q.rows, problem.heads_q, problem.head_dim});
  HostTensor dk(problem.q.dtype, {problem.k.rows, problem.heads_kv, problem.head_dim});
  HostTensor dv(problem.q.dtype, dk.shape());
  for (HostTensor* gradient : {&dq, &dk, &dv}) gradient->fill(NAN);
  const BackwardParts parts(problem, kernel->sizes(problem, grid));
  Workspace workspace;
  throw_if_failed(workspace.acquire({}, parts.end));
  std::memset(workspace.data(), 0xFF, parts.end);
  const BackwardInputs given{dout.view(), out.view(), lse.lse_view(), std::nullopt};
  const BackwardOutputs outputs{dq.view(), dk.view(), dv.view()};
  EmulatedQueue queue;
  queue.options = options;
  queue.grid = grid;
  Exposure exposure;
  exposure.add_indices(problem);
  exposure.add_inputs(problem);
  exposure.add("plan", plan.data(), by_keys_bytes(problem), BufferUse::Input);
  exposure.add("ticket", workspace.data(), kTicketBytes, BufferUse::InOut);
  exposure.add_backward(given, outputs, workspace.data(), parts);
  exposure.expose(queue.device);
  const auto* sequences = reinterpret_cast<const PlannedSequence*>(plan.data());
  return outcome_of(
      queue,
      [&] {
        kernel->launch(problem, given, outputs, parts.at(problem, workspace.data(), sequences),
                       queue);
      },
      [&] {
        std::string error = compare("dq", dq, want.dq);
        if (error.empty()) error = compare("dk", dk, want.dk);
        if (error.empty()) error = compare("dv", dv, want.dv);
        if (!problem.deterministic) return error;
        const std::vector<std::byte> now(workspace.data() + parts.dq_sum,
                                         workspace.data() + parts.dq_kept);
        if (left != nullptr) *left = now;
        return error.empty() && left == nullptr && now != sums ? std::string("sums differ") : error;
      });
}

/// The part of a plan for the backward pass, its lists transposed.
Outcome plan_by_keys(const GradientWork& work, const RunOptions& options) {
  const std::size_t bytes = by_keys_bytes(work.problem);
  Workspace made;
  throw_if_failed(made.acquire({}, bytes));
  std::memset(made.data(), 0xFF, bytes);
  EmulatedQueue queue;
  queue.options = options;
  Exposure exposure;
  exposure.add_indices(work.problem);
  exposure.add("plan", made.data(), bytes, BufferUse::Scratch);
  exposure.expose(queue.device);
  queue.grid = work.grid;
  return outcome_of(
      queue, [&] { enqueue_by_keys<M>(work.problem, *work.kernel, made.data(), queue); },
      [&]() -> std::string {
        const ListsByKeys want = lists_by_keys_of(
            work.problem, reinterpret_cast<const PlannedSequence*>(work.plan.data()));
        const ListsByKeys got =
            lists_by_keys_of(work.problem, reinterpret_cast<const PlannedSequence*>(made.data()));
        const std::int64_t lists = work.problem.blocks.heads * want.places;
        const bool same = std::equal(want.starts, want.starts + lists + 1, got.starts) &&
                          std::equal(want.rows, want.rows + want.starts[lists], got.rows);
        return same ? "" : "the lists are not those of an undisturbed run";
      });
}

using MakeGradientWork = std::function<std::unique_ptr<const GradientWork>()>;

MakeGradientWork gradient_work(const Case& c, const Options& options, int blocks,
                               BackwardKernels kernels = emulated_backward_kernels()) {
  return [=] {
    Batch batch = make_batch(c, 1);
    Options masked = options;
    masked.mask = batch.mask();
    return std::make_unique<const GradientWork>(std::move(batch), masked, blocks, kernels);
  };
}

Subject backward_subject(std::string name, MakeGradientWork make) {
  return lazy_subject(
      std::move(name), std::move(make),
      [](const GradientWork& work, const RunOptions& run) { return work.run(run, nullptr); });
}
Subject backward_subject(std::string name, const Case& c, const Options& options, int blocks,
                         BackwardKernels kernels = emulated_backward_kernels()) {
  return backward_subject(std::move(name), gradient_work(c, options, blocks, kernels));
}

Case with_lengths(std::vector<std::int64_t> q, std::vector<std::int64_t> kv) {
  Case c;
  c.q_lengths = std::move(q);
  c.kv_lengths = std::move(kv);
  return c;
}

/// The work must be of the kernel that the subject is for, whatever decides on that.
MakeGradientWork work_of(int KernelTraits::*kind, const Case& c) {
  return [make = gradient_work(c, {}, 1), kind] {
    auto work = make();
    if (work->kernel->traits.*kind == 0) throw std::logic_error("not of the kernel that is meant");
    return work;
  };
}

std::vector<Subject> backward_subjects() {
  Case c;
  // One block of keys and several, more tiles than slots; more blocks without queries than slots.
  c.q_lengths = {200, 70, 1, 0, 0, 520};
  c.kv_lengths = {100, 300, 129, 60, 300, 200};
  Case shared;
  shared.broadcast_q = true;
  shared.q_length = 130;  // too many to stay on chip
  shared.kv_lengths = {100, 300, 0, 129, 300};
  Case on_chip = shared;  // a task for each head
  on_chip.q_length = 40;
  on_chip.heads_q = on_chip.heads_kv = 2;
  // Lists that differ between the halves of a block of keys, and with more tiles than a piece.
  Case listed;
  listed.block_sparse = BlockPattern{64, 64, 1, 1};
  listed.q_lengths = {300, 60, 2240};
  listed.kv_lengths = {260, 130, 65};
  // More tiles that partners share than their ring has, and tiles that only one of them visits.
  Case pairs = with_lengths({300, 70, 65, 1}, {200, 129, 100, 256});
  pairs.window = {-1, 20};
  pairs.head_dim = 128;  // tiles of 64 queries
  Case longer = with_lengths({300, 200, 1}, {300, 200, 129});
  longer.head_dim = 128;
  longer.window = {-1, 20};
  return {lazy_subject("plan_lists", gradient_work(listed, {}, 2), plan_by_keys),
          backward_subject("backward", c, {}, 1),
          backward_subject("backward_broadcast", shared, {}, 1),
          backward_subject("backward_by_queries", on_chip, {}, 1),
          backward_subject("backward_pairs", pairs, {}, 2),
          backward_subject("backward_listed", listed, {}, 2),
          backward_subject("backward_long", work_of(&KernelTraits::long_from, longer))};
}

/// dQ apart from dK and dV; with sequences of few queries, of one tile and of two, without keys,
/// more blocks of keys than slots, beside one of many.
std::vector<Subject> apart_subjects() {
  // Heads of a group packed into rows; all warpgroups and some; blocks that one of them passes by.
  Case c = with_lengths({290, 0, 130, 1}, {350, 9, 257, 70});
  c.heads_q = 2;
  c.window = {100, 20};
  Case wide = with_lengths({70, 1, 3}, {200, 100, 70});
  wide.head_dim = 256;
  Options deterministic;
  deterministic.deterministic = true;
  Case few = with_lengths({290, 40, 128, 1, 3, 130, 1}, {350, 70, 600, 500, 0, 257, 300});
  few.window = {-1, 20};
  return {backward_subject("backward_apart", c, deterministic, 2),
          backward_subject("backward_apart_wide", wide, deterministic, 1),
          backward_subject("backward_few", work_of(&KernelTraits::few_from, few))};
}

/// Blackwell's kernel: blocks of keys of one visit and of several, more of none than there are
/// slots; dQ that is written, added up, in turn too, and kept; lists that differ within a tile, a
/// piece of work for each of two heads.
std::vector<Subject> blackwell_backward_subjects() {
  Case c;
  c.q_lengths = {200, 70, 0, 1, 520};
  c.kv_lengths = {100, 300, 400, 60, 200};
  Case wide;
  wide.head_dim = 128;
  wide.q_lengths = {300, 70, 0};
  wide.kv_lengths = {260, 129, 60};
  wide.causal = true;
  Case shared;
  shared.broadcast_q = true;
  shared.q_length = 150;
  shared.kv_lengths = {100, 300, 0, 129};
  Case long_keys;
  long_keys.q_lengths = {140, 1};
  long_keys.kv_lengths = {500, 200};
  Case listed = with_lengths({300, 60}, {260, 130});
  listed.heads_q = 2;
  listed.block_sparse = BlockPattern{64, 64, 1, 0};
  Options in_turn;
  in_turn.deterministic = true;
  const BackwardKernels kernels = emulated_blackwell_backward_kernels();
  return {backward_subject("backward_blackwell", c, {}, 1, kernels),
          backward_subject("backward_blackwell_128", wide, {}, 1, kernels),
          backward_subject("backward_blackwell_broadcast", shared, {}, 1, kernels),
          backward_subject("backward_blackwell_in_turn", long_keys, in_turn, 2, kernels),
          backward_subject("backward_blackwell_listed", listed, in_turn, 2, kernels)};
}

}  // namespace

std::vector<Subject> kernel_subjects() {
  // Runs of tiles that share keys, longer than the ring of work, and single tiles; all warpgroups
  // and some; more blocks of keys than slots.
  Case c;
  c.q_lengths = {300, 60, 130, 1, 800};
  c.kv_lengths = {200, 700, 257, 0, 100};
  // Heads of a group packed into rows.
  Case grouped;
  grouped.heads_q = 2;
  grouped.q_lengths = {290, 0, 130, 60, 1, 200};
  grouped.kv_lengths = {350, 9, 257, 700, 130, 420};
  Options masked;
  masked.mask.window = {200, 0};
  // Short keys, and one set of queries for all sequences.
  Case brief;
  brief.head_dim = 128;
  brief.dtype = DType::kF16;
  brief.broadcast_q = true;
  brief.q_length = 300;
  brief.kv_lengths = {130, 257, 0, 5, 700, 64, 100, 200};
  Case tiny;
  tiny.q_lengths = {16, 64, 1, 0, 130, 16, 16, 40};
  tiny.kv_lengths = {16, 64, 0, 5, 16, 130, 1, 64};
  Case wide;
  wide.head_dim = 128;
  wide.q_lengths = {200, 60, 1};
  wide.kv_lengths = {500, 700, 400};
  Case widest;
  widest.head_dim = 256;
  widest.q_lengths = {200, 60, 1};
  widest.kv_lengths = {300, 400, 200};
  Options causal;
  causal.mask.causal = true;
  // Lists of blocks that differ from warpgroup to warpgroup, with holes; rows without any block.
  Case listed;
  listed.head_dim = 128;
  listed.block_sparse = BlockPattern{64, 64, 1, 1};
  listed.q_lengths = {300, 60, 200};
  listed.kv_lengths = {700, 130, 65};
  Case capped = listed;
  capped.head_dim = 64;
  Options softcap;
  softcap.softcap = 5;
  softcap.mask.window = {200, 0};
  // More sequences than a block of the planner sorts, of all costs in no order.
  Case many;
  for (std::int64_t b = 0; b < kPlannedTile + 300; ++b) {
    many.q_lengths.push_back(b * 37 % 500);
    many.kv_lengths.push_back(b * 91 % 1000);
  }
  const auto crowd = [many] {
    return std::make_unique<const Work>(make_unwritten_batch(many), Options{});
  };
  std::vector<Subject> all = {lazy_subject("planner", crowd, plan),
                              lazy_subject("index_check", crowd, check_indices),
                              forward_subject("forward", c, {}),
                              forward_subject("forward_masked", grouped, masked),
                              forward_subject("forward_short", brief, {}),
                              forward_subject("forward_tiny", tiny, {}),
                              forward_subject("forward_128", wide, {}),
                              forward_subject("forward_256", widest, causal),
                              forward_subject("forward_listed", listed, {}),
                              forward_subject("forward_softcap", capped, softcap)};
  for (auto* const more :
       {blackwell_subjects, backward_subjects, apart_subjects, blackwell_backward_subjects}) {
    for (Subject& subject : more()) all.push_back(std::move(subject));
  }
  return all;
}

}  // namespace jfa
