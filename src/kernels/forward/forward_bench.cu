// Times the forward kernel on the cases of a suite and checks sampled rows.
//
//   forward_bench SUITE.json TARGETS.json [PART-OF-NAME]
//
// Random bf16; a line a case: median and least ms of the kernel with a ready plan, ms of the
// planner, the best peer and the floor, error of sampled rows against plain fp32 loops.
#include "kernels/bench_case.hpp"
#include "kernels/forward/configs.hpp"
#include "plan/planner.hpp"

namespace jfa {
namespace {

/// A row of the output to check.
struct Sample {
  int out_row;
  int q_row;
  int head;
  int kv_head;
  int key_begin;  // rows of k and v that the row sees
  int key_end;
};

/// Squared difference and squared size, lse's largest difference: one block a sample.
__global__ void check_samples(const bf16* q, const bf16* k, const bf16* v, const bf16* out,
                              const float* lse, const Sample* samples, int heads_q, int heads_kv,
                              int dim, std::size_t rows, float scale, double* sums) {
  extern __shared__ float scores[];
  const Sample s = samples[blockIdx.x];
  const int keys = s.key_end - s.key_begin;
  const auto at = [&](const bf16* x, std::size_t row, int heads, int head, int d) {
    return Hopper::to_float(x[(row * heads + head) * dim + d]);
  };
  for (int i = threadIdx.x; i < keys; i += blockDim.x) {
    float dot = 0;
    for (int d = 0; d < dim; ++d) {
      dot += at(q, s.q_row, heads_q, s.head, d) * at(k, s.key_begin + i, heads_kv, s.kv_head, d);
    }
    scores[i] = dot * scale;
  }
  __syncthreads();
  float largest = -INFINITY;
  for (int i = 0; i < keys; ++i) largest = fmaxf(largest, scores[i]);
  double sum = 0;
  double x = 0;
  const int d = threadIdx.x;
  for (int i = 0; i < keys; ++i) {
    const double p = exp(static_cast<double>(scores[i] - largest));
    sum += p;
    if (d < dim) x += p * at(v, s.key_begin + i, heads_kv, s.kv_head, d);
  }
  if (d >= dim) return;
  const double want = keys == 0 ? 0 : x / sum;
  const double got = at(out, s.out_row, heads_q, s.head, d);
  atomicAdd(&sums[0], (got - want) * (got - want));
  atomicAdd(&sums[1], want * want);
  if (d == 0) {
    const double log_sum = keys == 0 ? -INFINITY : largest + log(sum);
    const float mine = lse[static_cast<std::size_t>(s.head) * rows + s.out_row];
    const double off = keys == 0 && mine == -INFINITY ? 0 : fabs(mine - log_sum);
    atomicAdd(&sums[2], off);
  }
}

std::vector<Sample> samples_of(const BenchCase& c) {
  std::vector<Sample> result;
  std::uint64_t state = 1;
  const auto below = [&](int n) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(n));
  };
  while (result.size() < 1000) {
    const int b = below(c.batch());
    const int first = c.broadcast ? 0 : c.q_offsets[b];
    const int length = c.broadcast ? c.q_rows : c.q_offsets[b + 1] - first;
    if (length == 0) continue;
    const int keys = c.kv_offsets[b + 1] - c.kv_offsets[b];
    const int row = below(length);
    const int head = below(c.heads_q);
    const Range seen = visible_keys({row, row + 1}, {length, keys}, c.window);
    const int begin = static_cast<int>(std::max<std::int64_t>(seen.begin, 0));
    const int end = static_cast<int>(std::max<std::int64_t>(seen.end, begin));
    result.push_back({(c.broadcast ? b * c.q_rows : first) + row, first + row, head,
                      head / (c.heads_q / c.heads_kv), c.kv_offsets[b] + begin,
                      c.kv_offsets[b] + end});
  }
  return result;
}
template <class K>
void bench(const BenchCase& c, Peers peers) {
  const auto size = [&](int rows, int heads) {
    return static_cast<std::size_t>(rows) * heads * c.dim;
  };
  const int kv_rows = c.kv_offsets.back();
  Buffer<bf16> q(size(c.q_rows, c.heads_q));
  Buffer<bf16> k(size(kv_rows, c.heads_kv));
  Buffer<bf16> v(size(kv_rows, c.heads_kv));
  Buffer<bf16> out(size(c.out_rows, c.heads_q));
  Buffer<float> lse(static_cast<std::size_t>(c.out_rows) * c.heads_q);
  fill_random<<<1320, 256>>>(q.get(), size(c.q_rows, c.heads_q), 1);
  fill_random<<<1320, 256>>>(k.get(), size(kv_rows, c.heads_kv), 2);
  fill_random<<<1320, 256>>>(v.get(), size(kv_rows, c.heads_kv), 3);
  Buffer<int> q_offsets(c.q_offsets);
  Buffer<int> kv_offsets(c.kv_offsets);
  Buffer<PlannedSequence> plan(static_cast<std::size_t>(c.batch()) + 1);
  Buffer<int> ticket(1);

  const DeviceRows q_places{
      {c.broadcast ? nullptr : q_offsets.get(), false}, {nullptr, false}, c.q_rows};
  const typename Planner<Hopper>::Params planner{
      .q = q_places,
      .kv = {{kv_offsets.get(), false}, {nullptr, false}, kv_rows},
      .batch = c.batch(),
      .shape = K::item_shape(c.heads_q, c.heads_kv),
      .plan = plan.get()};
  const std::int64_t q_row = static_cast<std::int64_t>(c.heads_q) * c.dim;
  const std::int64_t kv_row = static_cast<std::int64_t>(c.heads_kv) * c.dim;
  const double scale = 1 / std::sqrt(static_cast<double>(c.dim));
  const typename K::Params params = K::make_params({.q = q.get(),
                                                    .k = k.get(),
                                                    .v = v.get(),
                                                    .out = out.get(),
                                                    .lse = lse.get(),
                                                    .q_strides = {q_row, c.dim},
                                                    .k_strides = {kv_row, c.dim},
                                                    .v_strides = {kv_row, c.dim},
                                                    .out_strides = {q_row, c.dim},
                                                    .lse_head_stride = c.out_rows,
                                                    .heads_q = c.heads_q,
                                                    .heads_kv = c.heads_kv,
                                                    .head_dim = c.dim,
                                                    .window = c.window,
                                                    .softmax_scale = scale,
                                                    .softcap = 0,
                                                    .plan = plan.get(),
                                                    .q_rows = q_places,
                                                    .batch = c.batch(),
                                                    .ticket = ticket.get()});
  int blocks = 0;
  check_cuda(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, 0), "processors");
  const auto plan_ms = time_calls(5, [&] { launch<Planner<Hopper>>(1, planner, nullptr); });
  const auto ms = time_calls(15, [&] {
    check_cuda(cudaMemsetAsync(ticket.get(), 0, sizeof(int), nullptr), "ticket");
    launch<K>(blocks, params, nullptr);
  });

  const auto chosen = samples_of(c);
  Buffer<Sample> samples(chosen);
  Buffer<double> sums(std::vector<double>(3, 0));
  constexpr int kScoreBytes = 16384 * 4;
  check_cuda(
      cudaFuncSetAttribute(check_samples, cudaFuncAttributeMaxDynamicSharedMemorySize, kScoreBytes),
      "shared memory");
  check_samples<<<static_cast<unsigned>(chosen.size()), 128, kScoreBytes>>>(
      q.get(), k.get(), v.get(), out.get(), lse.get(), samples.get(), c.heads_q, c.heads_kv, c.dim,
      c.out_rows, static_cast<float>(scale), sums.get());
  const auto errors = sums.download();
  const double typical = median(ms);
  std::printf(
      "%-22s %8.4f ms (min %.4f)  best %8.4f (%.2fx)  floor %8.4f (%3.0f%%)  plan %.4f  "
      "error %.1e lse %.1e\n",
      c.name.c_str(), typical, *std::min_element(ms.begin(), ms.end()), peers.best,
      peers.best / typical, peers.floor, 100 * peers.floor / typical, median(plan_ms),
      std::sqrt(errors[0] / errors[1]), errors[2] / static_cast<double>(chosen.size()));
  std::fflush(stdout);
}

