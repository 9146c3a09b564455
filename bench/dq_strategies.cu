// Times what can be done about dQ of broadcast queries, a sum over all sequences of a batch:
//
//   contended      all blocks of keys add to the same rows, atomically
//   copies         a copy of Q for each sequence, a dQ for each, and their sum; by the one kernel
//   ... copies, apart  ... or by those of dQ and of dK and dV shares         what the library does:
//   each block of the grid adds up a fixed share on its own
//
// Usage: dq_strategies SUITE.json [RESULTS.json]     the suite's cases named bcast... are timed.
// All passes count, but for plans and the making of the copies of Q, which favours these. Inputs
// are random; so is O, and lse is what normal scores give about: that makes no difference to time.
#include <cuda_bf16.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "batch/suite.hpp"
#include "commit.hpp"
#include "cuda/card.hpp"
#include "cuda/device_memory.hpp"
#include "cuda/queue.hpp"
#include "cuda/random_fill.hpp"
#include "kernels/backward/by_keys.hpp"
#include "kernels/backward/by_queries.hpp"
#include "kernels/backward/of_keys.hpp"
#include "kernels/backward/of_queries.hpp"
#include "kernels/backward/prepare.hpp"
#include "plan/planner.hpp"

namespace jfa {
inline namespace gpu {
namespace {

using cuda::Queue;
using Arguments = BackwardArguments<bf16>;

constexpr int kHeadDim = 128;
constexpr int kRounds = 9;
constexpr std::chrono::milliseconds kRest(90);

using ByKeys = BackwardByKeys<Hopper, backward_config(kHeadDim, false, false)>;
using OfKeys = BackwardOfKeys<Hopper, of_keys_config(kHeadDim, false, false)>;
using OfQueries = BackwardOfQueries<Hopper, of_queries_config(kHeadDim, false, false)>;
template <int Queries>  // with the mask policy that the library's kernel has
using ByQueries =
    BackwardByQueries<Hopper, by_queries_config(kHeadDim, Queries, false), WindowMask>;

/// Device memory of one case.
class Memory {
 public:
  template <class T>
  T* make(std::int64_t count) {
    arrays_.emplace_back(sizeof(T) * static_cast<std::size_t>(std::max<std::int64_t>(count, 1)));
    return reinterpret_cast<T*>(arrays_.back().data());
  }
  template <class T>
  T* upload(const std::vector<T>& from) {
    T* to = make<T>(static_cast<std::int64_t>(from.size()));
    arrays_.back().upload(from.data());
    return to;
  }
  Matrix<bf16> matrix(std::int64_t rows, int heads) {
    bf16* to = make<bf16>(rows * heads * kHeadDim);
    arrays_.back().fill(0xFF);  // NaN, for who reads what nobody wrote
    return {to, std::int64_t{heads} * kHeadDim, kHeadDim};
  }
  Matrix<bf16> random(std::int64_t rows, int heads, std::uint64_t seed) {
    const Matrix<bf16> to = matrix(rows, heads);
    cuda::fill_normal(to.data, DType::kBf16, rows * heads * kHeadDim, seed);
    return to;
  }

 private:
  std::vector<cuda::DeviceMemory> arrays_;
};

struct Strategy {
  const char* name;
  const bf16* dq;
  std::function<void()> run;
  std::vector<double> ms = {};
};

std::vector<int> offsets_of(const std::vector<std::int64_t>& lengths) {
  std::vector<int> offsets = {0};
  for (const std::int64_t length : lengths) {
    offsets.push_back(offsets.back() + static_cast<int>(length));
  }
  return offsets;
}

/// [heads, rows of out]: ln of a sum of as many exponentials as keys, of standard normal scores.
std::vector<float> likely_lse(const Case& c) {
  std::vector<float> lse;
  for (int head = 0; head < c.heads_q; ++head) {
    for (const std::int64_t length : c.kv_lengths) {
      const auto row = static_cast<float>(0.5 + std::log(std::max<double>(length, 1)));
      lse.insert(lse.end(), static_cast<std::size_t>(c.q_length), row);
    }
  }
  return lse;
}

/// What all strategies share: all but dq, plans and sums.
Arguments arguments_of(const Case& c, Memory& memory, int blocks) {
  const std::vector<int> offsets = offsets_of(c.kv_lengths);
  Arguments a{};
  a.heads_q = static_cast<int>(c.heads_q);
  a.heads_kv = static_cast<int>(c.heads_kv);
  a.head_dim = kHeadDim;
  a.window = {-1, -1};
  a.softmax_scale = 1 / std::sqrt(double{kHeadDim});
  a.batch = static_cast<int>(c.kv_lengths.size());
  a.blocks = blocks;
  a.q_rows.rows = static_cast<int>(c.q_length);
  a.kv_rows = {{memory.upload(offsets), false}, {}, offsets.back()};
  a.q = memory.random(a.q_rows.rows, a.heads_q, 1);
  a.k = memory.random(a.kv_rows.rows, a.heads_kv, 2);
  a.v = memory.random(a.kv_rows.rows, a.heads_kv, 3);
  a.out = memory.random(a.out_rows(), a.heads_q, 4);
  a.dout = memory.random(a.out_rows(), a.heads_q, 5);
  a.dk = memory.matrix(a.kv_rows.rows, a.heads_kv);
  a.dv = memory.matrix(a.kv_rows.rows, a.heads_kv);
  a.lse = {memory.upload(likely_lse(c)), a.out_rows()};
  a.ticket = memory.upload(std::vector<int>{0});
  a.statistics = memory.make<float>(a.head_tiles() * a.heads_q * 2 * kStatisticsRows);
  return a;
}

template <class Shape>
const PlannedSequence* plan(const Arguments& a, const Shape& shape, Memory& memory,
                            const Queue& queue) {
  using P = Planner<Hopper, Shape, Queue::kPlannerThreads>;
  auto* to = memory.make<PlannedSequence>(plan_records(a.batch));
  P::make({.q = a.q_rows, .kv = a.kv_rows, .batch = a.batch, .shape = shape, .plan = to},
          [&](int blocks, const typename P::Params& p) { queue.launch<P>(blocks, p); });
  return to;
}

int row_blocks(const Arguments& a, const Queue& queue) {
  const std::int64_t rows = std::max<std::int64_t>(a.out_rows(), a.kv_rows.rows);
  return static_cast<int>(std::clamp<std::int64_t>((rows + kStatisticsRows - 1) / kStatisticsRows,
                                                   1, Queue::kRowBlocks * queue.blocks()));
}

/// Kernel K between its passes over rows, as the library launches it.
template <class K>
std::function<void()> three_passes(Arguments a, Memory& memory, const Queue& queue) {
  a.plan = plan(a, K::item_shape(a), memory, queue);
  a.dq_kept = memory.make<float>(K::kept_size(a));
  a.handed = memory.make<int>(a.counts());
  if (!a.broadcast()) {
    a.dq_sum = memory.make<float>(summed_size(a.q_rows.rows, a.heads_q, a.head_dim));
  }
  const auto rows = RowPass<K>::of(a);
  const auto params = K::make_params(a);
  const int blocks = row_blocks(a, queue);
  return [=] {
    queue.launch<PrepareBackward<K>>(blocks, rows);
    queue.launch<K>(queue.blocks(), params);
    queue.launch<FinishBackward<K>>(blocks, rows);
  };
}

Strategy shares(Arguments a, Memory& memory, const Queue& queue) {
  a.dq = memory.matrix(a.q_rows.rows, a.heads_q);
  return {"shares", a.dq.data,
          a.q_rows.rows <= 64    ? three_passes<ByQueries<64>>(a, memory, queue)
          : a.q_rows.rows <= 128 ? three_passes<ByQueries<128>>(a, memory, queue)
                                 : three_passes<ByKeys>(a, memory, queue)};
}

Strategy contended(Arguments a, Memory& memory, const Queue& queue) {
  using K = ByKeys;
  const std::int64_t sums = summed_size(a.q_rows.rows, a.heads_q, a.head_dim);
  a.dq = memory.matrix(a.q_rows.rows, a.heads_q);
  a.dq_sum = memory.make<float>(sums);
  a.plan = plan(a, K::item_shape(a), memory, queue);
  auto params = K::make_params(a);
  params.shares = 0;            // blocks take items as if sequences had queries of their own ...
  params.shape.block_keys = 0;  // ... and add to dq_sum, also for sequences of one block of keys
  auto before = RowPass<K>::of(a);
  before.kept_size = 0;
  // As rows of a single sequence of all keys, the queries have their dQ in dq_sum.
  Arguments one = a;
  one.batch = 1;
  one.q_rows.offsets = {memory.upload(std::vector<int>{0, a.q_rows.rows}), false};
  one.kv_rows.offsets = {memory.upload(std::vector<int>{0, a.kv_rows.rows}), false};
  const auto after = RowPass<K>::of(one);
  return {"contended", a.dq.data, [=] {
            check_cuda(cudaMemsetAsync(a.dq_sum, 0, sizeof(float) * static_cast<size_t>(sums),
                                       queue.stream),
                       "dq_sum");
            queue.launch<PrepareBackward<K>>(row_blocks(a, queue), before);
            queue.launch<K>(queue.blocks(), params);
            queue.launch<FinishBackward<K>>(row_blocks(one, queue), after);
          }};
}

// ---- copies

constexpr int kPieces = 32;  // of two elements, a block
constexpr int kSlices = 16;  // of the copies

/// sum[i] = copies[0][i] + copies[1][i] ..., `pieces` pairs of elements each, in fp32.
__global__ void add_copies(const __nv_bfloat162* copies, int count, std::int64_t pieces,
                           __nv_bfloat162* sum) {
  __shared__ float2 partial[kSlices][kPieces];
  const std::int64_t piece = std::int64_t{kPieces} * blockIdx.x + threadIdx.x;
  float2 total{};
#pragma unroll 8
  for (int i = static_cast<int>(threadIdx.y); i < count; i += kSlices) {
    const float2 x = __bfloat1622float2(copies[i * pieces + piece]);
    total = {total.x + x.x, total.y + x.y};
  }
  partial[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int slice = 1; slice < kSlices; ++slice) {
    const float2 x = partial[slice][threadIdx.x];
    total = {total.x + x.x, total.y + x.y};
  }
  sum[piece] = __float22bfloat162_rn(total);
}

/// Arguments of the same batch with a copy of Q, and place for a dQ, for each sequence.
Arguments with_copies(Arguments a, Memory& memory) {
  const Matrix<bf16> q = a.q;
  const std::int64_t elements = a.q_rows.rows * q.row_stride;
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(a.batch), a.q_rows.rows);
  const std::vector<int> offsets = offsets_of(lengths);
  a.q_rows = {{memory.upload(offsets), false}, {}, offsets.back()};
  a.q = memory.matrix(a.q_rows.rows, a.heads_q);
  a.dq = memory.matrix(a.q_rows.rows, a.heads_q);
  for (int b = 0; b < a.batch; ++b) {
    check_cuda(cudaMemcpyAsync(a.q.data + b * elements, q.data,
                               sizeof(bf16) * static_cast<std::size_t>(elements),
                               cudaMemcpyDeviceToDevice),
               "copies of Q");
  }
  return a;
}

/// `backward` makes a.dq, of copies; their sum follows.
Strategy summed(const char* name, const Arguments& a, Memory& memory, const Queue& queue,
                const std::function<void()>& backward) {
  const int rows = a.q_rows.rows / a.batch;
  const std::int64_t pieces = std::int64_t{rows} * a.heads_q * kHeadDim / 2;
  bf16* sum = memory.matrix(rows, a.heads_q).data;
  return {name, sum, [=] {
            backward();
            add_copies<<<static_cast<unsigned>(pieces / kPieces), dim3(kPieces, kSlices), 0,
                         queue.stream>>>(reinterpret_cast<const __nv_bfloat162*>(a.dq.data),
                                         a.batch, pieces, reinterpret_cast<__nv_bfloat162*>(sum));
            check_cuda(cudaGetLastError(), "add_copies");
          }};
}

std::function<void()> apart(Arguments a, Memory& memory, const Queue& queue) {
  a.plan = plan(a, OfKeys::item_shape(a), memory, queue);
  a.plan_by_queries = plan(a, OfQueries::item_shape(a.heads_q, a.heads_kv), memory, queue);
  const auto of_queries = OfQueries::make_params(a);
  const auto of_keys = OfKeys::make_params(a);
  return [=] {
    queue.zero(a.ticket);
    queue.launch<OfQueries>(queue.blocks(), of_queries);
    queue.launch<OfKeys>(queue.blocks(), of_keys);
  };
}

// ---- times

std::vector<float> download(const bf16* from, std::int64_t count) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(count));
  check_cuda(cudaMemcpy(bits.data(), from, 2 * bits.size(), cudaMemcpyDeviceToHost), "dq");
  std::vector<float> values(bits.size());
  std::transform(bits.begin(), bits.end(), values.begin(),
                 [](std::uint16_t x) { return __bfloat162float(__ushort_as_bfloat16(x)); });
  return values;
}

