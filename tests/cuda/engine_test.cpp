// The CUDA engine's promises: streams, graphs, threads, cards, plans, checks on the device.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_call.hpp"

namespace jfa {
namespace {

class CudaEngine : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
  }
};

Case ragged_case(std::vector<std::int64_t> lengths = {300, 0, 17, 129, 1, 255}) {
  Case c;
  c.name = "ragged";
  c.heads_q = c.heads_kv = 2;
  c.head_dim = 128;
  c.kv_lengths = std::move(lengths);
  return c;
}

HostTensor offsets_of(const std::vector<std::int64_t>& lengths) {
  HostTensor offsets(DType::kI32, {static_cast<std::int64_t>(lengths.size()) + 1});
  double total = 0;
  offsets.set(0, 0);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    total += static_cast<double>(lengths[i]);
    offsets.set(static_cast<std::int64_t>(i) + 1, total);
  }
  return offsets;
}

/// Other offsets for the same tensors, written on the device.
void set_offsets(GpuCall& call, const HostTensor& offsets) {
  for (const IndexView& view : {call.inputs.kv_offsets, *call.inputs.q_offsets}) {
    require(cudaMemcpy(const_cast<void*>(view.data), offsets.data(), offsets.bytes(),
                       cudaMemcpyHostToDevice));
  }
}

std::uint64_t* check_word(GpuCall& call) {
  call.execution.check = static_cast<std::uint64_t*>(call.poisoned(sizeof(std::uint64_t)));
  return call.execution.check;
}

