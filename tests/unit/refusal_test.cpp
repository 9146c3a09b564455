// Every argument the contract refuses, through the public API: the message names the argument, its
// value and what is allowed, and nothing is written.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "valid_call.hpp"

namespace jfa {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// One argument broken, and what is then said.
struct Refusal {
  std::string name;
  std::function<void(Call&)> breaks;
  std::string message;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const Refusal& refusal, std::ostream* os) { *os << refusal.name; }

void expect_refused(const Refusal& refusal, void (Call::*run)() const) {
  Call call;
  refusal.breaks(call);
  const std::string before = call.bytes();
  try {
    (call.*run)();
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), refusal.message);
    EXPECT_EQ(error.code(), refusal.code);
  }
  EXPECT_TRUE(call.bytes() == before) << "a refused call wrote to memory";
}

std::string name_of(const testing::TestParamInfo<Refusal>& info) { return info.param.name; }

std::string hex(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

/// `pointer` moved by some bytes.
const void* moved(const void* pointer, std::int64_t bytes) {
  return static_cast<const std::byte*>(pointer) + bytes;
}

// ---- what every call checks: shapes, types, strides, pointers, options ----

class RefusedInputs : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedInputs, ByEveryCall) {
  for (const auto run : {&Call::forward, &Call::backward, &Call::plan, &Call::sizes}) {
    expect_refused(GetParam(), run);
  }
}

const Refusal kBadShapes[] = {
    {"NegativeRows", [](Call& c) { c.in.q.rows = -1; }, "q.rows is -1, must be at least 0"},
    {"NegativeHeads", [](Call& c) { c.in.k.heads = -2; }, "k.heads is -2, must be at least 1"},
    {"NoHeads", [](Call& c) { c.in.q.heads = 0; }, "q.heads is 0, must be at least 1"},
    {"HeadDimZero", [](Call& c) { c.in.q.head_dim = 0; }, "q.head_dim is 0, must be 1 to 256"},
    {"HeadDim257", [](Call& c) { c.in.k.head_dim = 257; }, "k.head_dim is 257, must be 1 to 256"},
    {"HeadDimNegative", [](Call& c) { c.in.v.head_dim = -8; },
     "v.head_dim is -8, must be 1 to 256"},
    {"KeyHeadDim", [](Call& c) { c.in.k.head_dim = 4; },
     "k.head_dim is 4, must be 8, as q.head_dim"},
    {"ValueHeadDim", [](Call& c) { c.in.v.head_dim = 4; },
     "v.head_dim is 4, must be 8, as k.head_dim"},
    {"ValueRows", [](Call& c) { c.in.v.rows = 5; }, "v.rows is 5, must be 6, as k.rows"},
    {"ValueHeads", [](Call& c) { c.in.v.heads = 1; }, "v.heads is 1, must be 2, as k.heads"},
    {"HeadsDoNotDivide", [](Call& c) { c.in.q.heads = 3; },
     "q.heads is 3, must be a multiple of k.heads = 2"},
    {"FewerQueryHeads", [](Call& c) { c.in.q.heads = 1; },
     "q.heads is 1, must be a multiple of k.heads = 2"},
    {"IntegerTensor", [](Call& c) { c.in.q.dtype = DType::kI32; },
     "q.dtype is int32, must be bf16, fp16 or fp32"},
    {"UnknownDType", [](Call& c) { c.in.v.dtype = static_cast<DType>(99); },
     "v.dtype is unknown (99), must be bf16, fp16 or fp32"},
    {"MixedKeyType", [](Call& c) { c.in.k.dtype = DType::kF16; },
     "k.dtype is fp16, must be bf16, as q.dtype"},
    {"MixedValueType", [](Call& c) { c.in.v.dtype = DType::kF16; },
     "v.dtype is fp16, must be bf16, as k.dtype"},
    {"FloatOffsets", [](Call& c) { c.in.kv_offsets.dtype = DType::kF32; },
     "kv_offsets.dtype is fp32, must be int32 or int64"},
    {"FloatLengths", [](Call& c) { c.in.q_lengths->dtype = DType::kBf16; },
     "q_lengths.dtype is bf16, must be int32 or int64"},
    {"NoOffsets", [](Call& c) { c.in.kv_offsets.size = 0; },
     "kv_offsets.size is 0, must be B + 1, at least 1"},
    {"NegativeOffsetCount", [](Call& c) { c.in.kv_offsets.size = -1; },
     "kv_offsets.size is -1, must be 0 to 2^56"},
    {"OffsetCounts", [](Call& c) { c.in.q_offsets->size = 2; },
     "q_offsets.size is 2, must be 3, from kv_offsets.size = B + 1"},
    {"LengthCount", [](Call& c) { c.in.kv_lengths->size = 1; },
     "kv_lengths.size is 1, must be 2, from kv_offsets.size = B + 1"},
    {"QueryLengthCount", [](Call& c) { c.in.q_lengths->size = 0; },
     "q_lengths.size is 0, must be 2, from kv_offsets.size = B + 1"},
    {"QueryLengthsWithBroadcast", [](Call& c) { c.in.q_offsets.reset(); },
     "q_lengths is given without q_offsets, must be absent with broadcast_q: every sequence uses "
     "all rows of q"}};
