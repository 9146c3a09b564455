// Records one launch of the forward kernel on a GPU: who waited for what, and when.
//
// Usage: forward_trace OUT.json [LENGTH] [SEQUENCES]     self-attention of bf16 sequences of LENGTH
// rows (default 512), 4 heads of 128; OUT.json opens in Perfetto, a table of waiting is printed.
#include <cstdio>
#include <cstdlib>

#include "cuda/random_fill.hpp"
#include "cuda/traced_hopper.hpp"
#include "kernels/forward/configs.hpp"
#include "plan/planner.hpp"

namespace jfa {
inline namespace gpu {
namespace {

constexpr int kHeads = 4;
constexpr int kDim = 128;

using Kernel = Forward<TracedHopper, forward_config(kDim, Tiles::Wide, false)>;
using Plan = Planner<Hopper, ItemShape, 1024>;

/// What the launches read and write.
struct Call {
  int length;
  int sequences;
  int rows = length * sequences;
  std::size_t elements = static_cast<std::size_t>(rows) * kHeads * kDim;
  DeviceArray<bf16> q{elements}, k{elements}, v{elements}, out{elements};
  DeviceArray<float> lse{static_cast<std::size_t>(rows) * kHeads};
  DeviceArray<int> offsets{static_cast<std::size_t>(sequences) + 1};
  DeviceArray<int> ticket{1};
  DeviceArray<PlannedSequence> plan{static_cast<std::size_t>(plan_records(sequences))};

  Call(int of_length, int of_sequences) : length(of_length), sequences(of_sequences) {
    std::uint64_t seed = 1;
    for (const auto* tensor : {&q, &k, &v}) {
      cuda::fill_normal(tensor->data(), DType::kBf16, static_cast<std::int64_t>(elements), seed++);
    }
    std::vector<int> starts;
    for (int b = 0; b <= sequences; ++b) starts.push_back(b * length);
    check_cuda(cudaMemcpy(offsets.data(), starts.data(), starts.size() * sizeof(int),
                          cudaMemcpyHostToDevice),
               "offsets");
    const typename Plan::Params params{.q = places(),
                                       .kv = places(),
                                       .batch = sequences,
                                       .shape = Kernel::item_shape(kHeads, kHeads),
                                       .plan = plan.data()};
    Plan::make(params, [](int blocks, const auto& p) { launch<Plan>(blocks, p, nullptr); });
  }

  DeviceRows places() const { return {{offsets.data(), false}, {nullptr, false}, rows}; }

  auto params() const {
    constexpr std::int64_t kRow = std::int64_t{kHeads} * kDim;
    const auto matrix = [](const DeviceArray<bf16>& of) {
      return Matrix<bf16>{of.data(), kRow, kDim};
    };
    return Kernel::make_params({.q = matrix(q),
                                .k = matrix(k),
                                .v = matrix(v),
                                .out = matrix(out),
                                .lse = {lse.data(), rows},
                                .heads_q = kHeads,
                                .heads_kv = kHeads,
                                .head_dim = kDim,
                                .window = {},
                                .lists = {},
                                .softmax_scale = 0.088,
                                .softcap = 0,
                                .plan = plan.data(),
                                .q_rows = places(),
                                .batch = sequences,
                                .ticket = ticket.data()});
  }
};

void trace(const char* path, int length, int sequences) {
  constexpr int kTracedBlocks = 2;
  constexpr int kRecords = 4096;
  const Call call(length, sequences);
  write_trace<Kernel>(path, call.params(), kTracedBlocks, kRecords);
}

}  // namespace
}  // namespace gpu
}  // namespace jfa

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: forward_trace OUT.json [LENGTH] [SEQUENCES]\n");
    return 2;
  }
  try {
    jfa::trace(argv[1], argc > 2 ? std::atoi(argv[2]) : 512, argc > 3 ? std::atoi(argv[3]) : 528);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