/// The message of the check that a call left; empty when all was right.
std::string check_message(const GpuCall& call) {
  std::uint64_t word = 0;
  require(cudaDeviceSynchronize());
  require(cudaMemcpy(&word, call.execution.check, sizeof word, cudaMemcpyDeviceToHost));
  try {
    throw_if_check_failed(word);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
}

/// A captured call stays right when offsets change on the device under the same shapes.
TEST_F(CudaEngine, CapturedCallFollowsItsOffsets) {
  Batch batch = make_batch(ragged_case(), 1);
  GpuCall call(batch);
  const cuda::Stream stream;
  call.execution.stream = stream.get();
  const Execution planning = call.planning();
  for (const bool planned : {false, true}) {
    cudaGraph_t graph = nullptr;
    auto* const captured = static_cast<cudaStream_t>(stream.get());
    require(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    std::optional<Plan> plan;
    if (planned) plan.emplace(call.inputs, call.options, planning);
    call.forward(planned ? &*plan : nullptr);
    call.backward(planned ? &*plan : nullptr);
    require(cudaStreamEndCapture(captured, &graph));
    cudaGraphExec_t replay = nullptr;
    require(cudaGraphInstantiate(&replay, graph, 0));
    const std::vector<std::vector<std::int64_t>> batches = {{300, 0, 17, 129, 1, 255},
                                                            {1, 1, 1, 1, 1, 697},
                                                            {0, 0, 702, 0, 0, 0},
                                                            {128, 128, 64, 64, 0, 100},
                                                            {300, 0, 17, 129, 1, 255}};
    for (const auto& lengths : batches) {
      const HostTensor offsets = offsets_of(lengths);
      set_offsets(call, offsets);
      batch.kv_offsets = offsets_of(lengths);
      batch.q_offsets = offsets_of(lengths);
      call.forget_results();
      require(cudaDeviceSynchronize());
      require(cudaGraphLaunch(replay, captured));
      const std::int64_t used = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
      EXPECT_TRUE(is_right(call, batch)) << used << " rows in use, planned: " << planned;
      EXPECT_TRUE(gradients_are_right(call, batch)) << used << " rows, planned: " << planned;
    }
    require(cudaGraphExecDestroy(replay));
    require(cudaGraphDestroy(graph));
  }
}

TEST_F(CudaEngine, TwoStreamsShareAPlan) {
  const Batch batch = make_batch(ragged_case(), 2);
  GpuCall first(batch);
  GpuCall second(batch);
  const Plan plan(first.inputs, first.options, first.planning());
  require(cudaDeviceSynchronize());
  const cuda::Stream a;
  const cuda::Stream b;
  first.execution.stream = a.get();
  second.execution.stream = b.get();
  for (int i = 0; i < 50; ++i) {
    first.forward(&plan);
    second.forward(&plan);
  }
  EXPECT_TRUE(is_right(first, batch));
  EXPECT_TRUE(first.results() == second.results());
}

TEST_F(CudaEngine, ThreadsCallAtTheSameTime) {
  const Batch batch = make_batch(ragged_case(), 3);
  constexpr std::size_t kThreads = 4;
  std::vector<std::unique_ptr<GpuCall>> calls;
  for (std::size_t i = 0; i < kThreads; ++i) calls.push_back(std::make_unique<GpuCall>(batch));
  {
    std::vector<std::jthread> threads;
    for (auto& call : calls) {
      threads.emplace_back([&call] {
        const cuda::Stream stream;
        call->execution.stream = stream.get();
        for (int i = 0; i < 50; ++i) call->forward();
        require(cudaStreamSynchronize(static_cast<cudaStream_t>(stream.get())));
      });
    }
  }
  EXPECT_TRUE(is_right(*calls[0], batch));
  const std::string expected = calls[0]->results();
  for (auto& call : calls) EXPECT_TRUE(call->results() == expected);
}

TEST_F(CudaEngine, FirstCallOfAThreadComputes) {
  const Batch batch = make_batch(ragged_case(), 3);
  GpuCall call(batch);
  std::jthread([&call] { call.forward(); }).join();
  EXPECT_TRUE(is_right(call, batch));
}

TEST_F(CudaEngine, EveryCardComputes) {
  int count = 0;
  require(cudaGetDeviceCount(&count));
  if (count < 2) GTEST_SKIP() << "one GPU";
  const Batch batch = make_batch(ragged_case(), 4);
  std::vector<std::string> results(static_cast<std::size_t>(count));
  {
    std::vector<std::jthread> threads;
    for (int device = 0; device < count; ++device) {
      threads.emplace_back([&batch, &results, device] {
        require(cudaSetDevice(device));
        GpuCall call(batch);
        for (int i = 0; i < 20; ++i) call.forward();
        results[static_cast<std::size_t>(device)] = call.results();
      });
    }
  }
  for (const std::string& result : results) EXPECT_TRUE(result == results[0]);
  GpuCall call(batch);
  EXPECT_EQ(results[0].size(), call.results().size());

  require(cudaSetDevice(1));
  GpuCall elsewhere(batch);
  const Plan plan(elsewhere.inputs, elsewhere.options, elsewhere.planning());
  require(cudaDeviceSynchronize());
  require(cudaSetDevice(0));
  EXPECT_THROW(call.forward(&plan), Error);
}

TEST_F(CudaEngine, CheckNamesWhatIsWrong) {
  const Batch batch = make_batch(ragged_case({10, 20, 30}), 5);
  GpuCall call(batch);
  check_word(call);
  call.forward();
  EXPECT_EQ(check_message(call), "");
  const struct {
    std::vector<double> offsets;
    std::string message;
  } wrong[] = {{{1, 10, 30, 60}, "kv_offsets[0] is not 0"},
               {{0, 10, 9, 60}, "kv_offsets[2] is less than the offset before it"},
               {{0, 10, 30, 61}, "kv_offsets[3] is past the tensor's rows"},
               {{0, -5, 30, 60}, "kv_offsets[1] is less than the offset before it"}};
  for (const auto& [values, message] : wrong) {
    HostTensor offsets(DType::kI32, {4});
    for (std::size_t i = 0; i < 4; ++i) offsets.set(static_cast<std::int64_t>(i), values[i]);
    set_offsets(call, offsets);
    for (const bool deterministic : {false, true}) {
      call.options.deterministic = deterministic;
      call.sizes = workspace_sizes(call.inputs, call.options, call.execution);
      call.execution.workspace = call.poisoned(call.sizes.backward);
      call.forward();  // clamped: reads and writes inside the tensors
      EXPECT_EQ(check_message(call).substr(0, message.size()), message);
      call.backward();
      EXPECT_EQ(check_message(call).substr(0, message.size()), message);
    }
  }
}

TEST_F(CudaEngine, CheckFindsAPlanOfOtherOffsets) {
  const Batch batch = make_batch(ragged_case({10, 20, 30}), 6);
  GpuCall call(batch);
  check_word(call);
  const Plan plan(call.inputs, call.options, call.planning());
  call.forward(&plan);
  EXPECT_EQ(check_message(call), "");
  set_offsets(call, offsets_of({20, 10, 30}));
  call.forward(&plan);
  EXPECT_EQ(check_message(call).substr(0, 40), "plan was made for other offsets or lengt");
  call.backward(&plan);
  EXPECT_EQ(check_message(call).substr(0, 40), "plan was made for other offsets or lengt");
}

TEST_F(CudaEngine, RefusesWorkspaceThatIsMissingOrSmall) {
  const Batch batch = make_batch(ragged_case(), 7);
  GpuCall call(batch);
  const std::string needed = std::to_string(call.sizes.forward);
  const auto message = [&] {
    try {
      call.forward();
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  call.execution.workspace_bytes -= 1;
  EXPECT_EQ(message(), "execution.workspace_bytes is " +
                           std::to_string(call.execution.workspace_bytes) + ", must be at least " +
                           needed);
  call.execution.workspace = nullptr;
  EXPECT_EQ(message(),
            "execution.workspace is null, must point to " + needed + " bytes of device memory");
}

TEST_F(CudaEngine, RefusesAPlanOfOtherShapes) {
  const Batch batch = make_batch(ragged_case(), 8);
  const Batch other = make_batch(ragged_case({300, 402}), 8);
  GpuCall call(batch);
  GpuCall planned(other);
  const Plan plan(planned.inputs, planned.options, planned.planning());
  EXPECT_THROW(call.forward(&plan), Error);
}

/// Sequences of 16 tokens, a hundred thousand of them.
TEST_F(CudaEngine, ManySequences) {
  Case c = ragged_case(std::vector<std::int64_t>(100'000, 16));
  c.heads_q = c.heads_kv = 1;
  const Batch batch = make_batch(c, 9);
  GpuCall call(batch);
  call.forward();
  EXPECT_TRUE(is_right(call, batch));
  call.backward();
  EXPECT_TRUE(gradients_are_right(call, batch));
}

/// Sums to which many blocks of keys add, in any order but where equal bits are asked for.
TEST_F(CudaEngine, DeterministicGradientsAreEqualBits) {
  Case c = ragged_case({2000, 700, 1300, 129});
  for (const bool causal : {false, true}) {
    c.causal = causal;
    const Batch batch = make_batch(c, 12);
    GpuCall call(batch);
    call.options.deterministic = true;
    call.sizes = workspace_sizes(call.inputs, call.options, call.execution);
    call.execution.workspace = call.poisoned(call.sizes.backward);
    call.forward();
    call.backward();
    EXPECT_TRUE(gradients_are_right(call, batch));
    const std::string first = call.gradient_bytes();
    for (int i = 0; i < 20; ++i) {
      call.forget_gradients();
      call.backward();
      ASSERT_TRUE(call.gradient_bytes() == first) << i;
    }
  }
}

/// Row strides so large that the last rows lie past 2^32 elements.
TEST_F(CudaEngine, OffsetsOfElementsAre64Bit) {
  constexpr std::int64_t kStride = std::int64_t{1} << 27;  // 256 MiB
  const Batch batch = make_batch(ragged_case({20, 20}), 10);
  GpuCall dense(batch);
  dense.forward();
  GpuCall wide(batch);
  wide.inputs.k.row_stride = kStride;
  const std::size_t bytes = static_cast<std::size_t>(40 * kStride) * 2;
  std::optional<cuda::DeviceMemory> memory;
  try {
    memory.emplace(bytes);
  } catch (const Error&) {
    GTEST_SKIP() << "no " << bytes << " bytes of device memory";
  }
  const std::size_t row = 2 * 128 * 2;
  require(cudaMemcpy2D(memory->data(), kStride * 2, dense.inputs.k.data, row, row, 40,
                       cudaMemcpyDeviceToDevice));
  wide.inputs.k.data = memory->data();
  wide.forward();
  EXPECT_TRUE(wide.results() == dense.results());
}

/// A tensor whose every row or head is the same, by a stride of 0.
TEST_F(CudaEngine, StridesOfZero) {
  const Batch batch = make_batch(ragged_case({70, 130}), 11);
  GpuCall call(batch);
  call.inputs.v.row_stride = 0;
  call.inputs.v.head_stride = 0;
  call.forward();
  call.results();
  for (std::int64_t i = 0; i < call.out.size(); ++i) {
    ASSERT_NEAR(call.out.at(i), batch.v.at(i % 128), 0.03) << i;
  }
}

}  // namespace
}  // namespace jfa
