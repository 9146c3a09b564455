// Times the backward pass on the cases of a suite and checks sampled rows of the gradients.
//
//   backward_bench SUITE.json TARGETS.json [PART-OF-NAME]
//
// Random bf16; out and lse are the forward kernel's. A line a case: median and least ms of all
// passes with ready plans, median ms of each pass, the best peer and the floor, errors of sampled
// rows of dq, dk and dv against plain fp32 loops.
#include "cuda/random_fill.hpp"
#include "kernels/backward/prepare.hpp"
#include "kernels/bench_case.hpp"
#include "kernels/forward/configs.hpp"
#include "plan/planner.hpp"

namespace jfa {
namespace {

/// A row of dq, or of dk and dv, and the rows of the other side that it meets.
struct Sample {
  int row;
  int head;
  int begin;
  int end;
  int out_begin;  // row of out of query `begin`; of the sampled query where that is the row
};

struct Tensors {
  const bf16 *q, *k, *v, *out, *dout, *dq, *dk, *dv;
  const float* lse;
  int heads_q, heads_kv, dim;
  std::size_t out_rows;
  float scale;

  __device__ float at(const bf16* x, std::size_t row, int heads, int head, int d) const {
    return Hopper::to_float(x[(row * heads + head) * dim + d]);
  }
  __device__ float dot(const bf16* x, std::size_t row, int heads, int head, const bf16* y,
                       std::size_t y_row, int y_heads, int y_head) const {
    float sum = 0;
    for (int d = 0; d < dim; ++d) {
      sum += at(x, row, heads, head, d) * at(y, y_row, y_heads, y_head, d);
    }
    return sum;
  }
  /// P and dS of a query and a key.
  __device__ float2 pair(std::size_t q_row, std::size_t out_row, int head, std::size_t key) const {
    const int kv_head = head / (heads_q / heads_kv);
    const float score = dot(q, q_row, heads_q, head, k, key, heads_kv, kv_head) * scale;
    const float p = expf(score - lse[head * out_rows + out_row]);
    const float dp = dot(dout, out_row, heads_q, head, v, key, heads_kv, kv_head);
    const float delta = dot(dout, out_row, heads_q, head, out, out_row, heads_q, head);
    return {p, p * (dp - delta) * scale};
  }
};

/// Squared difference and squared size of rows of dq: one block a sample.
__global__ void check_queries(Tensors t, const Sample* samples, double* sums) {
  extern __shared__ float2 pairs[];
  const Sample s = samples[blockIdx.x];
  for (int i = threadIdx.x; i < s.end - s.begin; i += blockDim.x) {
    pairs[i] = t.pair(s.row, s.out_begin, s.head, s.begin + i);
  }
  __syncthreads();
  const int d = threadIdx.x;
  if (d >= t.dim) return;
  const int kv_head = s.head / (t.heads_q / t.heads_kv);
  double want = 0;
  for (int i = s.begin; i < s.end; ++i) {
    want += pairs[i - s.begin].y * t.at(t.k, i, t.heads_kv, kv_head, d);
  }
  const double got = t.at(t.dq, s.row, t.heads_q, s.head, d);
  atomicAdd(&sums[0], (got - want) * (got - want));
  atomicAdd(&sums[1], want * want);
}

/// The rows of dq with broadcast_q, summed over sequences: a block a sample and sequence.
__global__ void add_queries(Tensors t, const Sample* samples, const int* kv_offsets, Window window,
                            int lq, double* want) {
  extern __shared__ float2 pairs[];
  const Sample s = samples[blockIdx.x];
  const int b = static_cast<int>(blockIdx.y);
  const int first = kv_offsets[b];
  const int keys = kv_offsets[b + 1] - first;
  const Range seen = visible_keys({s.row, s.row + 1}, {lq, keys}, window);
  const int begin = first + static_cast<int>(seen.begin < 0 ? 0 : seen.begin);
  const int end = first + static_cast<int>(seen.end);
  for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += blockDim.x) {
    pairs[i - begin] = t.pair(s.row, std::size_t{1} * b * lq + s.row, s.head, i);
  }
  __syncthreads();
  const int d = threadIdx.x;
  if (d >= t.dim) return;
  double sum = 0;
  for (int i = begin; i < end; ++i) {
    sum += pairs[i - begin].y * t.at(t.k, i, t.heads_kv, s.head / (t.heads_q / t.heads_kv), d);
  }
  atomicAdd(&want[blockIdx.x * t.dim + d], sum);
}
__global__ void compare_queries(Tensors t, const Sample* samples, const double* want,
                                double* sums) {
  const Sample s = samples[blockIdx.x];
  const int d = threadIdx.x;
  if (d >= t.dim) return;
  const double x = want[blockIdx.x * t.dim + d];
  const double off = t.at(t.dq, s.row, t.heads_q, s.head, d) - x;
  atomicAdd(&sums[0], off * off);
  atomicAdd(&sums[1], x * x);
}

/// The same of dk and dv; `begin` and `end` are rows of q.
__global__ void check_keys(Tensors t, const Sample* samples, double* sums) {
  extern __shared__ float2 pairs[];
  const Sample s = samples[blockIdx.x];
  const int group = t.heads_q / t.heads_kv;
  const int d = threadIdx.x;
  double dk = 0;
  double dv = 0;
  for (int head = s.head * group; head < (s.head + 1) * group; ++head) {
    for (int i = threadIdx.x; i < s.end - s.begin; i += blockDim.x) {
      pairs[i] = t.pair(s.begin + i, s.out_begin + i, head, s.row);
    }
    __syncthreads();
    for (int i = 0; i < s.end - s.begin && d < t.dim; ++i) {
      dv += pairs[i].x * t.at(t.dout, s.out_begin + i, t.heads_q, head, d);
      dk += pairs[i].y * t.at(t.q, s.begin + i, t.heads_q, head, d);
    }
    __syncthreads();
  }
  if (d >= t.dim) return;
  const double dk_off = t.at(t.dk, s.row, t.heads_kv, s.head, d) - dk;
  const double dv_off = t.at(t.dv, s.row, t.heads_kv, s.head, d) - dv;
  atomicAdd(&sums[2], dk_off * dk_off);
  atomicAdd(&sums[3], dk * dk);
  atomicAdd(&sums[4], dv_off * dv_off);
  atomicAdd(&sums[5], dv * dv);
}

/// 300 rows of dq, or of dk and dv.
std::vector<Sample> samples_of(const BenchCase& c, bool of_keys) {
  std::vector<Sample> result;
  std::uint64_t state = 1;
  const auto below = [&](int n) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(n));
  };
  while (result.size() < 300) {
    const int b = below(c.batch());
    const int q_begin = c.broadcast ? 0 : c.q_offsets[b];
    const int queries = c.broadcast ? c.q_rows : c.q_offsets[b + 1] - q_begin;
    const int out_begin = c.broadcast ? b * c.q_rows : q_begin;
    const int kv_begin = c.kv_offsets[b];
    const int keys = c.kv_offsets[b + 1] - kv_begin;
    if (queries == 0 || keys == 0) continue;
    const int row = below(of_keys ? keys : queries);
    const Extent extent{queries, keys};
    const Range seen = of_keys ? visible_queries({row, row + 1}, extent, c.window)
                               : visible_keys({row, row + 1}, extent, c.window);
    const int begin = static_cast<int>(std::max<std::int64_t>(seen.begin, 0));
    const int end = static_cast<int>(std::max<std::int64_t>(seen.end, begin));
    if (of_keys) {
      result.push_back(
          {kv_begin + row, below(c.heads_kv), q_begin + begin, q_begin + end, out_begin + begin});
    } else {
      result.push_back(
          {q_begin + row, below(c.heads_q), kv_begin + begin, kv_begin + end, out_begin + row});
    }
  }
  return result;
}

