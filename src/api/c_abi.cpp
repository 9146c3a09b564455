// The C ABI over the C++ API: copies structs, turns exceptions into codes.
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include "jfa/attention.hpp"
#include "jfa/jfa.h"

struct jfa_plan {
  jfa::Plan plan;
};

namespace {

using jfa::Error;
using jfa::ErrorCode;

/// The message of the thread's last failure.
std::string& last_error() {
  thread_local std::string message;
  return message;
}

jfa_status fail(jfa_status status, const char* message) noexcept {
  try {
    last_error() = message;
  } catch (const std::bad_alloc&) {
    last_error().clear();
  }
  return status;
}

/// Runs `function`; no exception passes.
template <typename Function>
jfa_status guarded(Function&& function) noexcept {
  try {
    function();
    return JFA_OK;
  } catch (const Error& error) {
    return fail(static_cast<jfa_status>(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(JFA_OUT_OF_MEMORY, "out of host memory");
  } catch (const std::exception& error) {
    return fail(JFA_INTERNAL, error.what());
  } catch (...) {
    return fail(JFA_INTERNAL, "unknown exception");
  }
}

/// Copies a sized struct of a caller who may have been built with an older header, whose missing
/// fields keep the values of `defaults`.
template <typename Struct>
Struct sized_copy(const char* name, const Struct* given, Struct defaults) {
  if (given == nullptr) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + " is NULL, must point to a struct");
  }
  if (given->size < sizeof(given->size) || given->size > sizeof(Struct)) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + ".size is " + std::to_string(given->size) + ", must be " +
                    std::to_string(sizeof(Struct)) + ", or less from an older header");
  }
  std::memcpy(&defaults, given, given->size);
  return defaults;
}

jfa::TensorView tensor(const jfa_tensor& t) {
  return {t.data,       static_cast<jfa::DType>(t.dtype), t.rows, t.heads, t.head_dim, t.row_stride,
          t.head_stride};
}

jfa::LseView lse(const jfa_lse& t) { return {t.data, t.heads, t.rows, t.head_stride}; }

jfa::IndexView index(const jfa_index& t) {
  return {t.data, static_cast<jfa::DType>(t.dtype), t.size};
}

std::optional<jfa::IndexView> optional_index(const jfa_index& t) {
  if (t.data == nullptr) return std::nullopt;
  return index(t);
}

jfa::Inputs convert(const jfa_inputs* given) {
  const jfa_inputs in = sized_copy("inputs", given, jfa_inputs_init());
  return {tensor(in.q),
          tensor(in.k),
          tensor(in.v),
          index(in.kv_offsets),
          optional_index(in.q_offsets),
          optional_index(in.kv_lengths),
          optional_index(in.q_lengths)};
}

jfa::Options convert(const jfa_options* given) {
  const jfa_options in = sized_copy("options", given, jfa_options_init());
  jfa::Options options;
  options.mask.causal = in.causal != 0;
  options.mask.window = {in.window_left, in.window_right};
  if (in.has_softmax_scale != 0) options.softmax_scale = in.softmax_scale;
  options.softcap = in.softcap;
  options.deterministic = in.deterministic != 0;
  if (in.block_sparse != nullptr) {
    const jfa_block_sparse blocks =
        sized_copy("options.block_sparse", in.block_sparse, jfa_block_sparse_init());
    options.mask.block_sparse = jfa::BlockSparse{blocks.block_q, blocks.block_kv, blocks.heads,
                                                 index(blocks.row_offsets), index(blocks.columns)};
  }
  return options;
}

jfa::Execution convert(const jfa_execution* given) {
  if (given == nullptr) return {};
  const jfa_execution in = sized_copy("execution", given, jfa_execution_init());
  return {static_cast<jfa::Device>(in.device),
          in.threads,
          in.workspace,
          in.workspace_bytes,
          in.stream,
          in.check};
}

const jfa::Plan* plan_of(const jfa_plan* plan) { return plan == nullptr ? nullptr : &plan->plan; }

template <typename Pointer>
void require(const char* name, Pointer pointer) {
  if (pointer == nullptr) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + " is NULL, must point to where the result goes");
  }
}

}  // namespace

jfa_status jfa_plan_create(const jfa_inputs* inputs, const jfa_options* options,
                           const jfa_execution* execution, jfa_plan** plan) {
  return guarded([&] {
    require("plan", plan);
    *plan = new jfa_plan{jfa::Plan(convert(inputs), convert(options), convert(execution))};
  });
}

void jfa_plan_destroy(jfa_plan* plan) { delete plan; }

jfa_status jfa_workspace_sizes(const jfa_inputs* inputs, const jfa_options* options,
                               const jfa_execution* execution, size_t* forward_bytes,
                               size_t* backward_bytes) {
  return guarded([&] {
    require("forward_bytes", forward_bytes);
    require("backward_bytes", backward_bytes);
    const jfa::WorkspaceSizes sizes =
        jfa::workspace_sizes(convert(inputs), convert(options), convert(execution));
    *forward_bytes = sizes.forward;
    *backward_bytes = sizes.backward;
  });
}

jfa_status jfa_plan_workspace_size(const jfa_inputs* inputs, const jfa_options* options,
                                   const jfa_execution* execution, size_t* bytes) {
  return guarded([&] {
    require("bytes", bytes);
    *bytes = jfa::workspace_sizes(convert(inputs), convert(options), convert(execution)).plan;
  });
}

jfa_status jfa_forward(const jfa_inputs* inputs, const jfa_options* options,
                       const jfa_forward_outputs* outputs, const jfa_execution* execution,
                       const jfa_plan* plan) {
  return guarded([&] {
    const jfa_forward_outputs to = sized_copy("outputs", outputs, jfa_forward_outputs_init());
    jfa::forward(convert(inputs), convert(options), {tensor(to.out), lse(to.lse)},
                 convert(execution), plan_of(plan));
  });
}

jfa_status jfa_backward(const jfa_inputs* inputs, const jfa_options* options,
                        const jfa_backward_inputs* given, const jfa_backward_outputs* outputs,
                        const jfa_execution* execution, const jfa_plan* plan) {
  return guarded([&] {
    const jfa_backward_inputs from = sized_copy("given", given, jfa_backward_inputs_init());
    const jfa_backward_outputs to = sized_copy("outputs", outputs, jfa_backward_outputs_init());
    jfa::BackwardInputs inward{tensor(from.dout), tensor(from.out), lse(from.lse), std::nullopt};
    if (from.dlse.data != nullptr) inward.dlse = lse(from.dlse);
    jfa::backward(convert(inputs), convert(options), inward,
                  {tensor(to.dq), tensor(to.dk), tensor(to.dv)}, convert(execution), plan_of(plan));
  });
}

jfa_status jfa_check_result(uint64_t check) {
  return guarded([&] { jfa::throw_if_check_failed(check); });
}

const char* jfa_last_error(void) { return last_error().c_str(); }

const char* jfa_version(void) { return jfa::version(); }
