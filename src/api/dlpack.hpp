// What is used of DLPack 1.3 (https://dmlc.github.io/dlpack/latest/c_api.html), whose layout does
// not change within a major version. Names are its own.
#pragma once

#include <cstdint>

namespace jfa::dlpack {

// NOLINTBEGIN(readability-identifier-naming)

constexpr std::int32_t kDLCPU = 1, kDLCUDA = 2;
constexpr std::uint8_t kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4;

struct DLPackVersion {
  std::uint32_t major, minor;
};

struct DLDevice {
  std::int32_t device_type, device_id;
};

struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

/// Its functions return 0, or set a Python error.
struct DLPackExchangeAPI {
  DLPackVersion version;
  void* prev_api;
  int (*managed_tensor_allocator)(DLTensor* prototype, DLManagedTensorVersioned** out,
                                  void* error_ctx,
                                  void (*set_error)(void* error_ctx, const char* kind,
                                                    const char* message));
  int (*managed_tensor_from_py_object_no_sync)(void* object, DLManagedTensorVersioned** out);
  int (*managed_tensor_to_py_object_no_sync)(DLManagedTensorVersioned* tensor, void** out);
  int (*dltensor_from_py_object_no_sync)(void* object, DLTensor* out);
  int (*current_work_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

// NOLINTEND(readability-identifier-naming)

}  // namespace jfa::dlpack
