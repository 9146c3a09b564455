// Any bytes as a safetensors file: an Error or tensors that can be read whole, nothing else.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "jfa/error.hpp"
#include "safetensors/safetensors.hpp"

namespace {

/// Reads every tensor that can be read; what the header promised must be there.
void read_all(const jfa::safetensors::File& file) {
  for (const auto& [name, entry] : file.entries()) {
    try {
      const jfa::HostTensor tensor = file.read(name, 0, 3);
      if (tensor.bytes() != entry.end - entry.begin) std::abort();
      if (tensor.size() > 0) {
        volatile double used = tensor.at(0) + tensor.at(tensor.size() - 1);
        static_cast<void>(used);
      }
    } catch (const jfa::Error&) {
      // A type or a rank that is not read.
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  if (descriptor < 0 || write(descriptor, data, size) != static_cast<ssize_t>(size)) std::abort();
  try {
    read_all(jfa::safetensors::File("/proc/self/fd/" + std::to_string(descriptor)));
  } catch (const jfa::Error&) {
    // Malformed.
  }
  close(descriptor);
  return 0;
}
