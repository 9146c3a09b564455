// The forward call of a Python binding, on its tensors as they are.
#include <array>
#include <cstdint>
#include <memory>

#include "api/dlpack.hpp"
#include "jfa/jfa.h"

namespace {

using jfa::dlpack::DLManagedTensorVersioned;
using jfa::dlpack::DLPackExchangeAPI;
using jfa::dlpack::DLTensor;

struct FreeManaged {
  void operator()(DLManagedTensorVersioned* tensor) const {
    if (tensor->deleter != nullptr) tensor->deleter(tensor);
  }
};
using Managed = std::unique_ptr<DLManagedTensorVersioned, FreeManaged>;

bool find_dtype(const DLTensor& t, jfa_dtype& dtype) {
  struct Known {
    std::uint8_t code, bits;
    jfa_dtype dtype;
  };
  constexpr std::array<Known, 5> kKnown{{{jfa::dlpack::kDLBfloat, 16, JFA_BF16},
                                         {jfa::dlpack::kDLFloat, 16, JFA_F16},
                                         {jfa::dlpack::kDLFloat, 32, JFA_F32},
                                         {jfa::dlpack::kDLInt, 32, JFA_I32},
                                         {jfa::dlpack::kDLInt, 64, JFA_I64}}};
  for (const Known& known : kKnown) {
    if (t.dtype.code != known.code || t.dtype.bits != known.bits || t.dtype.lanes != 1) continue;
    dtype = known.dtype;
    return true;
  }
  return false;
}

/// An address for arrays without elements: a null one is an absent array.
void* data_of(const DLTensor& t) {
  alignas(64) static char nowhere;
  return t.data == nullptr ? &nowhere : static_cast<char*>(t.data) + t.byte_offset;
}

/// Tensors of Python as views. A function returns whether it was one that needs no preparation.
class Reader {
 public:
  explicit Reader(const jfa_python& python)
      : exchange_(*static_cast<const DLPackExchangeAPI*>(python.exchange)), none_(python.none) {}

  bool tensor(void* object, jfa_tensor& to) {
    DLTensor t;
    if (!read(object, 3, t) || !find_dtype(t, to.dtype) || !strides_fit(t)) return false;
    to.data = t.data == nullptr ? nullptr : data_of(t);
    to.rows = t.shape[0];
    to.heads = t.shape[1];
    to.head_dim = t.shape[2];
    to.row_stride = t.strides[0];
    to.head_stride = t.strides[1];
    return true;
  }

  bool lse(void* object, jfa_lse& to) {
    DLTensor t;
    if (!read(object, 2, t)) return false;
    to = {static_cast<float*>(data_of(t)), t.shape[0], t.shape[1], t.strides[0]};
    return true;
  }

  bool index(void* object, jfa_index& to) {
    if (object == none_) return true;
    DLTensor t;
    if (!read(object, 1, t) || !find_dtype(t, to.dtype)) return false;
    if (t.strides[0] != 1 && t.shape[0] > 1) return false;
    to.data = data_of(t);
    to.size = t.shape[0];
    return true;
  }

  /// The current stream of the GPU that the tensors read are on, and workspace there, which is free
  /// for later work of that stream once it is let go.
  jfa_status prepare_gpu(const jfa_inputs& inputs, const jfa_options* options,
                         jfa_execution& execution, Managed& workspace) const {
    execution.device = JFA_CUDA;
    if (exchange_.current_work_stream(device_.device_type, device_.device_id, &execution.stream) !=
        0) {
      return JFA_NOT_TAKEN;
    }
    std::size_t backward_bytes = 0;
    const jfa_status status = jfa_workspace_sizes(&inputs, options, &execution,
                                                  &execution.workspace_bytes, &backward_bytes);
    if (status != JFA_OK) return status;
    auto size = static_cast<std::int64_t>(execution.workspace_bytes);
    DLTensor wanted{nullptr, device_, 1, {jfa::dlpack::kDLUInt, 8, 1}, &size, nullptr, 0};
    DLManagedTensorVersioned* made = nullptr;
    const auto ignore = [](void*, const char*, const char*) {};
    if (exchange_.managed_tensor_allocator(&wanted, &made, nullptr, ignore) != 0) {
      return JFA_NOT_TAKEN;
    }
    workspace.reset(made);
    execution.workspace = data_of(made->dl_tensor);
    return JFA_OK;
  }

  bool on_gpu() const { return device_.device_type == jfa::dlpack::kDLCUDA; }

 private:
  bool read(void* object, int ndim, DLTensor& t) {
    if (exchange_.dltensor_from_py_object_no_sync(object, &t) != 0) return false;
    if (device_.device_type == 0) device_ = t.device;
    const bool same =
        t.device.device_type == device_.device_type && t.device.device_id == device_.device_id;
    return same && t.ndim == ndim && (on_gpu() || device_.device_type == jfa::dlpack::kDLCPU);
  }

  /// Kernels copy 16 bytes at a time.
  bool strides_fit(const DLTensor& t) const {
    if (t.strides[2] != 1) return false;
    if (!on_gpu()) return true;
    const bool multiples = ((t.strides[0] | t.strides[1]) & 7) == 0;
    return multiples && t.strides[0] > 0 && t.strides[1] > 0 &&
           (reinterpret_cast<std::uintptr_t>(t.data) & 15) == 0;
  }

  const DLPackExchangeAPI& exchange_;
  const void* none_;
  jfa::dlpack::DLDevice device_{};
};

/// Lets other threads of Python run while this one does not touch its objects.
class WithoutPython {
 public:
  explicit WithoutPython(const jfa_python& python)
      : acquire_(python.acquire), state_(python.release()) {}
  ~WithoutPython() { acquire_(state_); }
  WithoutPython(const WithoutPython&) = delete;
  WithoutPython& operator=(const WithoutPython&) = delete;

 private:
  void (*acquire_)(void*);
  void* state_;
};

}  // namespace

jfa_status jfa_python_forward(const jfa_python* python, void* q, void* k, void* v, void* kv_offsets,
                              void* q_offsets, void* kv_lengths, void* q_lengths, void* out,
                              void* lse, const jfa_options* options, int32_t threads,
                              const jfa_plan* plan) {
  if (python->size < sizeof(jfa_python)) return JFA_NOT_TAKEN;
  Reader read(*python);
  jfa_inputs inputs = jfa_inputs_init();
  jfa_forward_outputs outputs = jfa_forward_outputs_init();
  if (!read.tensor(q, inputs.q) || !read.tensor(k, inputs.k) || !read.tensor(v, inputs.v) ||
      !read.index(kv_offsets, inputs.kv_offsets) || !read.index(q_offsets, inputs.q_offsets) ||
      !read.index(kv_lengths, inputs.kv_lengths) || !read.index(q_lengths, inputs.q_lengths) ||
      !read.tensor(out, outputs.out) || !read.lse(lse, outputs.lse)) {
    return JFA_NOT_TAKEN;
  }
  jfa_execution execution = jfa_execution_init();
  execution.threads = threads;
  Managed workspace;
  if (read.on_gpu()) {
    const jfa_status status = read.prepare_gpu(inputs, options, execution, workspace);
    if (status != JFA_OK) return status;
  }
  const WithoutPython other_threads_run(*python);
  return jfa_forward(&inputs, options, &outputs, &execution, plan);
}
