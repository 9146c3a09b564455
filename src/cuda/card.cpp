#include "cuda/card.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

#include "cuda/driver.hpp"
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

}  // namespace

Status current_card(const Card*& card) {
  struct Slot {
    std::once_flag once;
    Card card;
  };
  static std::array<Slot, 64> slots;
  // What the thread saw last: a context's device never changes, and asking for the context's number
  // is a fraction of asking the runtime for the device.
  thread_local std::uint64_t seen_context = 0;
  thread_local const Card* seen = nullptr;
  if (seen != nullptr && context_number() == seen_context) {
    card = seen;
    return {};
  }
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
  card = &slot.card;
  if (!card->usable.ok()) return card->usable;
  // A thread without a context gets that of its device, which the driver's own functions (tensor
  // maps) need. A context of the caller's stays.
  if (context_number() == 0) cudaSetDevice(ordinal);
  seen_context = context_number();
  seen = seen_context != 0 ? card : nullptr;
  return {};
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

}  // namespace jfa::cuda
