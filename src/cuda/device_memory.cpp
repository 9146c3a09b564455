#include "cuda/device_memory.hpp"

#include <cuda_runtime_api.h>

#include <string>

#include "jfa/error.hpp"

namespace jfa::cuda {
namespace {

void require(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw Error(result == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory : ErrorCode::kInternal,
              std::string(what) + ": " + cudaGetErrorString(result));
}

}  // namespace

void DeviceMemory::Free::operator()(std::byte* p) const noexcept { cudaFree(p); }

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  void* data = nullptr;
  require(cudaMalloc(&data, bytes == 0 ? 1 : bytes), "device memory");
  data_.reset(static_cast<std::byte*>(data));
}

void DeviceMemory::upload(const void* from, std::size_t offset, std::size_t bytes) const {
  wait();
  require(cudaMemcpy(data() + offset, from, bytes, cudaMemcpyHostToDevice), "copy to the device");
}

void DeviceMemory::download(void* to, std::size_t offset, std::size_t bytes) const {
  wait();
  require(cudaMemcpy(to, data() + offset, bytes, cudaMemcpyDeviceToHost), "copy from the device");
}

void DeviceMemory::fill(unsigned char value) const {
  wait();
  require(cudaMemset(data(), value, bytes_), "filling device memory");
  wait();
}

void download_rows(void* to, const void* from, std::size_t row_bytes, std::size_t stride_bytes,
                   std::size_t rows) {
  wait();
  require(cudaMemcpy2D(to, row_bytes, from, stride_bytes, row_bytes, rows, cudaMemcpyDeviceToHost),
          "copy from the device");
}

Stream::Stream() {
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  stream_.reset(stream);
}

void Stream::Destroy::operator()(void* stream) const noexcept {
  cudaStreamDestroy(static_cast<cudaStream_t>(stream));
}

struct Marks::Events {
  std::vector<cudaEvent_t> all;
};

Marks::Marks() : events_(std::make_unique<Events>()) {}

Marks::~Marks() {
  for (cudaEvent_t event : events_->all) cudaEventDestroy(event);
}

void Marks::mark() {
  cudaEvent_t event = nullptr;
  require(cudaEventCreate(&event), "event");
  events_->all.push_back(event);
  require(cudaEventRecord(event), "event");
}

std::vector<double> Marks::between() const {
  wait();
  std::vector<double> times;
  for (std::size_t i = 1; i < events_->all.size(); ++i) {
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, events_->all[i - 1], events_->all[i]), "event");
    times.push_back(milliseconds);
  }
  return times;
}

void wait() { require(cudaDeviceSynchronize(), "work on the device"); }

}  // namespace jfa::cuda