/// Relative errors of sampled rows of dq, dk and dv.
std::vector<double> errors_of(const BenchCase& c, const Tensors& t) {
  constexpr int kPairBytes = 16384 * sizeof(float2);
  const auto allow = [](auto* kernel) {
    check_cuda(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kPairBytes),
        "shared memory");
  };
  allow(check_queries);
  allow(check_keys);
  allow(add_queries);
  Buffer<double> sums(std::vector<double>(6, 0));
  const auto queries = samples_of(c, false);
  const auto keys = samples_of(c, true);
  Buffer<Sample> query_samples(queries);
  Buffer<Sample> key_samples(keys);
  if (c.broadcast) {
    constexpr unsigned kRows = 16;
    Buffer<int> kv_offsets(c.kv_offsets);
    Buffer<double> want(std::vector<double>(std::size_t{kRows} * c.dim, 0));
    add_queries<<<dim3(kRows, static_cast<unsigned>(c.batch())), 128, kPairBytes>>>(
        t, query_samples.get(), kv_offsets.get(), c.window, c.q_rows, want.get());
    check_cuda(cudaGetLastError(), "check");
    compare_queries<<<kRows, 128>>>(t, query_samples.get(), want.get(), sums.get());
    check_cuda(cudaDeviceSynchronize(), "check");
  } else {
    check_queries<<<static_cast<unsigned>(queries.size()), 128, kPairBytes>>>(
        t, query_samples.get(), sums.get());
  }
  check_keys<<<static_cast<unsigned>(keys.size()), 128, kPairBytes>>>(t, key_samples.get(),
                                                                      sums.get());
  const auto s = sums.download();
  return {std::sqrt(s[0] / s[1]), std::sqrt(s[2] / s[3]), std::sqrt(s[4] / s[5])};
}

