#include "placement.hpp"

#include <vector>

namespace jfa::tool {

const void* Placement::in(const HostTensor& host) {
  if (!on_gpu_) return host.data();
  const cuda::DeviceMemory& memory = device_memory_.emplace_back(host.bytes());
  memory.upload(host.data());
  return memory.data();
}

void* Placement::out(HostTensor& host) {
  if (!on_gpu_) return host.data();
  const cuda::DeviceMemory& memory = device_memory_.emplace_back(host.bytes());
  outputs_.push_back({&host, &memory});
  return memory.data();
}

void* Placement::scratch(std::size_t bytes) {
  if (on_gpu_) return device_memory_.emplace_back(bytes).data();
  constexpr auto kElement = static_cast<std::size_t>(element_size(DType::kI64));
  const auto elements = static_cast<std::int64_t>(bytes / kElement + 1);
  return host_scratch_.emplace_back(DType::kI64, std::vector<std::int64_t>{elements}).data();
}

void Placement::wait() const {
  if (on_gpu_) cuda::wait();
}

void Placement::fetch() const {
  for (const Output& output : outputs_) output.memory->download(output.host->data());
}

}  // namespace jfa::tool