INSTANTIATE_TEST_SUITE_P(Shapes, RefusedInputs, testing::ValuesIn(kBadShapes), name_of);

const Refusal kBadMemory[] = {{"NullTensor", [](Call& c) { c.in.q.data = nullptr; },
                               "q.data is null, must point to 160 elements"},
                              {"NullOffsets", [](Call& c) { c.in.kv_offsets.data = nullptr; },
                               "kv_offsets.data is null, must point to 3 elements"},
                              {"NullLengths", [](Call& c) { c.in.kv_lengths->data = nullptr; },
                               "kv_lengths.data is null, must point to 2 elements"},
                              {"NullColumns", [](Call& c) { c.blocks().columns.data = nullptr; },
                               "mask.block_sparse.columns.data is null, must point to 2 elements"},
                              {"NegativeRowStride", [](Call& c) { c.in.k.row_stride = -16; },
                               "k.row_stride is -16, must be 0 to 2^56"},
                              {"NegativeHeadStride", [](Call& c) { c.in.v.head_stride = -8; },
                               "v.head_stride is -8, must be 0 to 2^56"}};
INSTANTIATE_TEST_SUITE_P(Memory, RefusedInputs, testing::ValuesIn(kBadMemory), name_of);

/// Sizes that overflow 64 bits when multiplied or added.
const Refusal kHostile[] = {
    {"Rows", [](Call& c) { c.in.q.rows = kMax; },
     "q.row_stride is too large: 9223372036854775807 x 32 exceeds 2^56 elements"},
    {"RowsOverlaid",
     [](Call& c) {
       c.in.q.rows = kMax;
       c.in.q.row_stride = 0;
     },
     "q is too large: 9223372036854775807 x 32 exceeds 2^56 elements"},
    {"Heads",
     [](Call& c) {
       c.in.q.heads = kMax - 1;
       c.in.q.head_stride = 0;
     },
     "q is too large: 9223372036854775806 x 8 exceeds 2^56 elements"},
    {"RowStride", [](Call& c) { c.in.k.row_stride = kMax; },
     "k.row_stride is 9223372036854775807, must be 0 to 2^56"},
    {"RowStrideOfNoRows",
     [](Call& c) {
       c.in.k.rows = c.in.v.rows = 0;
       c.in.k.row_stride = kMax;
     },
     "k.row_stride is 9223372036854775807, must be 0 to 2^56"},
    {"HeadStride", [](Call& c) { c.in.v.head_stride = std::int64_t{1} << 56; },
     "v.head_stride is too large: 2 x 72057594037927936 exceeds 2^56 elements"},
    {"OffsetCount", [](Call& c) { c.in.kv_offsets.size = kMax; },
     "kv_offsets.size is 9223372036854775807, must be 0 to 2^56"},
    {"BroadcastRows",
     [](Call& c) {
       c.in.q_offsets.reset();
       c.in.q_lengths.reset();
       c.in.kv_lengths.reset();
       c.in.kv_offsets.size = std::int64_t{1} << 40;
       c.in.q.rows = std::int64_t{1} << 40;
     },
     "out is too large: 1099511627775 x 1099511627776 exceeds 2^56 elements"},
    {"BlockSize", [](Call& c) { c.blocks().block_q = kMax - 63; },
     "mask.block_sparse.block_q is 9223372036854775744, must be a positive multiple of 64, at "
     "most 2^56"}};
