// Random tensors made on the device.
#pragma once

#include <cstdint>

#include "jfa/tensor.hpp"

namespace jfa::cuda {

/// Writes `count` standard normal values in kBf16 or kF16 to device memory, on the default stream,
/// equal for equal seeds. Throws std::runtime_error when CUDA refuses.
void fill_normal(void* to, DType dtype, std::int64_t count, std::uint64_t seed);

}  // namespace jfa::cuda
