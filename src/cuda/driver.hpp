// The driver, which is not linked to, and the calling thread's context.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace jfa::cuda {

/// Throws std::runtime_error naming `what` unless `result` is success.
inline void check_cuda(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}
/// The runtime's errors are numbered as the driver's.
inline void check_cuda(CUresult result, const char* what) {
  check_cuda(static_cast<cudaError_t>(result), what);
}

/// A function of the driver.
template <class Function>
Function* driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found),
             name);
  return reinterpret_cast<Function*>(function);
}

/// The number of the calling thread's current context, which no other has or had; 0: it has none.
/// (The driver's numbers may begin with 0.)
inline std::uint64_t context_number() {
  static auto* const number_of = driver_function<decltype(cuCtxGetId)>("cuCtxGetId");
  unsigned long long number = 0;
  return number_of(nullptr, &number) == CUDA_SUCCESS ? number + 1 : 0;
}

}  // namespace jfa::cuda