INSTANTIATE_TEST_SUITE_P(Hostile, RefusedInputs, testing::ValuesIn(kHostile), name_of);

constexpr double kInfinity = std::numeric_limits<double>::infinity();

const Refusal kBadOptions[] = {
    {"ScaleNan", [](Call& c) { c.options.softmax_scale = std::nan(""); },
     "softmax_scale is nan, must be finite in fp32"},
    {"ScaleInfinite", [](Call& c) { c.options.softmax_scale = -kInfinity; },
     "softmax_scale is -inf, must be finite in fp32"},
    {"ScaleTooLarge", [](Call& c) { c.options.softmax_scale = 1e39; },
     "softmax_scale is 1e+39, must be finite in fp32"},
    {"SoftcapNegative", [](Call& c) { c.options.softcap = -1e-9; },
     "softcap is -1e-09, must be 0 (off) or a positive number, normal in fp32"},
    {"SoftcapNan", [](Call& c) { c.options.softcap = std::nan(""); },
     "softcap is nan, must be 0 (off) or a positive number, normal in fp32"},
    {"SoftcapInfinite", [](Call& c) { c.options.softcap = kInfinity; },
     "softcap is inf, must be 0 (off) or a positive number, normal in fp32"},
    {"SoftcapSubnormal", [](Call& c) { c.options.softcap = 1e-39; },
     "softcap is 1e-39, must be 0 (off) or a positive number, normal in fp32"},
    {"WindowLeft", [](Call& c) { c.options.mask.window.left = -2; },
     "mask.window.left is -2, must be -1 (unbounded) or more"},
    {"WindowRight", [](Call& c) { c.options.mask.window.right = -5; },
     "mask.window.right is -5, must be -1 (unbounded) or more"},
    {"BlockQ", [](Call& c) { c.blocks().block_q = 96; },
     "mask.block_sparse.block_q is 96, must be a positive multiple of 64, at most 2^56"},
    {"BlockKv", [](Call& c) { c.blocks().block_kv = 0; },
     "mask.block_sparse.block_kv is 0, must be a positive multiple of 64, at most 2^56"},
    {"BlockHeads", [](Call& c) { c.blocks().heads = 2; },
     "mask.block_sparse.heads is 2, must be 1 or q.heads = 4"},
    {"BlockHeadsZero", [](Call& c) { c.blocks().heads = 0; },
     "mask.block_sparse.heads is 0, must be 1 or q.heads = 4"},
    {"RowOffsetsByHead", [](Call& c) { c.blocks().heads = 4; },
     "mask.block_sparse.row_offsets.size is 3, must be heads x (n + 1 or more), a positive "
     "multiple of heads = 4"},
    {"RowOffsetsNone", [](Call& c) { c.blocks().row_offsets.size = 0; },
     "mask.block_sparse.row_offsets.size is 0, must be heads x (n + 1 or more), a positive "
     "multiple of heads = 1"},
    {"RowOffsetsType", [](Call& c) { c.blocks().row_offsets.dtype = DType::kF16; },
     "mask.block_sparse.row_offsets.dtype is fp16, must be int32 or int64"},
    {"ColumnsNegativeSize", [](Call& c) { c.blocks().columns.size = -1; },
     "mask.block_sparse.columns.size is -1, must be 0 to 2^56"},
    {"Threads", [](Call& c) { c.execution.threads = -1; },
     "execution.threads is -1, must be 0 (all cores) or more"},
    {"UnknownDevice", [](Call& c) { c.execution.device = static_cast<Device>(7); },
     "execution.device is 7, must be cpu (0), cuda (1) or emulator (2)"},
    {"NegativeDevice", [](Call& c) { c.execution.device = static_cast<Device>(-1); },
     "execution.device is -1, must be cpu (0), cuda (1) or emulator (2)"}};
INSTANTIATE_TEST_SUITE_P(Options, RefusedInputs, testing::ValuesIn(kBadOptions), name_of);