void bench(const BenchCase& c, Peers peers) {
  constexpr ForwardConfig k64 = forward_config(64, Tiles::Wide, false);
  constexpr ForwardConfig k128 = forward_config(128, Tiles::Wide, false);
  constexpr ForwardConfig kShort = forward_config(128, Tiles::Short, false);
  if (c.dim == 64) {
    if (c.masked()) bench<Forward<Hopper, k64, WindowMask>>(c, peers);
    if (!c.masked()) bench<Forward<Hopper, k64>>(c, peers);
  } else {
    const bool brief = c.kv_offsets.back() <= 256 * c.batch() ||
                       (c.broadcast && c.q_rows > 128 &&
                        (c.q_rows + 127) / 128 * 128 < (c.q_rows + 191) / 192 * 192);
    const bool narrow =
        c.window.left >= 0 && c.window.right >= 0 && c.window.left + c.window.right < 512;
    if (c.masked() && narrow) bench<Forward<Hopper, kShort, WindowMask>>(c, peers);
    if (c.masked() && !narrow) bench<Forward<Hopper, k128, WindowMask>>(c, peers);
    if (!c.masked() && brief) bench<Forward<Hopper, kShort>>(c, peers);
    if (!c.masked() && !brief) bench<Forward<Hopper, k128>>(c, peers);
  }
}

}  // namespace
}  // namespace jfa

int main(int count, char** arguments) {
  return jfa::for_each_case(count, arguments, "forward_bench", "fwd",
                            [](const auto& c, jfa::Peers peers) { jfa::bench(c, peers); });
}
