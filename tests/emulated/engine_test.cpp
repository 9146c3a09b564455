// The emulator as an engine through the public API, and with it what every engine that launches
// kernels refuses and checks: these tests need no GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "batch/batch.hpp"
#include "jfa/jfa.hpp"
#include "reference/reference.hpp"

namespace jfa {
namespace {

/// A call on the emulator: two sequences of 20 and 30 rows, 2 heads of 64.
struct EmulatedCall {
  explicit EmulatedCall(DType dtype = DType::kBf16, std::int64_t head_dim = 64)
      : batch(make_batch(batch_case(dtype, head_dim), 1)),
        out(dtype, {50, 2, head_dim}),
        lse(DType::kF32, {2, 50}),
        dout(random_tensor(dtype, {50, 2, head_dim}, 2)),
        inputs(batch.inputs()),
        outputs{out.view(), lse.lse_view()} {
    execution.device = Device::kEmulator;
    for (HostTensor* gradient : {&dq, &dk, &dv}) {
      *gradient = HostTensor(dtype, {50, 2, head_dim});
      gradient->fill(7);
    }
  }

  static Case batch_case(DType dtype, std::int64_t head_dim) {
    Case c;
    c.dtype = dtype;
    c.heads_q = c.heads_kv = 2;
    c.head_dim = head_dim;
    c.kv_lengths = {20, 30};
    return c;
  }

  void forward(const Plan* plan = nullptr) const {
    jfa::forward(inputs, options, outputs, execution, plan);
  }

  void backward(const Plan* plan = nullptr) {
    jfa::backward(inputs, options, {dout.view(), outputs.out, outputs.lse, std::nullopt},
                  {dq.view(), dk.view(), dv.view()}, execution, plan);
  }

  void set_offsets(std::vector<double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      batch.kv_offsets.set(static_cast<std::int64_t>(i), values[i]);
      batch.q_offsets->set(static_cast<std::int64_t>(i), values[i]);
    }
  }

  Batch batch;
  HostTensor out, lse, dout, dq, dk, dv;
  Inputs inputs;
  Options options;
  ForwardOutputs outputs;
  Execution execution;
};

struct Refusal {
  std::string name;
  std::function<void(EmulatedCall&)> breaks;
  std::string message;
  ErrorCode code = ErrorCode::kUnsupported;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const Refusal& refusal, std::ostream* os) { *os << refusal.name; }

class RefusedByKernels : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedByKernels, Message) {
  EmulatedCall call;
  GetParam().breaks(call);
  call.out.fill(7);
  try {
    call.forward();
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).substr(0, GetParam().message.size()), GetParam().message);
    EXPECT_EQ(error.code(), GetParam().code);
  }
  EXPECT_EQ(call.out.at(0), 7) << "a refused call wrote";
}

const std::byte* moved(const void* pointer, std::int64_t bytes) {
  return static_cast<const std::byte*>(pointer) + bytes;
}

const Refusal kRefusals[] = {
    {"Fp32",
     [](EmulatedCall& c) {
       c.inputs.q.dtype = c.inputs.k.dtype = c.inputs.v.dtype = c.outputs.out.dtype = DType::kF32;
     },
     "q.dtype is fp32, must be bf16 or fp16 on a GPU"},
    {"HeadDim",
     [](EmulatedCall& c) {
       c.inputs.q.head_dim = c.inputs.k.head_dim = c.inputs.v.head_dim = c.outputs.out.head_dim =
           60;
     },
     "q.head_dim is 60, must be a multiple of 8 on a GPU"},
    {"KRowStride", [](EmulatedCall& c) { c.inputs.k.row_stride = 132; },
     "k.row_stride is 132, must be a multiple of 8 on a GPU"},
    {"VHeadStride", [](EmulatedCall& c) { c.inputs.v.head_stride = 65; },
     "v.head_stride is 65, must be a multiple of 8 on a GPU"},
    {"KData", [](EmulatedCall& c) { c.inputs.k.data = moved(c.inputs.k.data, 8); }, "k.data is 0x"},
    {"OutRowStride", [](EmulatedCall& c) { c.outputs.out.row_stride = 130; },
     "out.row_stride is 130, must be a multiple of 8 on a GPU"},
    {"RowStrideTooLarge", [](EmulatedCall& c) { c.inputs.k.row_stride = std::int64_t{1} << 33; },
     "k.row_stride is 8589934592, must be at most 4294967296 on a GPU"},
    {"TooManyRows",
     [](EmulatedCall& c) { c.inputs.k.rows = c.inputs.v.rows = std::int64_t{1} << 31; },
     "k.rows is 2147483648, must be at most 2147418112 on a GPU"},
    {"Stream", [](EmulatedCall& c) { c.execution.stream = &c; }, "execution.stream is 0x",
     ErrorCode::kInvalidArgument},
    {"CheckOnCpu",
     [](EmulatedCall& c) {
       static std::uint64_t word;
       c.execution.device = Device::kCpu;
       c.execution.check = &word;
     },
     "execution.check is 0x", ErrorCode::kInvalidArgument},
    {"CheckMisaligned",
     [](EmulatedCall& c) {
       static std::uint64_t words[2];
       c.execution.check =
           reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(words) + 4);
     },
     "execution.check is 0x", ErrorCode::kInvalidArgument},
    {"Workspace",
     [](EmulatedCall& c) {
       alignas(64) static std::byte small[64];
       c.execution.workspace = small;
       c.execution.workspace_bytes = sizeof small;
     },
     "execution.workspace_bytes is 64, must be at least ", ErrorCode::kInvalidArgument}};