/// ||a - b|| / ||b||
double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(difference / norm);
}

/// After a rest, without which the card gets too hot for its full clock, and a run not counted.
double time_ms(const std::function<void()>& run) {
  std::this_thread::sleep_for(kRest);
  run();
  cuda::Marks marks;
  marks.mark();
  run();
  marks.mark();
  return marks.between().front();
}

/// In turns, so that all meet the same clocks.
void time_in_turns(std::vector<Strategy>& strategies) {
  for (int round = 0; round < kRounds; ++round) {
    for (Strategy& s : strategies) s.ms.push_back(time_ms(s.run));
  }
  for (Strategy& s : strategies) std::sort(s.ms.begin(), s.ms.end());
}

/// A result file's lines on the case.
std::vector<std::string> time_case(const Case& c, int blocks) {
  const Queue queue{nullptr, blocks};
  Memory memory;
  const Arguments a = arguments_of(c, memory, blocks);
  const Arguments copies = with_copies(a, memory);
  std::vector<Strategy> strategies = {
      contended(a, memory, queue),
      summed("copies", copies, memory, queue, three_passes<ByKeys>(copies, memory, queue)),
      summed("copies, apart", copies, memory, queue, apart(copies, memory, queue)),
      shares(a, memory, queue)};
  time_in_turns(strategies);
  const std::int64_t count = c.q_length * c.heads_q * kHeadDim;
  const std::vector<float> expected = download(strategies.back().dq, count);
  std::vector<std::string> lines;
  for (const Strategy& s : strategies) {
    const double error = relative_difference(download(s.dq, count), expected);
    const double median = s.ms[s.ms.size() / 2];
    std::printf("%-18s %-14s %9.3f ms median %9.3f min   %.1e from shares%s\n", c.name.c_str(),
                s.name, median, s.ms.front(), error, error < 1e-2 ? "" : "  WRONG");
    char line[256];
    std::snprintf(
        line, sizeof(line),
        R"(  {"name": "%s", "strategy": "%s", "ms": %.4f, "ms_min": %.4f, "error": %.2e})",
        c.name.c_str(), s.name, median, s.ms.front(), error);
    lines.push_back(line);
  }
  return lines;
}

