// Times the sample kernels on a GPU, the matrix products beside cuBLAS in the same run.
//
// Usage: samples_bench [SIZE]     products are SIZE^3 (default 8192), inputs are random.
// cuBLAS is loaded at run time (libcublas.so.13 on the library path); without it, its column is 0.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "cuda/launch.hpp"
#include "kernels/samples/gemm.hpp"
#include "kernels/samples/multicast_copy.hpp"
#include "kernels/samples/ring_copy.hpp"
#include "kernels/samples/softmax.hpp"

namespace jfa {
inline namespace gpu {
namespace {

/// Values spread over (-1, 1), a hash of their place.
__global__ void fill_random(bf16* values, std::size_t count, std::uint32_t seed) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x) {
    std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761U + seed;
    x = (x ^ x >> 16) * 0x85ebca6bU;
    x = (x ^ x >> 13) * 0xc2b2ae35U;
    x ^= x >> 16;
    const float value = static_cast<float>(x) * (2.0F / 4294967296.0F) - 1.0F;
    values[i].bits = __bfloat16_as_ushort(__float2bfloat16(value));
  }
}

template <class T>
T* device_memory(std::size_t count) {
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, count * sizeof(T)), "cudaMalloc");
  return static_cast<T*>(memory);
}

bf16* random_matrix(std::size_t count, std::uint32_t seed) {
  bf16* values = device_memory<bf16>(count);
  fill_random<<<1024, 256>>>(values, count, seed);
  check_cuda(cudaGetLastError(), "fill_random");
  return values;
}

/// C = A B^T by cuBLAS; does nothing when the library is not there.
class Cublas {
 public:
  Cublas() {
    library_ = dlopen("libcublas.so.13", RTLD_NOW);
    if (library_ == nullptr) return;
    const auto create =
        reinterpret_cast<decltype(&cublasCreate_v2)>(dlsym(library_, "cublasCreate_v2"));
    gemm_ = reinterpret_cast<decltype(gemm_)>(dlsym(library_, "cublasGemmEx"));
    if (create(&handle_) != CUBLAS_STATUS_SUCCESS) gemm_ = nullptr;
  }
  bool available() const { return gemm_ != nullptr; }

  void multiply(const bf16* a, const bf16* b, bf16* c, int m, int n, int k) const {
    const float one = 1;
    const float zero = 0;
    gemm_(handle_, CUBLAS_OP_T, CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_16BF, k, a, CUDA_R_16BF, k,
          &zero, c, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  }

 private:
  using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                                const void*, const void*, cudaDataType, int, const void*,
                                cudaDataType, int, const void*, void*, cudaDataType, int,
                                cublasComputeType_t, cublasGemmAlgo_t);
  void* library_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  GemmEx* gemm_ = nullptr;
};

float time_ms(const std::function<void()>& run, int repeats) {
  cudaEvent_t start;
  cudaEvent_t stop;
  check_cuda(cudaEventCreate(&start), "event");
  check_cuda(cudaEventCreate(&stop), "event");
  check_cuda(cudaEventRecord(start), "event");
  for (int i = 0; i < repeats; ++i) run();
  check_cuda(cudaEventRecord(stop), "event");
  check_cuda(cudaEventSynchronize(stop), "timed run");
  float ms = 0;
  check_cuda(cudaEventElapsedTime(&ms, start, stop), "event");
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return ms / static_cast<float>(repeats);
}

struct Candidate {
  const char* name;
  std::function<void()> run;
  std::vector<float> ms = {};
};

/// Medians of rounds in which the candidates take turns, so that all meet the same clocks.
void time_in_turns(std::vector<Candidate>& candidates, int rounds, int repeats) {
  for (int round = -1; round < rounds; ++round) {
    for (Candidate& c : candidates) {
      const float ms = time_ms(c.run, repeats);
      if (round >= 0) c.ms.push_back(ms);
    }
  }
  for (Candidate& c : candidates) std::sort(c.ms.begin(), c.ms.end());
}

void print(const std::vector<Candidate>& candidates, double work, const char* unit) {
  for (const Candidate& c : candidates) {
    const double median = c.ms[c.ms.size() / 2];
    std::printf("%-28s %9.4f ms median %9.4f min   %8.1f %s  (%.1f%% of %s)\n", c.name, median,
                c.ms.front(), work / median, unit, 100 * candidates[0].ms[c.ms.size() / 2] / median,
                candidates[0].name);
  }
}

