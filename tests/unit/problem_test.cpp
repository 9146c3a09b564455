// What the argument checks accept, and the problem they make of it.
#include "problem/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "valid_call.hpp"

namespace jfa {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Problem, TheValidCall) {
  Call call;
  Problem problem;
  EXPECT_TRUE(check_inputs(call.in, call.options, call.execution, problem).ok());
  EXPECT_TRUE(check_host_indices(problem).ok());
  EXPECT_TRUE(check_forward_outputs(problem, call.results, call.execution).ok());
  EXPECT_TRUE(check_backward(problem, call.given, call.gradients, call.execution).ok());
  EXPECT_EQ(problem.batch, 2);
  EXPECT_EQ(problem.out_rows, 5);
  EXPECT_EQ(problem.group_size, 2);
  EXPECT_FALSE(problem.broadcast_q);
  EXPECT_EQ(problem.softmax_scale, 1 / std::sqrt(8.0));
}

Status checked(const Call& call, Problem& problem) {
  JFA_RETURN_IF_ERROR(check_inputs(call.in, call.options, call.execution, problem));
  JFA_RETURN_IF_ERROR(check_host_indices(problem));
  JFA_RETURN_IF_ERROR(check_forward_outputs(problem, call.results, call.execution));
  return check_backward(problem, call.given, call.gradients, call.execution);
}

void expect_accepted(const Call& call) {
  Problem problem;
  const Status status = checked(call, problem);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.message());
}

TEST(Accepted, NothingWantedOfLse) {
  Call call;
  call.results.lse = {};
  expect_accepted(call);
}

TEST(Accepted, InputsMayOverlayRowsAndShareMemory) {
  Call call;
  call.in.q.row_stride = 0;
  call.in.v = call.in.k;
  call.given.out = call.given.dout;
  expect_accepted(call);
}

TEST(Accepted, CapacityOfBlockLists) {
  Call call;
  call.blocks().row_offsets = IndexView(call.spare.data(), DType::kI32, 100);
  call.spare.fill(0);
  expect_accepted(call);
}

TEST(Accepted, WidestWindowAndScales) {
  Call call;
  call.options.mask.window = {kMax, kMax};
  call.options.softmax_scale = -3e38;
  call.options.softcap = 3e38;
  expect_accepted(call);
  Problem problem;
  ASSERT_TRUE(checked(call, problem).ok());
  EXPECT_EQ(problem.window.left, -1);
  EXPECT_EQ(problem.window.right, -1);
  call.options.mask.causal = true;
  ASSERT_TRUE(checked(call, problem).ok());
  EXPECT_EQ(problem.window.right, 0);
}

TEST(Accepted, NoRowsNeedNoMemory) {
  Call call;
  for (ConstTensorView* view :
       {&call.in.q, &call.in.k, &call.in.v, &call.given.dout, &call.given.out}) {
    view->rows = 0;
    view->data = nullptr;
  }
  for (TensorView* view :
       {&call.results.out, &call.gradients.dq, &call.gradients.dk, &call.gradients.dv}) {
    view->rows = 0;
    view->data = nullptr;
  }
  call.results.lse = {};
  call.given.lse = {nullptr, 4, 0, 0};
  call.given.dlse = call.given.lse;
  for (HostTensor* t : {&call.q_offsets, &call.kv_offsets, &call.q_lengths, &call.kv_lengths}) {
    t->fill(0);
  }
  call.blocks().columns = {};
  call.row_offsets.fill(0);
  expect_accepted(call);
  // No sequences: the lengths have no entries, and may be null.
  call.in.kv_offsets.size = call.in.q_offsets->size = 1;
  call.in.kv_lengths = call.in.q_lengths = IndexView();
  call.blocks().row_offsets.size = 1;
  expect_accepted(call);
}

TEST(Accepted, PackedGradients) {
  Call call;
  std::byte* const data = call.spare.data();
  call.gradients.dq.data = data;  // [rows, 4 + 2 + 2, 8], bf16
  call.gradients.dk.data = data + 64;
  call.gradients.dv.data = data + 96;
  for (TensorView* view : {&call.gradients.dq, &call.gradients.dk, &call.gradients.dv}) {
    view->row_stride = 64;
  }
  expect_accepted(call);
  call.gradients.dq = call.dq.view();
  call.gradients.dk.data = data;  // [rows, heads, 2, 8]
  call.gradients.dv.data = data + 16;
  for (TensorView* view : {&call.gradients.dk, &call.gradients.dv}) {
    view->row_stride = 32;
    view->head_stride = 16;
  }
  expect_accepted(call);
}

}  // namespace
}  // namespace jfa
