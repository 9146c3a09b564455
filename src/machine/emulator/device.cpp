#include "machine/emulator/device.hpp"

#include <stdexcept>

namespace jfa::emulator {

void Device::expose(std::string name, void* memory, std::size_t bytes, BufferUse use) {
  if (reinterpret_cast<std::uintptr_t>(memory) % Shadow::kGranule != 0) {
    throw std::invalid_argument("expose: buffer " + name + " does not start at 16 bytes");
  }
  Buffer buffer{std::move(name), static_cast<std::byte*>(memory), bytes, use, nullptr};
  if (use != BufferUse::Input) {
    buffer.shadow = std::make_unique<Shadow>(bytes, use == BufferUse::InOut, readers_,
                                             use == BufferUse::Output);
  }
  buffers_.push_back(std::move(buffer));
}

Buffer* Device::find(const void* pointer) {
  if (last_ < buffers_.size() && buffers_[last_].contains(pointer)) return &buffers_[last_];
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i].contains(pointer)) continue;
    last_ = i;
    return &buffers_[i];
  }
  return nullptr;
}

std::string Device::locate(const void* pointer) const {
  const auto* at = static_cast<const std::byte*>(pointer);
  const Buffer* nearest = nullptr;
  std::ptrdiff_t distance = 0;
  for (const auto& buffer : buffers_) {
    const std::ptrdiff_t here =
        at < buffer.begin ? buffer.begin - at : at - (buffer.begin + buffer.bytes);
    if (nearest != nullptr && here >= distance) continue;
    nearest = &buffer;
    distance = here;
  }
  if (nearest == nullptr) return "outside every buffer";
  if (distance < 0) return std::to_string(-distance) + " bytes before the end of " + nearest->name;
  return std::to_string(distance) + " bytes " + (at < nearest->begin ? "before " : "after ") +
         nearest->name;
}

void Device::launch_boundary() {
  for (auto& buffer : buffers_) {
    if (buffer.shadow) buffer.shadow->launch_boundary();
  }
  readers_.clear();
}

void Device::move_readers(ReaderTable& kept) {
  for (auto& buffer : buffers_) {
    if (buffer.shadow) buffer.shadow->move_readers(kept);
  }
}

}  // namespace jfa::emulator