/// Elements of `a` and `b` that differ by more than a unit of bf16's last place.
std::size_t count_differences(const bf16* a, const bf16* b, std::size_t count) {
  std::vector<bf16> x(count);
  std::vector<bf16> y(count);
  check_cuda(cudaMemcpy(x.data(), a, count * sizeof(bf16), cudaMemcpyDeviceToHost), "download");
  check_cuda(cudaMemcpy(y.data(), b, count * sizeof(bf16), cudaMemcpyDeviceToHost), "download");
  std::size_t differences = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float u = __bfloat162float(__ushort_as_bfloat16(x[i].bits));
    const float v = __bfloat162float(__ushort_as_bfloat16(y[i].bits));
    const bool close = std::abs(u - v) <= 0.0079F * std::max(std::abs(u), std::abs(v)) + 1e-3F;
    if (!close) ++differences;
  }
  return differences;
}

template <GemmConfig C>
std::function<void()> product(bf16* a, bf16* b, bf16* c, int size, int blocks) {
  using Kernel = Gemm<Hopper, C>;
  const auto params = Kernel::make_params(a, b, c, size, size, size);
  return [=] { launch<Kernel>(blocks, params, nullptr); };
}

void bench_products(int size, int blocks) {
  const std::size_t count = static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
  bf16* a = random_matrix(count, 1);
  bf16* b = random_matrix(count, 2);
  bf16* expected = device_memory<bf16>(count);
  const Cublas cublas;
  std::vector<Candidate> candidates;
  candidates.push_back({"cuBLAS", [&] {
                          if (cublas.available()) cublas.multiply(a, b, expected, size, size, size);
                        }});
  std::vector<bf16*> outputs;
  const auto add = [&](const char* name, auto make) {
    bf16* c = device_memory<bf16>(count);
    check_cuda(cudaMemset(c, 0xFF, count * sizeof(bf16)), "poison");
    outputs.push_back(c);
    candidates.push_back({name, make(c)});
  };
  add("gemm 128x128x64, 4 stages", [&](bf16* c) {
    return product<GemmConfig{.tile_n = 128, .stages = 4}>(a, b, c, size, blocks);
  });
  add("gemm 128x256x64, 3 stages",
      [&](bf16* c) { return product<GemmConfig{}>(a, b, c, size, blocks); });
  add("gemm 128x256x64, band 16",
      [&](bf16* c) { return product<GemmConfig{.band = 16}>(a, b, c, size, blocks); });
  time_in_turns(candidates, 9, 5);
  print(candidates, 2e-9 * size * size * size, "TFLOP/s");
  for (std::size_t i = 0; cublas.available() && i < outputs.size(); ++i) {
    std::printf("%s: %zu of %zu elements differ from cuBLAS\n", candidates[i + 1].name,
                count_differences(outputs[i], expected, count), count);
  }
}

void bench_copies(int size, int blocks) {
  const int rows = 4 * size;
  const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(size);
  bf16* in = random_matrix(count, 3);
  bf16* out = device_memory<bf16>(2 * count);
  std::vector<Candidate> candidates;
  candidates.push_back(
      {"cudaMemcpy", [=] {
         check_cuda(cudaMemcpyAsync(out, in, count * sizeof(bf16), cudaMemcpyDeviceToDevice),
                    "cudaMemcpy");
       }});
  using Ring = RingCopy<Hopper, RingCopyConfig{}>;
  const auto ring = Ring::make_params(in, out, rows, size);
  candidates.push_back({"ring copy", [=] { launch<Ring>(4 * blocks, ring, nullptr); }});
  time_in_turns(candidates, 9, 5);
  print(candidates, 2e-6 * sizeof(bf16) * static_cast<double>(count), "GB/s");
  using Multicast = MulticastCopy<Hopper, MulticastCopyConfig{}>;
  const auto multicast = Multicast::make_params(in, out, rows, size);
  std::vector<Candidate> twice;
  twice.push_back(
      {"multicast copy to two", [=] { launch<Multicast>(4 * blocks, multicast, nullptr); }});
  time_in_turns(twice, 9, 5);
  print(twice, 3e-6 * sizeof(bf16) * static_cast<double>(count), "GB/s");
}

void run(int size) {
  cudaDeviceProp card{};
  check_cuda(cudaGetDeviceProperties(&card, 0), "no GPU");
  std::printf("%s, %d multiprocessors, products of size %d\n", card.name, card.multiProcessorCount,
              size);
  bench_products(size, card.multiProcessorCount);
  bench_copies(size, card.multiProcessorCount);
}

}  // namespace
}  // namespace gpu
}  // namespace jfa

int main(int argc, char** argv) {
  try {
    jfa::run(argc > 1 ? std::atoi(argv[1]) : 8192);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