INSTANTIATE_TEST_SUITE_P(Arguments, RefusedByKernels, testing::ValuesIn(kRefusals),
                         [](const auto& test) { return test.param.name; });

template <typename Call>
std::string message_of(Call&& call, ErrorCode code) {
  try {
    call();
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
}

TEST(EmulatedEngine, RefusesWhatNoKernelComputes) {
  EmulatedCall wide(DType::kBf16, 136);
  wide.options.softcap = 5;
  wide.forward();
  const std::string message = message_of([&] { wide.backward(); }, ErrorCode::kUnsupported);
  const std::string start =
      "no backward kernel of this build takes bf16 with head_dim = 136, a softcap, must be one "
      "that takes at least that: bf16 head_dim 64, deterministic with broadcast queries "
      "only; ";
  EXPECT_EQ(message.substr(0, start.size()), start);
  EXPECT_EQ(workspace_sizes(wide.inputs, wide.options, wide.execution).backward, 0U);
  for (std::int64_t i = 0; i < wide.dq.size(); ++i) ASSERT_EQ(wide.dq.at(i), 7);
}

TEST(EmulatedEngine, BackwardSharesThePlanOfForward) {
  EmulatedCall call;
  const Plan plan(call.inputs, call.options, call.execution);
  std::uint64_t word = 77;
  call.execution.check = &word;
  call.forward(&plan);
  call.backward(&plan);
  EXPECT_EQ(word, 0U);
  const std::byte* results = call.dq.data();
  const std::vector<std::byte> planned(results, results + call.dq.bytes());
  call.dq.fill(7);
  call.backward();
  EXPECT_EQ(std::vector<std::byte>(results, results + call.dq.bytes()), planned);
  call.set_offsets({0, 30, 50});
  call.backward(&plan);
  EXPECT_EQ(message_of([&] { throw_if_check_failed(word); }, ErrorCode::kInvalidArgument),
            "plan was made for other offsets or lengths, must be made for those of the call");
}

/// Gradients are then made by other kernels, which read another part of the plan.
TEST(EmulatedEngine, PlanServesDeterministicCallsAndOthers) {
  EmulatedCall call;
  call.forward();
  for (const bool deterministic : {false, true}) {
    call.options.deterministic = !deterministic;
    const Plan plan(call.inputs, call.options, call.execution);
    call.options.deterministic = deterministic;
    call.backward();
    const std::byte* results = call.dq.data();
    const std::vector<std::byte> without_plan(results, results + call.dq.bytes());
    call.dq.fill(7);
    call.backward(&plan);
    EXPECT_EQ(std::vector<std::byte>(results, results + call.dq.bytes()), without_plan);
  }
}

/// A kernel of their own takes sequences of few queries, which offsets decide on the device: under
/// the same shapes there may be none, or ones with more keys.
TEST(EmulatedEngine, OffsetsOfFewQueriesMayChange) {
  Case c;
  c.heads_q = c.heads_kv = 2;
  c.head_dim = 64;
  c.q_lengths = {20, 30, 140};
  c.kv_lengths = {900, 300, 600};
  Batch batch = make_batch(c, 1);
  const Inputs inputs = batch.inputs();
  Execution execution;
  execution.device = Device::kEmulator;
  HostTensor out(DType::kBf16, {190, 2, 64});
  HostTensor lse(DType::kF32, {2, 190});
  const HostTensor dout = random_tensor(DType::kBf16, {190, 2, 64}, 2);
  HostTensor dq(DType::kBf16, {190, 2, 64});
  HostTensor dk(DType::kBf16, {1800, 2, 64});
  HostTensor dv(DType::kBf16, {1800, 2, 64});
  for (const auto& [second, third] : {std::pair{20, 50}, {140, 160}, {0, 0}, {190, 190}}) {
    batch.q_offsets->set(1, second);
    batch.q_offsets->set(2, third);
    std::vector<std::byte> first;
    for (const bool deterministic : {false, true}) {
      Options options;
      options.deterministic = !deterministic;
      const Plan plan(inputs, options, execution);
      options.deterministic = deterministic;
      forward(inputs, options, {out.view(), lse.lse_view()}, execution, &plan);
      for (HostTensor* gradient : {&dq, &dk, &dv}) gradient->fill(NAN);
      backward(inputs, options, {dout.view(), out.view(), lse.lse_view(), std::nullopt},
               {dq.view(), dk.view(), dv.view()}, execution, &plan);
      for (const HostTensor* gradient : {&dq, &dk, &dv}) {
        for (std::int64_t i = 0; i < gradient->size(); ++i) {
          ASSERT_FALSE(std::isnan(gradient->at(i))) << second << " " << third << ", value " << i;
        }
      }
      const std::vector<std::byte> bits(dq.data(), dq.data() + dq.bytes());
      if (first.empty()) first = bits;
      EXPECT_EQ(bits, first) << second << " " << third;
    }
  }
}

/// Block lists of one head in blocks of 64: a row of one column for each of the two sequences.
std::string wrong_lists(std::vector<double> row_offsets, std::vector<double> columns) {
  EmulatedCall call;
  const auto tensor = [](const std::vector<double>& values) {
    HostTensor result(DType::kI32, {static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) {
      result.set(static_cast<std::int64_t>(i), values[i]);
    }
    return result;
  };
  const HostTensor rows = tensor(row_offsets);
  const HostTensor blocks = tensor(columns);
  call.options.mask.block_sparse = BlockSparse{64, 64, 1, rows.index_view(), blocks.index_view()};
  std::uint64_t word = 77;
  call.execution.check = &word;
  call.forward();  // lists are clamped: a read outside would be a finding
  const std::string message =
      message_of([&] { throw_if_check_failed(word); }, ErrorCode::kInvalidArgument);
  return message.substr(0, message.find(','));
}

TEST(EmulatedEngine, CheckNamesWrongBlockLists) {
  EXPECT_EQ(wrong_lists({0, 1, 2}, {0, 0}), "");
  EXPECT_EQ(wrong_lists({0, 1}, {0, 0}),
            "mask.block_sparse.row_offsets has too few entries a head");
  EXPECT_EQ(wrong_lists({0, 1, 0}, {0, 0}),
            "mask.block_sparse.row_offsets[2] is less than the offset before it");
  EXPECT_EQ(wrong_lists({0, 1, 3}, {0, 0}),
            "mask.block_sparse.row_offsets[2] is past the end of columns");
  EXPECT_EQ(wrong_lists({0, 1, 2}, {0, 1}),
            "mask.block_sparse.columns[1] is not above the one before it or no key block of its "
            "sequence");
  EXPECT_EQ(wrong_lists({0, 2, 2}, {0, 0}),
            "mask.block_sparse.columns[1] is not above the one before it or no key block of its "
            "sequence");
}

std::string wrong_offsets(std::vector<double> offsets) {
  EmulatedCall call;
  call.set_offsets(std::move(offsets));
  std::uint64_t word = 77;
  call.execution.check = &word;
  // Offsets are clamped: a read or write outside the tensors would be a finding.
  call.options.deterministic = true;  // blocks that wait for each other do not wait for ever
  std::string messages[2];
  for (const bool backward : {false, true}) {
    try {
      backward ? call.backward() : call.forward();
    } catch (const Error& error) {  // those of falling offsets may say that a row belongs to two
      EXPECT_NE(std::string(error.what()).find("has written before"), std::string::npos)
          << error.what();
    }
    const std::string message =
        message_of([&] { throw_if_check_failed(word); }, ErrorCode::kInvalidArgument);
    messages[backward] = message.substr(0, message.find(','));
  }
  EXPECT_EQ(messages[0], messages[1]);
  return messages[0];
}

TEST(EmulatedEngine, CheckNamesTheFirstFault) {
  EXPECT_EQ(wrong_offsets({0, 20, 50}), "");
  EXPECT_EQ(wrong_offsets({1, 20, 50}), "kv_offsets[0] is not 0");
  EXPECT_EQ(wrong_offsets({0, 20, 19}), "kv_offsets[2] is less than the offset before it");
  EXPECT_EQ(wrong_offsets({0, 20, 51}), "kv_offsets[2] is past the tensor's rows");
  EXPECT_EQ(wrong_offsets({0, -1, 51}), "kv_offsets[1] is less than the offset before it");
}

TEST(EmulatedEngine, CheckNamesWrongLengths) {
  EmulatedCall call;
  HostTensor lengths(DType::kI64, {2});
  lengths.set(0, 20);
  lengths.set(1, 31);
  std::uint64_t word = 0;
  call.execution.check = &word;
  call.inputs.q_lengths = lengths.index_view();
  call.forward();
  EXPECT_EQ(message_of([&] { throw_if_check_failed(word); }, ErrorCode::kInvalidArgument),
            "q_lengths[1] is below 0 or over the rows of its sequence, must be 0 to those");
}

TEST(EmulatedEngine, CheckFindsAPlanOfOtherOffsets) {
  EmulatedCall call;
  const Plan plan(call.inputs, call.options, call.execution);
  std::uint64_t word = 77;
  call.execution.check = &word;
  call.forward(&plan);
  EXPECT_EQ(word, 0U);
  call.set_offsets({0, 30, 50});
  call.forward(&plan);
  EXPECT_EQ(message_of([&] { throw_if_check_failed(word); }, ErrorCode::kInvalidArgument),
            "plan was made for other offsets or lengths, must be made for those of the call");
}

TEST(EmulatedEngine, PlanOfOtherShapesOrDeviceIsRefused) {
  EmulatedCall call;
  const Plan plan(call.inputs, call.options, call.execution);
  EmulatedCall masked;
  masked.options.mask.causal = true;  // tiles share no keys then
  EXPECT_EQ(message_of([&] { masked.forward(&plan); }, ErrorCode::kInvalidArgument).substr(0, 18),
            "plan was made for ");
  call.execution.device = Device::kCpu;
  EXPECT_EQ(message_of([&] { call.forward(&plan); }, ErrorCode::kInvalidArgument),
            "plan was made for another device than execution.device, must be made for it");
}

/// More workspaces than a plan has tickets, full of NaN.
TEST(EmulatedEngine, PlanServesAnyNumberOfWorkspaces) {
  EmulatedCall call;
  const Plan plan(call.inputs, call.options, call.execution);
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  const std::size_t bytes = workspace_sizes(call.inputs, call.options, call.execution).forward;
  std::vector<std::vector<Line>> workspaces(7, std::vector<Line>((bytes + 63) / 64));
  const auto results = [&](std::vector<Line>& workspace) {
    std::memset(workspace.data(), 0xFF, bytes);
    call.execution.workspace = workspace.data();
    call.execution.workspace_bytes = bytes;
    call.out.fill(NAN);
    call.forward(&plan);
    const auto* out = reinterpret_cast<const std::byte*>(call.out.data());
    return std::vector<std::byte>(out, out + call.out.bytes());
  };
  const auto expected = results(workspaces[0]);
  for (int round = 0; round < 2; ++round) {
    for (auto& workspace : workspaces) EXPECT_TRUE(results(workspace) == expected);
  }
}

TEST(EmulatedEngine, WordsThatNoCallWroteAreRefused) {
  for (const std::uint64_t word : {std::uint64_t{1}, ~std::uint64_t{0}}) {
    EXPECT_NE(message_of([&] { throw_if_check_failed(word); }, ErrorCode::kInvalidArgument), "");
  }
}

/// A strided view whose every row and head is the same.
TEST(EmulatedEngine, StridesOfZero) {
  EmulatedCall call;
  call.inputs.v.row_stride = 0;
  call.inputs.v.head_stride = 0;
  call.forward();
  for (std::int64_t i = 0; i < call.out.size(); ++i) {
    ASSERT_NEAR(call.out.at(i), call.batch.v.at(i % 64), 0.03) << i;
  }
}

TEST(CudaEngineWithoutGpu, SaysWhatIsMissing) {
  EmulatedCall call;
  call.execution.device = Device::kCuda;
  const auto run = [&] { workspace_sizes(call.inputs, call.options, call.execution); };
  std::string message;
  try {
    run();
    GTEST_SKIP() << "there is a GPU";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    message = error.what();
  }
  EXPECT_EQ(message.substr(0, 11), "device cuda");
  EXPECT_NE(message.find(", must be "), std::string::npos) << message;
}

}  // namespace
}  // namespace jfa
