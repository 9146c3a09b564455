// The CPU engine against the reference, on every SIMD target this machine runs, and what only this
// engine promises: the same bits for any number of threads, refusal of a workspace too small.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "batch/batch.hpp"
#include "cpu/engine.hpp"
#include "hwy/highway.h"
#include "hwy/targets.h"
#include "jfa/jfa.hpp"
#include "reference/reference.hpp"

namespace jfa {
namespace {

using Lengths = std::vector<std::int64_t>;

struct Scenario {
  std::string name = {};
  DType dtype = DType::kF32;
  std::int64_t heads_q = 1;
  std::int64_t heads_kv = 1;
  std::int64_t head_dim = 32;
  Lengths q_lengths = {};  ///< one entry with broadcast_q
  Lengths kv_lengths = {};
  bool broadcast_q = false;
  std::int64_t gap = 0;    ///< unused rows after each sequence, on both sides
  std::int64_t slack = 0;  ///< unused rows after the last offset, on both sides
  Window window = {};
  double softcap = 0;
  std::optional<double> softmax_scale = {};
  bool dlse = false;
  std::int64_t block = 0;  ///< block size of a block mask; 0: none
  bool lists_by_head = false;
};

HostTensor index_tensor(const Lengths& values, DType dtype = DType::kI32) {
  HostTensor tensor(dtype, {std::ssize(values)});
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set(i, static_cast<double>(values[static_cast<std::size_t>(i)]));
  }
  return tensor;
}

Lengths offsets_of(const Lengths& lengths, std::int64_t gap) {
  Lengths offsets{0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length + gap);
  return offsets;
}

/// Every list a random subset of the sequence's key blocks, some of them empty.
void add_block_lists(const Scenario& scenario, Batch& batch, std::mt19937& random) {
  Lengths row_offsets, columns;
  const std::int64_t heads = scenario.lists_by_head ? scenario.heads_q : 1;
  for (std::int64_t head = 0; head < heads; ++head) {
    row_offsets.push_back(std::ssize(columns));
    for (std::size_t b = 0; b < scenario.kv_lengths.size(); ++b) {
      const std::int64_t q_length = scenario.q_lengths[scenario.broadcast_q ? 0 : b];
      for (std::int64_t q = 0; q < q_length; q += scenario.block) {
        for (std::int64_t j = 0; j * scenario.block < scenario.kv_lengths[b]; ++j) {
          if (random() % 2 == 0) columns.push_back(j);
        }
        row_offsets.push_back(std::ssize(columns));
      }
    }
  }
  batch.block_q = batch.block_kv = scenario.block;
  batch.block_row_offsets = HostTensor(DType::kI32, {heads, std::ssize(row_offsets) / heads});
  for (std::int64_t i = 0; i < std::ssize(row_offsets); ++i) {
    batch.block_row_offsets->set(i, static_cast<double>(row_offsets[static_cast<std::size_t>(i)]));
  }
  batch.block_columns = index_tensor(columns, DType::kI64);
}

Batch make(const Scenario& scenario) {
  std::mt19937 random(7);
  Batch batch;
  const Lengths q_offsets = offsets_of(scenario.q_lengths, scenario.broadcast_q ? 0 : scenario.gap);
  const Lengths kv_offsets = offsets_of(scenario.kv_lengths, scenario.gap);
  const std::int64_t q_rows = q_offsets.back() + (scenario.broadcast_q ? 0 : scenario.slack);
  const std::int64_t kv_rows = kv_offsets.back() + scenario.slack;
  batch.q = random_tensor(scenario.dtype, {q_rows, scenario.heads_q, scenario.head_dim}, 1);
  batch.k = random_tensor(scenario.dtype, {kv_rows, scenario.heads_kv, scenario.head_dim}, 2);
  batch.v = random_tensor(scenario.dtype, {kv_rows, scenario.heads_kv, scenario.head_dim}, 3);
  batch.kv_offsets = index_tensor(kv_offsets, DType::kI64);
  if (scenario.gap > 0) batch.kv_lengths = index_tensor(scenario.kv_lengths);
  if (!scenario.broadcast_q) {
    batch.q_offsets = index_tensor(q_offsets);
    if (scenario.gap > 0) batch.q_lengths = index_tensor(scenario.q_lengths, DType::kI64);
  }
  batch.window = scenario.window;
  if (scenario.block > 0) add_block_lists(scenario, batch, random);
  return batch;
}

Options options_of(const Scenario& scenario, const Batch& batch) {
  Options options;
  options.mask = batch.mask();
  options.softmax_scale = scenario.softmax_scale;
  options.softcap = scenario.softcap;
  return options;
}

/// Everything a forward and a backward call write.
struct Results {
  HostTensor out, lse, dq, dk, dv;
};

struct Gradients {
  HostTensor dout, dlse;
};

Gradients random_gradients(const Scenario& scenario, const Batch& batch) {
  const std::int64_t rows = batch.out_rows();
  return {random_tensor(scenario.dtype, {rows, scenario.heads_q, scenario.head_dim}, 4),
          random_tensor(DType::kF32, {scenario.heads_q, rows}, 5)};
}

Results run(const Scenario& scenario, const Batch& batch, const Gradients& gradients, int threads) {
  const std::int64_t rows = batch.out_rows();
  Results r{HostTensor(scenario.dtype, {rows, scenario.heads_q, scenario.head_dim}),
            HostTensor(DType::kF32, {scenario.heads_q, rows}),
            HostTensor(scenario.dtype, batch.q.shape()),
            HostTensor(scenario.dtype, batch.k.shape()),
            HostTensor(scenario.dtype, batch.v.shape())};
  for (HostTensor* t : {&r.out, &r.lse, &r.dq, &r.dk, &r.dv}) t->fill(std::nan(""));
  const Options options = options_of(scenario, batch);
  Execution execution;
  execution.threads = threads;
  forward(batch.inputs(), options, {r.out.view(), r.lse.lse_view()}, execution);
  BackwardInputs given{
      gradients.dout.view(), std::as_const(r.out).view(), std::as_const(r.lse).lse_view(), {}};
  if (scenario.dlse) given.dlse = gradients.dlse.lse_view();
  backward(batch.inputs(), options, given, {r.dq.view(), r.dk.view(), r.dv.view()}, execution);
  return r;
}

double tolerance(DType dtype) {
  return dtype == DType::kF32 ? 4e-6 : dtype == DType::kF16 ? 2e-3 : 1.2e-2;
}

void expect_close(const HostTensor& got, const std::vector<double>& want, double limit,
                  const char* name) {
  if (got.size() == 0) return;
  double norm = 0;
  for (const double value : want) norm += std::isinf(value) ? 0 : value * value;
  if (norm == 0) {
    for (std::int64_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got.at(i), want[static_cast<std::size_t>(i)]) << name << " element " << i;
    }
    return;
  }
  EXPECT_LE(relative_error(got, want), limit) << name;
}