TEST(Refused, MisalignedPointersShowTheirAddress) {
  Call call;
  call.in.q.data = moved(call.in.q.data, 1);
  const std::string tensor = hex(call.in.q.data);
  const auto message = [](const auto& run) -> std::string {
    try {
      run();
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  };
  EXPECT_EQ(message([&] { call.forward(); }),
            "q.data is " + tensor + ", must be aligned to 2 bytes");
  Call offsets;
  offsets.in.kv_offsets.data = moved(offsets.in.kv_offsets.data, 4);
  EXPECT_EQ(
      message([&] { offsets.plan(); }),
      "kv_offsets.data is " + hex(offsets.in.kv_offsets.data) + ", must be aligned to 8 bytes");
  Call lse;
  lse.results.lse.data = reinterpret_cast<float*>(lse.lse.data() + 2);
  EXPECT_EQ(message([&] { lse.forward(); }),
            "lse.data is " + hex(lse.results.lse.data) + ", must be aligned to 4 bytes");
  Call scratch;
  scratch.execution.workspace = scratch.spare.data() + 32;
  EXPECT_EQ(message([&] { scratch.backward(); }), "execution.workspace is " +
                                                      hex(scratch.execution.workspace) +
                                                      ", must be aligned to 64 bytes");
}

// ---- offsets, lengths and block lists by value ----

class RefusedIndices : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedIndices, ByEveryCallThatReadsThem) {
  for (const auto run : {&Call::forward, &Call::backward, &Call::plan}) {
    expect_refused(GetParam(), run);
  }
}

const Refusal kBadIndices[] = {
    {"OffsetsStart", [](Call& c) { c.kv_offsets.set(0, 1); }, "kv_offsets[0] is 1, must be 0"},
    {"OffsetsStartNegative", [](Call& c) { c.q_offsets.set(0, -1); },
     "q_offsets[0] is -1, must be 0"},
    {"OffsetsDecrease",
     [](Call& c) {
       Call::set(c.q_offsets, {0, 3, 2});
     },
     "q_offsets[2] is 2, must be at least the offset before it, 3"},
    {"OffsetsNegative", [](Call& c) { c.kv_offsets.set(1, -4); },
     "kv_offsets[1] is -4, must be at least the offset before it, 0"},
    {"QueryOffsetsPastRows", [](Call& c) { c.q_offsets.set(2, 6); },
     "q_offsets[2] is 6, must be at most the tensor's rows, 5"},
    {"KeyOffsetsPastRows", [](Call& c) { c.kv_offsets.set(1, 1e15); },
     "kv_offsets[1] is 1000000000000000, must be at most the tensor's rows, 6"},
    {"LengthPastSequence", [](Call& c) { c.q_lengths.set(0, 3); },
     "q_lengths[0] is 3, must be 0 to the rows of sequence 0, 2"},
    {"LengthPastLastSequence", [](Call& c) { c.kv_lengths.set(1, 3); },
     "kv_lengths[1] is 3, must be 0 to the rows of sequence 1, 2"},
    {"LengthNegative", [](Call& c) { c.kv_lengths.set(0, -1); },
     "kv_lengths[0] is -1, must be 0 to the rows of sequence 0, 4"},
    {"RowOffsetsTooFew", [](Call& c) { c.blocks().row_offsets.size = 2; },
     "mask.block_sparse.row_offsets has 2 entries a head, must have n + 1 for the n query blocks "
     "of all sequences; they run out in sequence 1"},
    {"RowOffsetsNegative", [](Call& c) { c.row_offsets.set(0, -1); },
     "mask.block_sparse.row_offsets[0] is -1, must be at least 0"},
    {"RowOffsetsDecrease",
     [](Call& c) {
       Call::set(c.row_offsets, {1, 0, 1});
     },
     "mask.block_sparse.row_offsets[1] is 0, must be at least the entry before it, 1, and at most "
     "columns.size = 2"},
    {"RowOffsetsPastColumns", [](Call& c) { c.row_offsets.set(2, 3); },
     "mask.block_sparse.row_offsets[2] is 3, must be at least the entry before it, 1, and at most "
     "columns.size = 2"},
    {"ColumnOutOfRange", [](Call& c) { c.columns.set(1, 1); },
     "mask.block_sparse.columns[1] is 1, must be greater than -1 (strictly increasing) and less "
     "than 1, the key blocks of sequence 1"},
    {"ColumnNegative", [](Call& c) { c.columns.set(0, -3); },
     "mask.block_sparse.columns[0] is -3, must be greater than -1 (strictly increasing) and less "
     "than 1, the key blocks of sequence 0"},
    {"ColumnsUnsorted", [](Call& c) { c.row_offsets.set(1, 2); },
     "mask.block_sparse.columns[1] is 0, must be greater than 0 (strictly increasing) and less "
     "than 1, the key blocks of sequence 0"},
    {"ColumnOfAnEmptySequence", [](Call& c) { c.kv_lengths.set(1, 0); },
     "mask.block_sparse.columns[1] is 0, must be greater than -1 (strictly increasing) and less "
     "than 0, the key blocks of sequence 1"}};