/// Everything one case needs in device memory.
struct Bench {
  const BenchCase& c;
  int kv_rows = c.kv_offsets.back();
  Buffer<bf16> q = random(c.q_rows, c.heads_q, 1);
  Buffer<bf16> k = random(kv_rows, c.heads_kv, 2);
  Buffer<bf16> v = random(kv_rows, c.heads_kv, 3);
  Buffer<bf16> dout = random(c.out_rows, c.heads_q, 4);
  Buffer<bf16> out{size(c.out_rows, c.heads_q)};
  Buffer<bf16> dq{size(c.q_rows, c.heads_q)};
  Buffer<bf16> dk{size(kv_rows, c.heads_kv)};
  Buffer<bf16> dv{size(kv_rows, c.heads_kv)};
  Buffer<float> lse{static_cast<std::size_t>(c.out_rows) * c.heads_q};
  Buffer<float> statistics{static_cast<std::size_t>(statistics_tiles(c.out_rows, c.batch())) * 2 *
                           kStatisticsRows * c.heads_q};
  Buffer<int> q_offsets{c.q_offsets};
  Buffer<int> kv_offsets{c.kv_offsets};
  Buffer<PlannedSequence> plan{static_cast<std::size_t>(plan_records(c.batch()))};
  Buffer<int> ticket{1};
  double scale = 1 / std::sqrt(static_cast<double>(c.dim));
  int blocks = processors();

  explicit Bench(const BenchCase& of) : c(of) {}

  static int processors() {
    int count = 0;
    check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "processors");
    return count;
  }
  std::size_t size(int rows, int heads) const {
    return static_cast<std::size_t>(rows) * heads * c.dim;
  }
  Buffer<bf16> random(int rows, int heads, std::uint64_t seed) const {
    Buffer<bf16> buffer(size(rows, heads));
    cuda::fill_normal(buffer.get(), DType::kBf16, static_cast<std::int64_t>(size(rows, heads)),
                      seed);
    return buffer;
  }
  DeviceRows q_places() const {
    return {{c.broadcast ? nullptr : q_offsets.get(), false}, {nullptr, false}, c.q_rows};
  }
  DeviceRows kv_places() const { return {{kv_offsets.get(), false}, {nullptr, false}, kv_rows}; }
  std::int64_t row(int heads) const { return static_cast<std::int64_t>(heads) * c.dim; }
  Matrix<bf16> of_q(const Buffer<bf16>& x) const { return {x.get(), row(c.heads_q), c.dim}; }
  Matrix<bf16> of_kv(const Buffer<bf16>& x) const { return {x.get(), row(c.heads_kv), c.dim}; }

  template <class Shape>
  void make_plan(const Shape& shape) {
    using Plan = Planner<Hopper, Shape, 1024>;
    Plan::make({q_places(), kv_places(), c.batch(), shape, plan.get()},
               [](int blocks, const auto& params) { launch<Plan>(blocks, params, nullptr); });
  }
  void reset_ticket() {
    check_cuda(cudaMemsetAsync(ticket.get(), 0, sizeof(int), nullptr), "ticket");
  }

  template <class K>
  void forward() {
    make_plan(K::item_shape(c.heads_q, c.heads_kv));
    reset_ticket();
    launch<K>(blocks,
              K::make_params({.q = q.get(),
                              .k = k.get(),
                              .v = v.get(),
                              .out = out.get(),
                              .lse = lse.get(),
                              .q_strides = {row(c.heads_q), c.dim},
                              .k_strides = {row(c.heads_kv), c.dim},
                              .v_strides = {row(c.heads_kv), c.dim},
                              .out_strides = {row(c.heads_q), c.dim},
                              .lse_head_stride = c.out_rows,
                              .heads_q = c.heads_q,
                              .heads_kv = c.heads_kv,
                              .head_dim = c.dim,
                              .window = c.window,
                              .lists = {},
                              .softmax_scale = scale,
                              .softcap = 0,
                              .plan = plan.get(),
                              .q_rows = q_places(),
                              .batch = c.batch(),
                              .ticket = ticket.get()}),
              nullptr);
  }

  BackwardArguments<bf16> arguments() const {
    return {.q = of_q(q),
            .k = of_kv(k),
            .v = of_kv(v),
            .out = of_q(out),
            .dout = of_q(dout),
            .dq = of_q(dq),
            .dk = of_kv(dk),
            .dv = of_kv(dv),
            .lse = {lse.get(), c.out_rows},
            .dlse = {nullptr, 0},
            .heads_q = c.heads_q,
            .heads_kv = c.heads_kv,
            .head_dim = c.dim,
            .window = c.window,
            .softmax_scale = scale,
            .softcap = 0,
            .plan = plan.get(),
            .q_rows = q_places(),
            .kv_rows = kv_places(),
            .batch = c.batch(),
            .ticket = ticket.get(),
            .statistics = statistics.get(),
            .dq_sum = nullptr,
            .dq_kept = nullptr,
            .turns = nullptr,
            .blocks = blocks};
  }
};

