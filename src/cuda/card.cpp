#include "cuda/card.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <fstream>
#include <mutex>
#include <string>

#include "cuda/kernel_list.hpp"

namespace jfa::cuda {
namespace {

/// Which GPUs this build has kernels for.
bool takes(const Card& card) {
  return (card.major == 9 && card.minor == 0) ||
         (card.major == 10 && !blackwell_kernels().forward.empty());
}
std::string supported() {
  const bool blackwell = !blackwell_kernels().forward.empty();
  return std::string("compute capability 9.0 (Hopper: H100, H200, GH200)") +
         (blackwell ? " or 10.0 and 10.3 (Blackwell: B200, B300)" : "");
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Status unavailable(const std::string& why) { return {ErrorCode::kUnavailable, why}; }

Status no_device(cudaError_t error) {
  cudaGetLastError();  // what is reported here is not left for a later call to find
  return unavailable(std::string("device cuda is not available: ") + cudaGetErrorString(error) +
                     ", must be a GPU of " + supported() + " with a driver for CUDA " +
                     version_text(CUDART_VERSION) + " or later");
}

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, which, ordinal) == cudaSuccess ? value : 0;
}

Card look_up(int ordinal) {
  Card card;
  card.ordinal = ordinal;
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, ordinal);
      error != cudaSuccess) {
    card.usable = no_device(error);
    return card;
  }
  card.name = properties.name;
  card.major = properties.major;
  card.minor = properties.minor;
  card.processors = attribute(cudaDevAttrMultiProcessorCount, ordinal);
  card.l2_bytes = static_cast<std::size_t>(attribute(cudaDevAttrL2CacheSize, ordinal));
  if (!takes(card)) {
    card.usable = unavailable("device cuda:" + std::to_string(ordinal) + " is " + card.name +
                              " of compute capability " + std::to_string(card.major) + "." +
                              std::to_string(card.minor) + ", must be of " + supported());
  }
  return card;
}

/// Gives a thread that has no context yet that of its current device, which the driver's own
/// functions (tensor maps) need. A context of the caller's stays.
void bind_context(int ordinal) {
  thread_local int bound = -1;
  if (bound == ordinal) return;
  void* function = nullptr;
  CUcontext context = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000,
                                                             cudaEnableDefault, &found);
  if (error != cudaSuccess || function == nullptr) return;
  reinterpret_cast<decltype(&cuCtxGetCurrent)>(function)(&context);
  if (context == nullptr && cudaSetDevice(ordinal) != cudaSuccess) return;
  bound = ordinal;
}

}  // namespace

Status current_card(const Card*& card) {
  struct Slot {
    std::once_flag once;
    Card card;
  };
  static std::array<Slot, 64> slots;
  int ordinal = 0;
  if (const cudaError_t error = cudaGetDevice(&ordinal); error != cudaSuccess) {
    return no_device(error);
  }
  if (ordinal >= static_cast<int>(slots.size())) {
    return unavailable("device cuda:" + std::to_string(ordinal) + " is beyond the first " +
                       std::to_string(slots.size()) + ", must be one of them");
  }
  Slot& slot = slots[static_cast<std::size_t>(ordinal)];
  std::call_once(slot.once, [&] { slot.card = look_up(ordinal); });
  if (slot.card.usable.ok()) bind_context(ordinal);
  card = &slot.card;
  return slot.card.usable;
}

std::vector<Card> all_cards() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  std::vector<Card> cards;
  for (int ordinal = 0; ordinal < count; ++ordinal) cards.push_back(look_up(ordinal));
  return cards;
}

std::string driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  if (std::string text; file >> text) return text;
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0) return "";
  return "CUDA " + version_text(version);
}

}  // namespace jfa::cuda
