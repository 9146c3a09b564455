/* The C ABI of JFA: attention on jagged batches, forward and backward.
 *
 * What is computed, shapes and layouts are those of jfa/attention.hpp; every field below has its
 * namesake there. Rules of this interface:
 *  - Argument structs start with their size. Set them up with their jfa_*_init() function.
 *  - A function returns JFA_OK or why it failed, and jfa_last_error() then says it in words, for
 * the calling thread. When a call fails nothing has been written (JFA_INTERNAL excepted).
 *  - Nothing throws. Handles are freed by the function that their creator names.
 *  - All calls may be made from several threads at once.
 */
#ifndef JFA_JFA_H
#define JFA_JFA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "jfa/export.h"

/* C names, C forms: NOLINTBEGIN(readability-identifier-naming,modernize-redundant-void-arg) */

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t jfa_status;
enum {
  JFA_OK = 0,
  JFA_INVALID_ARGUMENT = 1, /* an argument breaks the contract; the message names it */
  JFA_UNSUPPORTED = 2,      /* within the contract, but not offered by the chosen engine */
  JFA_OUT_OF_MEMORY = 3,
  JFA_UNAVAILABLE = 4, /* the engine or device is not there */
  JFA_INTERNAL = 5,    /* a defect of the library */
  JFA_NOT_TAKEN = 6    /* jfa_python_forward alone: nothing was done, no message was left */
};

typedef int32_t jfa_dtype;
enum { JFA_BF16 = 0, JFA_F16 = 1, JFA_F32 = 2, JFA_I32 = 3, JFA_I64 = 4 };

typedef int32_t jfa_device;
enum { JFA_CPU = 0, JFA_CUDA = 1, JFA_EMULATOR = 2 };

/* [rows, heads, head_dim], last dimension contiguous, strides in elements. Inputs are not written.
 */
typedef struct jfa_tensor {
  void* data;
  jfa_dtype dtype;
  int64_t rows;
  int64_t heads;
  int64_t head_dim;
  int64_t row_stride;
  int64_t head_stride;
} jfa_tensor;

/* [heads, rows] fp32, rows contiguous. */
typedef struct jfa_lse {
  float* data;
  int64_t heads;
  int64_t rows;
  int64_t head_stride;
} jfa_lse;

/* A contiguous array of JFA_I32 or JFA_I64. Where it is optional, data = NULL means absent. */
typedef struct jfa_index {
  const void* data;
  jfa_dtype dtype;
  int64_t size;
} jfa_index;

typedef struct jfa_inputs {
  size_t size;
  jfa_tensor q;
  jfa_tensor k;
  jfa_tensor v;
  jfa_index kv_offsets;
  jfa_index q_offsets;  /* absent: broadcast_q */
  jfa_index kv_lengths; /* optional */
  jfa_index q_lengths;  /* optional */
} jfa_inputs;

typedef struct jfa_block_sparse {
  size_t size;
  int64_t block_q;
  int64_t block_kv;
  int64_t heads; /* 1 or heads_q */
  jfa_index row_offsets;
  jfa_index columns;
} jfa_block_sparse;

typedef struct jfa_options {
  size_t size;
  int64_t window_left;  /* -1: unbounded */
  int64_t window_right; /* -1: unbounded */
  int32_t causal;
  int32_t deterministic;
  int32_t has_softmax_scale; /* 0: softmax_scale is 1 / sqrt(head_dim) */
  double softmax_scale;
  double softcap;                       /* 0: off */
  const jfa_block_sparse* block_sparse; /* NULL: none */
} jfa_options;

typedef struct jfa_execution {
  size_t size;
  jfa_device device;
  int32_t threads; /* 0: all cores */
  void* workspace; /* NULL: the CPU engine and the emulator allocate their own */
  size_t workspace_bytes;
  void* stream;    /* JFA_CUDA: the cudaStream_t; NULL: the default stream */
  uint64_t* check; /* where JFA_CUDA and JFA_EMULATOR report wrong offsets; NULL: not checked */
} jfa_execution;

typedef struct jfa_forward_outputs {
  size_t size;
  jfa_tensor out;
  jfa_lse lse; /* data = NULL: not wanted */
} jfa_forward_outputs;

typedef struct jfa_backward_inputs {
  size_t size;
  jfa_tensor dout;
  jfa_tensor out;
  jfa_lse lse;
  jfa_lse dlse; /* data = NULL: zero */
} jfa_backward_inputs;

typedef struct jfa_backward_outputs {
  size_t size;
  jfa_tensor dq;
  jfa_tensor dk;
  jfa_tensor dv;
} jfa_backward_outputs;