void write_results(const char* path, const std::string& card,
                   const std::vector<std::string>& lines) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) throw std::runtime_error(std::string("cannot write ") + path);
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  std::fprintf(file,
               R"({"header": {"commit": "%s", "date": "%s", "card": "%s", "driver": "%s", )"
               R"("repeats": %d},)"
               "\n \"cases\": [\n",
               tool::kCommit, date, card.c_str(), cuda::driver_version().c_str(), kRounds);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::fprintf(file, "%s%s\n", lines[i].c_str(), i + 1 < lines.size() ? "," : "");
  }
  std::fprintf(file, "]}\n");
  if (std::fclose(file) != 0) throw std::runtime_error(std::string("cannot write ") + path);
}

bool fits(const Case& c) {
  return c.broadcast_q && c.name.starts_with("bcast") && c.dtype == DType::kBf16 &&
         c.head_dim == kHeadDim && c.heads_q == c.heads_kv && !c.causal;
}

void run(const std::string& suite, const char* results) {
  cudaDeviceProp card{};
  check_cuda(cudaGetDeviceProperties(&card, 0), "no GPU");
  std::vector<std::string> lines;
  for (const Case& c : read_suite(suite)) {
    if (!fits(c)) continue;
    const std::vector<std::string> more = time_case(c, card.multiProcessorCount);
    lines.insert(lines.end(), more.begin(), more.end());
  }
  if (results != nullptr) write_results(results, card.name, lines);
}

}  // namespace
}  // namespace gpu
}  // namespace jfa

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw std::runtime_error("usage: dq_strategies SUITE.json [RESULTS.json]");
    jfa::run(argv[1], argc > 2 ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