INSTANTIATE_TEST_SUITE_P(Values, RefusedIndices, testing::ValuesIn(kBadIndices), name_of);

// ---- what only forward or backward takes ----

class RefusedByForward : public testing::TestWithParam<Refusal> {};
TEST_P(RefusedByForward, Message) { expect_refused(GetParam(), &Call::forward); }

class RefusedByBackward : public testing::TestWithParam<Refusal> {};
TEST_P(RefusedByBackward, Message) { expect_refused(GetParam(), &Call::backward); }

const std::string kShared = ", outputs must not share memory with other tensors";
const std::string kSelf = " overlaps itself, its strides must keep rows and heads apart";

const Refusal kBadForward[] = {
    {"OutNull", [](Call& c) { c.results.out.data = nullptr; },
     "out.data is null, must point to 160 elements"},
    {"OutType", [](Call& c) { c.results.out.dtype = DType::kF16; },
     "out.dtype is fp16, must be bf16, as q.dtype"},
    {"OutRows", [](Call& c) { c.results.out.rows = 4; }, "out.rows is 4, must be 5, as q.rows"},
    {"OutHeads", [](Call& c) { c.results.out.heads = 2; }, "out.heads is 2, must be 4, as q.heads"},
    {"OutHeadDim", [](Call& c) { c.results.out.head_dim = 4; },
     "out.head_dim is 4, must be 8, as q.head_dim"},
    {"OutStride", [](Call& c) { c.results.out.row_stride = -32; },
     "out.row_stride is -32, must be 0 to 2^56"},
    {"BroadcastOutRows",
     [](Call& c) {
       c.in.q_offsets.reset();
       c.in.q_lengths.reset();
     },
     "out.rows is 5, must be 10, B x q.rows"},
    {"LseHeads", [](Call& c) { c.results.lse.heads = 2; }, "lse.heads is 2, must be 4, as q.heads"},
    {"LseRows", [](Call& c) { c.results.lse.rows = 6; },
     "lse.rows is 6, must be 5, the rows of out"},
    {"LseStride", [](Call& c) { c.results.lse.head_stride = -5; },
     "lse.head_stride is -5, must be 0 to 2^56"},
    {"LseStrideHostile", [](Call& c) { c.results.lse.head_stride = kMax; },
     "lse.head_stride is 9223372036854775807, must be 0 to 2^56"},
    {"OutOverlapsItselfByRows", [](Call& c) { c.results.out.row_stride = 16; }, "out" + kSelf},
    {"OutOverlapsItselfByHeads", [](Call& c) { c.results.out.head_stride = 0; }, "out" + kSelf},
    {"LseOverlapsItself", [](Call& c) { c.results.lse.head_stride = 4; }, "lse" + kSelf},
    {"OutIsQ", [](Call& c) { c.results.out.data = c.q.data(); }, "out overlaps q" + kShared},
    {"OutInV", [](Call& c) { c.results.out.data = c.v.data() + 190; }, "out overlaps v" + kShared},
    {"OutOnOffsets", [](Call& c) { c.results.out.data = c.q_offsets.data(); },
     "out overlaps q_offsets" + kShared},
    {"OutOnLengths", [](Call& c) { c.results.out.data = c.kv_lengths.data(); },
     "out overlaps kv_lengths" + kShared},
    {"OutOnColumns", [](Call& c) { c.results.out.data = c.columns.data(); },
     "out overlaps mask.block_sparse.columns" + kShared},
    {"LseInOut", [](Call& c) { c.results.lse.data = reinterpret_cast<float*>(c.out.data() + 64); },
     "lse overlaps out" + kShared},
    {"WorkspaceInOut",
     [](Call& c) {
       c.execution.workspace = c.out.data() + 64;
       c.execution.workspace_bytes = 64;
     },
     "execution.workspace overlaps out" + kShared},
    {"WorkspaceOverAll",
     [](Call& c) {
       c.results.out.data = c.spare.data() + 64;
       c.execution.workspace = c.spare.data();
       c.execution.workspace_bytes = std::numeric_limits<std::size_t>::max();
     },
     "execution.workspace overlaps out" + kShared}};