void expect_equal(const HostTensor& a, const HostTensor& b, const char* name) {
  ASSERT_EQ(a.bytes(), b.bytes());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0) << name;
}

void expect_equal(const Results& a, const Results& b) {
  expect_equal(a.out, b.out, "out");
  expect_equal(a.lse, b.lse, "lse");
  expect_equal(a.dq, b.dq, "dq");
  expect_equal(a.dk, b.dk, "dk");
  expect_equal(a.dv, b.dv, "dv");
}

std::vector<Scenario> scenarios() {
  const Lengths mixed{5, 0, 64, 1, 130, 65, 0, 17};
  const Lengths other{7, 3, 0, 200, 64, 129, 1, 17};
  const std::int64_t kNone = -1;
  std::vector<Scenario> all{
      {.name = "Plain", .q_lengths = mixed, .kv_lengths = other},
      {.name = "Bf16", .dtype = DType::kBf16, .q_lengths = mixed, .kv_lengths = other},
      {.name = "F16",
       .dtype = DType::kF16,
       .head_dim = 40,
       .q_lengths = mixed,
       .kv_lengths = other},
      {.name = "Grouped",
       .heads_q = 6,
       .heads_kv = 2,
       .head_dim = 16,
       .q_lengths = mixed,
       .kv_lengths = other},
      {.name = "ManyHeadsOneKey",
       .heads_q = 71,
       .heads_kv = 1,
       .head_dim = 8,
       .q_lengths = {1, 5, 70},
       .kv_lengths = {90, 5, 70}},
      {.name = "Gaps",
       .heads_q = 2,
       .heads_kv = 2,
       .q_lengths = mixed,
       .kv_lengths = other,
       .gap = 3,
       .slack = 2000},
      {.name = "Causal",
       .heads_q = 4,
       .heads_kv = 2,
       .q_lengths = other,
       .kv_lengths = other,
       .window = {kNone, 0},
       .dlse = true},
      {.name = "CausalMoreQueries", .q_lengths = other, .kv_lengths = mixed, .window = {kNone, 0}},
      {.name = "Window", .q_lengths = {300, 40}, .kv_lengths = {310, 45}, .window = {20, 5}},
      {.name = "WindowOfKeysAhead",
       .q_lengths = {50, 140},
       .kv_lengths = {300, 20},
       .window = {0, 70}},
      {.name = "Softcap",
       .q_lengths = mixed,
       .kv_lengths = other,
       .window = {30, 0},
       .softcap = 2.5,
       .dlse = true},
      {.name = "NegativeScale", .q_lengths = mixed, .kv_lengths = other, .softmax_scale = -0.7},
      {.name = "ZeroScale", .q_lengths = mixed, .kv_lengths = other, .softmax_scale = 0.0},
      {.name = "BroadcastQ",
       .heads_q = 4,
       .heads_kv = 2,
       .q_lengths = {150},
       .kv_lengths = other,
       .broadcast_q = true,
       .slack = 5,
       .dlse = true},
      {.name = "BroadcastQGaps",
       .dtype = DType::kBf16,
       .head_dim = 64,
       .q_lengths = {3},
       .kv_lengths = {3000, 5, 0, 1},
       .broadcast_q = true,
       .gap = 1,
       .window = {100, 40}},
      {.name = "BlockLists",
       .heads_q = 4,
       .heads_kv = 2,
       .q_lengths = {300, 0, 70},
       .kv_lengths = {200, 64, 300},
       .block = 64},
      {.name = "BlockListsByHead",
       .heads_q = 4,
       .heads_kv = 2,
       .q_lengths = {300, 70},
       .kv_lengths = {320, 300},
       .window = {kNone, 0},
       .block = 128,
       .lists_by_head = true},
      {.name = "BlockListsBroadcastQ",
       .heads_q = 3,
       .heads_kv = 1,
       .q_lengths = {200},
       .kv_lengths = {320, 300},
       .broadcast_q = true,
       .window = {150, kNone},
       .block = 192},
      {.name = "LongQueries",
       .heads_q = 2,
       .heads_kv = 1,
       .q_lengths = {1100, 1, 30},
       .kv_lengths = {700, 30, 30},
       .gap = 1},
      {.name = "LongCausal",
       .heads_q = 2,
       .heads_kv = 1,
       .q_lengths = {700},
       .kv_lengths = {1300},
       .window = {kNone, 0}},
      {.name = "LongWindowBlockLists",
       .heads_q = 2,
       .heads_kv = 2,
       .q_lengths = {1200},
       .kv_lengths = {1200},
       .window = {300, 100},
       .block = 64},
      {.name = "NoSequence", .q_lengths = {}, .kv_lengths = {}, .slack = 3},
      {.name = "AllEmpty", .q_lengths = {0, 0}, .kv_lengths = {0, 0}},
      {.name = "NoKeys", .q_lengths = {3, 200}, .kv_lengths = {0, 0}},
      {.name = "BroadcastQNoKeys", .q_lengths = {70}, .kv_lengths = {0, 0}, .broadcast_q = true},
  };
  for (const std::int64_t head_dim : {1, 3, 8, 17, 64, 100, 128, 256}) {
    all.push_back({.name = "HeadDim" + std::to_string(head_dim),
                   .head_dim = head_dim,
                   .q_lengths = {70, 3},
                   .kv_lengths = {30, 100}});
  }
  return all;
}