/* Every argument struct with its size and defaults set and all else absent. */
static inline jfa_inputs jfa_inputs_init(void) {
  jfa_inputs value;
  memset(&value, 0, sizeof value);
  value.size = sizeof value;
  return value;
}
static inline jfa_block_sparse jfa_block_sparse_init(void) {
  jfa_block_sparse value;
  memset(&value, 0, sizeof value);
  value.size = sizeof value;
  value.heads = 1;
  return value;
}
static inline jfa_options jfa_options_init(void) {
  jfa_options value;
  memset(&value, 0, sizeof value);
  value.size = sizeof value;
  value.window_left = -1;
  value.window_right = -1;
  return value;
}
static inline jfa_execution jfa_execution_init(void) {
  jfa_execution value;
  memset(&value, 0, sizeof value);
  value.size = sizeof value;
  return value;
}
static inline jfa_forward_outputs jfa_forward_outputs_init(void) {
  jfa_forward_outputs value;
  memset(&value, 0, sizeof value);
  value.size = sizeof value;
  return value;
}
static inline jfa_backward_inputs jfa_backward_inputs_init(void) {
  jfa_backward_inputs value;
  memset(&value, 0, sizeof value);
  value.size = sizeof value;
  return value;
}
static inline jfa_backward_outputs jfa_backward_outputs_init(void) {
  jfa_backward_outputs value;
  memset(&value, 0, sizeof value);
  value.size = sizeof value;
  return value;
}

/* A batch's schedule, reusable by every call with the same offsets, lengths and mask. */
typedef struct jfa_plan jfa_plan;

/* `execution` may be NULL everywhere: the CPU engine on all cores. */
JFA_API jfa_status jfa_plan_create(const jfa_inputs* inputs, const jfa_options* options,
                                   const jfa_execution* execution, jfa_plan** plan);
/* NULL is allowed. */
JFA_API void jfa_plan_destroy(jfa_plan* plan);

/* Bytes of workspace for each direction, from shapes alone. */
JFA_API jfa_status jfa_workspace_sizes(const jfa_inputs* inputs, const jfa_options* options,
                                       const jfa_execution* execution, size_t* forward_bytes,
                                       size_t* backward_bytes);

/* Bytes of workspace that jfa_plan_create needs, from shapes alone. */
JFA_API jfa_status jfa_plan_workspace_size(const jfa_inputs* inputs, const jfa_options* options,
                                           const jfa_execution* execution, size_t* bytes);

/* `plan` may be NULL: one is made for the call. */
JFA_API jfa_status jfa_forward(const jfa_inputs* inputs, const jfa_options* options,
                               const jfa_forward_outputs* outputs, const jfa_execution* execution,
                               const jfa_plan* plan);
JFA_API jfa_status jfa_backward(const jfa_inputs* inputs, const jfa_options* options,
                                const jfa_backward_inputs* given,
                                const jfa_backward_outputs* outputs, const jfa_execution* execution,
                                const jfa_plan* plan);

/* What the value at jfa_execution.check says: JFA_OK, or JFA_INVALID_ARGUMENT for wrong offsets,
 * lengths or plan, which jfa_last_error() then names. */
JFA_API jfa_status jfa_check_result(uint64_t check);

/* How a binding of Python hands over tensors as they are: as PyObject*, of a type with the C
 * exchange API of DLPack 1.3. */
typedef struct jfa_python {
  size_t size;
  const void* exchange;   /* the type's DLPackExchangeAPI */
  const void* none;       /* the object that stands for an absent tensor */
  void* (*release)(void); /* PyEval_SaveThread */
  void (*acquire)(void*); /* PyEval_RestoreThread */
} jfa_python;

/* jfa_forward of such tensors, all on the CPU or on the current GPU: on its current stream, with
 * workspace of its allocator. The caller holds Python's lock, which is released meanwhile.
 * JFA_NOT_TAKEN where a tensor has to be prepared for a call first, or cannot be used at all. */
JFA_API jfa_status jfa_python_forward(const jfa_python* python, void* q, void* k, void* v,
                                      void* kv_offsets, void* q_offsets, void* kv_lengths,
                                      void* q_lengths, void* out, void* lse,
                                      const jfa_options* options, int32_t threads,
                                      const jfa_plan* plan);

/* The message of this thread's last failed call, "" if none has failed. Valid until its next. */
JFA_API const char* jfa_last_error(void);

/* "major.minor.patch" */
JFA_API const char* jfa_version(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* NOLINTEND(readability-identifier-naming,modernize-redundant-void-arg) */

#endif /* JFA_JFA_H */
