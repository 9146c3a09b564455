// Records one launch of the sample matrix product on a GPU: who waited for what, and when.
//
// Usage: samples_trace OUT.json [SIZE]     a product of SIZE^3 (default 2048); OUT.json opens in
// Perfetto, a table of waiting is printed.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "cuda/traced_hopper.hpp"
#include "kernels/samples/gemm.hpp"

namespace jfa {
inline namespace gpu {
namespace {

void trace(const char* path, int size) {
  using Kernel = Gemm<TracedHopper, GemmConfig{}>;
  constexpr int kTracedBlocks = 4;
  constexpr int kRecords = 4096;
  const auto side = static_cast<std::size_t>(size);
  const DeviceArray<bf16> a(side * side);
  const DeviceArray<bf16> b(side * side);
  const DeviceArray<bf16> c(side * side);
  const auto params = Kernel::make_params(a.data(), b.data(), c.data(), size, size, size);
  write_trace<Kernel>(path, params, kTracedBlocks, kRecords);
}

}  // namespace
}  // namespace gpu
}  // namespace jfa

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: samples_trace OUT.json [SIZE]\n");
    return 2;
  }
  try {
    jfa::trace(argv[1], argc > 2 ? std::atoi(argv[2]) : 2048);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