/// Milliseconds of all passes together, and the median of each.
template <class K>
struct Times {
  std::vector<double> all;
  double prepare, main, finish;

  Times(Bench& b, const BackwardArguments<bf16>& arguments) {
    const auto rows = RowPass<K>::of(arguments);
    const auto params = K::make_params(arguments);
    const int row_blocks =
        std::clamp((std::max(b.c.out_rows, b.kv_rows) + 63) / 64, 1, 16 * b.blocks);
    const auto before = [&] { launch<PrepareBackward<K>>(row_blocks, rows, nullptr); };
    const auto between = [&] {
      b.reset_ticket();
      launch<K>(b.blocks, params, nullptr);
    };
    const auto after = [&] { launch<FinishBackward<K>>(row_blocks, rows, nullptr); };
    all = time_calls(11, [&] {
      before();
      between();
      after();
    });
    prepare = median(time_calls(3, before));
    finish = median(time_calls(3, after));
    main = median(all) - prepare - finish;
    before();  // passes alone have spoilt the outputs
    between();
    after();
  }
};

template <class F, class K>
void bench(const BenchCase& c, Peers peers) {
  Bench b(c);
  b.forward<F>();
  auto arguments = b.arguments();
  Buffer<float> kept(static_cast<std::size_t>(K::kept_size(arguments)));
  Buffer<float> sum(c.broadcast ? 0 : b.size(c.q_rows, c.heads_q));
  Buffer<int> turns(static_cast<std::size_t>(arguments.head_tiles() * c.heads_q));
  arguments.dq_kept = kept.get();
  arguments.dq_sum = sum.get();
  b.make_plan(K::item_shape(arguments));
  arguments.turns = turns.get();
  const Times<K> in_turn(b, arguments);
  arguments.turns = nullptr;
  const Times<K> times(b, arguments);
  const auto errors =
      errors_of(c, {b.q.get(), b.k.get(), b.v.get(), b.out.get(), b.dout.get(), b.dq.get(),
                    b.dk.get(), b.dv.get(), b.lse.get(), c.heads_q, c.heads_kv, c.dim,
                    static_cast<std::size_t>(c.out_rows), static_cast<float>(b.scale)});
  const double typical = median(times.all);
  std::printf(
      "%-22s %8.4f ms (min %.4f)  best %8.4f (%.2fx)  floor %8.4f (%3.0f%%)  prepare %.4f main "
      "%.4f finish %.4f  in turn %.4f  error dq %.1e dk %.1e dv %.1e\n",
      c.name.c_str(), typical, *std::min_element(times.all.begin(), times.all.end()), peers.best,
      peers.best / typical, peers.floor, 100 * peers.floor / typical, times.prepare, times.main,
      times.finish, median(in_turn.all), errors[0], errors[1], errors[2]);
  std::fflush(stdout);
}

void bench(const BenchCase& c, Peers peers) {
  constexpr ForwardConfig f64 = forward_config(64, Tiles::Wide, false);
  constexpr ForwardConfig f128 = forward_config(128, Tiles::Wide, false);
  constexpr BackwardConfig k64 = {.head_dim = 64};
  constexpr BackwardConfig k128 = {.head_dim = 128};
  if (c.dim == 64) {
    bench<Forward<Hopper, f64>, BackwardByKeys<Hopper, k64>>(c, peers);
  } else if (c.masked()) {
    bench<Forward<Hopper, f128, WindowMask>, BackwardByKeys<Hopper, k128, WindowMask>>(c, peers);
  } else {
    bench<Forward<Hopper, f128>, BackwardByKeys<Hopper, k128>>(c, peers);
  }
}

}  // namespace
}  // namespace jfa

int main(int count, char** arguments) {
  return jfa::for_each_case(count, arguments, "backward_bench", "bwd",
                            [](const auto& c, jfa::Peers peers) { jfa::bench(c, peers); });
}