class CpuEngine : public testing::TestWithParam<Scenario> {};

INSTANTIATE_TEST_SUITE_P(All, CpuEngine, testing::ValuesIn(scenarios()),
                         [](const auto& test) { return test.param.name; });

TEST_P(CpuEngine, AgreesWithReferenceOnEverySimdTarget) {
  const Scenario& scenario = GetParam();
  const Batch batch = make(scenario);
  const Gradients gradients = random_gradients(scenario, batch);
  const Options options = options_of(scenario, batch);
  Problem problem;
  throw_if_failed(check_inputs(batch.inputs(), options, {}, problem));
  const reference::ForwardResult forward = reference::forward(problem);
  const ConstLseView dlse = gradients.dlse.lse_view();
  const reference::BackwardResult backward =
      reference::backward(problem, gradients.dout.view(), scenario.dlse ? &dlse : nullptr);
  const double limit = tolerance(scenario.dtype);
  const std::int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  for (std::int64_t left = supported; left != 0; left &= left - 1) {
    SCOPED_TRACE(hwy::TargetName(left & -left));
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const Results results = run(scenario, batch, gradients, 1);
    expect_close(results.out, forward.out, limit, "out");
    expect_close(results.lse, forward.lse, 1e-6, "lse");
    expect_close(results.dq, backward.dq, limit, "dq");
    expect_close(results.dk, backward.dk, limit, "dk");
    expect_close(results.dv, backward.dv, limit, "dv");
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_P(CpuEngine, GivesTheSameBitsForAnyNumberOfThreads) {
  const Batch batch = make(GetParam());
  const Gradients gradients = random_gradients(GetParam(), batch);
  const Results one = run(GetParam(), batch, gradients, 1);
  expect_equal(one, run(GetParam(), batch, gradients, 2));
  expect_equal(one, run(GetParam(), batch, gradients, 0));
}

TEST(CpuEngineWorkspace, IsUsedAndRefusedWhenTooSmall) {
  const Scenario scenario{.q_lengths = {200}, .kv_lengths = {100}};
  const Batch batch = make(scenario);
  const WorkspaceSizes sizes = workspace_sizes(batch.inputs(), {}, {});
  HostTensor workspace(DType::kF32, {static_cast<std::int64_t>(sizes.forward / sizeof(float))});
  HostTensor out(DType::kF32, batch.q.shape());
  HostTensor expected(DType::kF32, batch.q.shape());
  out.fill(7);
  Execution execution;
  execution.workspace = workspace.data();
  execution.workspace_bytes = sizes.forward - 1;
  EXPECT_THROW(forward(batch.inputs(), {}, {out.view(), {}}, execution), Error);
  for (std::int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out.at(i), 7);
  execution.workspace_bytes = sizes.forward;
  workspace.fill(std::nan(""));
  forward(batch.inputs(), {}, {out.view(), {}}, execution);
  forward(batch.inputs(), {}, {expected.view(), {}});
  expect_equal(out, expected, "out");
}

}  // namespace
}  // namespace jfa