INSTANTIATE_TEST_SUITE_P(Outputs, RefusedByForward, testing::ValuesIn(kBadForward), name_of);

const Refusal kBadBackward[] = {
    {"DoutNull", [](Call& c) { c.given.dout.data = nullptr; },
     "dout.data is null, must point to 160 elements"},
    {"DoutType", [](Call& c) { c.given.dout.dtype = DType::kF32; },
     "dout.dtype is fp32, must be bf16, as q.dtype"},
    {"DoutRows", [](Call& c) { c.given.dout.rows = 6; }, "dout.rows is 6, must be 5, as q.rows"},
    {"OutHeads", [](Call& c) { c.given.out.heads = 1; }, "out.heads is 1, must be 4, as q.heads"},
    {"LseNull", [](Call& c) { c.given.lse.data = nullptr; },
     "lse.data is null, must point to 20 elements"},
    {"LseRows", [](Call& c) { c.given.lse.rows = 4; }, "lse.rows is 4, must be 5, the rows of out"},
    {"DlseNull", [](Call& c) { c.given.dlse->data = nullptr; },
     "dlse.data is null, must point to 20 elements"},
    {"DlseHeads", [](Call& c) { c.given.dlse->heads = 2; },
     "dlse.heads is 2, must be 4, as q.heads"},
    {"DqRows", [](Call& c) { c.gradients.dq.rows = 3; }, "dq.rows is 3, must be 5, as q.rows"},
    {"DkHeads", [](Call& c) { c.gradients.dk.heads = 4; }, "dk.heads is 4, must be 2, as k.heads"},
    {"DvHeadDim", [](Call& c) { c.gradients.dv.head_dim = 2; },
     "dv.head_dim is 2, must be 8, as v.head_dim"},
    {"DvType", [](Call& c) { c.gradients.dv.dtype = DType::kF32; },
     "dv.dtype is fp32, must be bf16, as v.dtype"},
    {"DqNull", [](Call& c) { c.gradients.dq.data = nullptr; },
     "dq.data is null, must point to 160 elements"},
    {"DkIsDv", [](Call& c) { c.gradients.dv.data = c.dk.data(); }, "dv overlaps dk" + kShared},
    {"DqIsQ", [](Call& c) { c.gradients.dq.data = c.q.data(); }, "dq overlaps q" + kShared},
    {"DqInDout", [](Call& c) { c.gradients.dq.data = c.dout.data(); },
     "dq overlaps dout" + kShared},
    {"DkInOut", [](Call& c) { c.gradients.dk.data = c.out.data(); }, "dk overlaps out" + kShared},
    {"DkInLse", [](Call& c) { c.gradients.dk.data = c.lse.data(); }, "dk overlaps lse" + kShared},
    {"DvInDlse", [](Call& c) { c.gradients.dv.data = c.dlse.data(); },
     "dv overlaps dlse" + kShared},
    {"DkOverlapsItself", [](Call& c) { c.gradients.dk.row_stride = 8; }, "dk" + kSelf},
    {"PackedOneApart",  // [rows, 3, heads, dim] with v's place taken by k's
     [](Call& c) {
       c.gradients.dk.data = c.spare.data();
       c.gradients.dv.data = c.spare.data() + 24;
       c.gradients.dk.row_stride = c.gradients.dv.row_stride = 48;
     },
     "dv overlaps dk" + kShared},
    {"WorkspaceInDq",
     [](Call& c) {
       c.execution.workspace = c.dq.data();
       c.execution.workspace_bytes = 1;
     },
     "execution.workspace overlaps dq" + kShared}};
INSTANTIATE_TEST_SUITE_P(Arguments, RefusedByBackward, testing::ValuesIn(kBadBackward), name_of);

}  // namespace
}  // namespace jfa
