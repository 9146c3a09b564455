/* The C ABI from plain C: results, defaults, refusals and their messages. */
#include <jfa/jfa.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 5, kHeads = 2, kDim = 8, kElements = kRows * kHeads * kDim };

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  ++failures;
  fprintf(stderr, "FAILED: %s (last error: %s)\n", what, jfa_last_error());
}

static jfa_tensor tensor(float* data) {
  jfa_tensor t = {data, JFA_F32, kRows, kHeads, kDim, kHeads * kDim, kDim};
  return t;
}

static jfa_inputs make_inputs(float* q, float* k, float* v, const int32_t* offsets, int64_t count) {
  jfa_inputs inputs = jfa_inputs_init();
  inputs.q = tensor(q);
  inputs.k = tensor(k);
  inputs.v = tensor(v);
  inputs.kv_offsets.data = offsets;
  inputs.kv_offsets.dtype = JFA_I32;
  inputs.kv_offsets.size = count;
  inputs.q_offsets = inputs.kv_offsets;
  return inputs;
}

/* One query and key a sequence: softmax is 1, so out = v, and dv = dout. */
static void test_single_keys(void) {
  static float q[kElements], k[kElements], v[kElements], out[kElements], lse[kHeads * kRows];
  static float dq[kElements], dk[kElements], dv[kElements];
  const int32_t offsets[] = {0, 1, 2, 3, 4, 5};
  for (int i = 0; i < kElements; ++i) {
    q[i] = (float)(i % 7) - 3;
    k[i] = (float)(i % 5) - 2;
    v[i] = (float)i;
  }
  const jfa_inputs inputs = make_inputs(q, k, v, offsets, 6);
  const jfa_options options = jfa_options_init();
  jfa_plan* plan = NULL;
  expect(jfa_plan_create(&inputs, &options, NULL, &plan) == JFA_OK, "plan");
  jfa_forward_outputs outputs = jfa_forward_outputs_init();
  const jfa_lse lse_view = {lse, kHeads, kRows, kRows};
  outputs.out = tensor(out);
  outputs.lse = lse_view;
  expect(jfa_forward(&inputs, &options, &outputs, NULL, plan) == JFA_OK, "forward");
  jfa_backward_inputs given = jfa_backward_inputs_init();
  given.dout = tensor(v);
  given.out = tensor(out);
  given.lse = lse_view;
  jfa_backward_outputs gradients = jfa_backward_outputs_init();
  gradients.dq = tensor(dq);
  gradients.dk = tensor(dk);
  gradients.dv = tensor(dv);
  expect(jfa_backward(&inputs, &options, &given, &gradients, NULL, plan) == JFA_OK, "backward");
  jfa_plan_destroy(plan);
  jfa_plan_destroy(NULL);
  for (int i = 0; i < kElements; ++i) {
    expect(fabsf(out[i] - v[i]) <= 1e-4F, "out = v");
    expect(fabsf(dv[i] - v[i]) <= 1e-4F, "dv = dout");
    expect(fabsf(dq[i]) <= 1e-3F && fabsf(dk[i]) <= 1e-3F, "dq = dk = 0");
  }
}

static void test_refusals(void) {
  static float q[kElements], out[kElements];
  const int32_t falling[] = {0, 3, 2};
  jfa_inputs inputs = make_inputs(q, q, q, falling, 3);
  const jfa_options options = jfa_options_init();
  jfa_forward_outputs outputs = jfa_forward_outputs_init();
  outputs.out = tensor(out);
  out[0] = 42;
  expect(jfa_forward(&inputs, &options, &outputs, NULL, NULL) == JFA_INVALID_ARGUMENT, "falling");
  expect(strstr(jfa_last_error(), "kv_offsets[2] is 2") != NULL, "message names the offset");
  expect(jfa_forward(NULL, &options, &outputs, NULL, NULL) == JFA_INVALID_ARGUMENT, "null inputs");
  expect(strstr(jfa_last_error(), "inputs is NULL") != NULL, "message names inputs");
  inputs.size = 1 << 20;
  expect(jfa_forward(&inputs, &options, &outputs, NULL, NULL) == JFA_INVALID_ARGUMENT, "size");
  expect(strstr(jfa_last_error(), "inputs.size is 1048576") != NULL, "message names the size");
  inputs.size = sizeof inputs;
  jfa_execution execution = jfa_execution_init();
  execution.device = 9;
  expect(jfa_forward(&inputs, &options, &outputs, &execution, NULL) == JFA_INVALID_ARGUMENT,
         "unknown device");
  expect(jfa_plan_create(&inputs, &options, NULL, NULL) == JFA_INVALID_ARGUMENT, "no plan pointer");
  expect(out[0] == 42, "a refused call writes nothing");
}

/* What calls on a device leave in a check word, and what they need of an execution. */
static void test_devices(void) {
  static float q[kElements], out[kElements];
  const int32_t offsets[] = {0, 5};
  const jfa_inputs inputs = make_inputs(q, q, q, offsets, 2);
  const jfa_options options = jfa_options_init();
  expect(jfa_check_result(0) == JFA_OK, "a word of 0 says that all is right");
  const uint64_t falling = (uint64_t)2 << 32 | 7; /* kv_offsets[7] falls */
  expect(jfa_check_result(falling) == JFA_INVALID_ARGUMENT, "a word says what is wrong");
  expect(strstr(jfa_last_error(), "kv_offsets[7] is less than") != NULL, "and where");
  size_t bytes = 1;
  expect(jfa_plan_workspace_size(&inputs, &options, NULL, &bytes) == JFA_OK, "plan's workspace");
  expect(bytes == 0, "the CPU engine's plan needs none");
  expect(jfa_plan_workspace_size(&inputs, &options, NULL, NULL) == JFA_INVALID_ARGUMENT,
         "no place");
  jfa_execution execution = jfa_execution_init();
  uint64_t word = 0;
  execution.check = &word;
  jfa_forward_outputs outputs = jfa_forward_outputs_init();
  outputs.out = tensor(out);
  expect(jfa_forward(&inputs, &options, &outputs, &execution, NULL) == JFA_INVALID_ARGUMENT,
         "the CPU engine takes no check word");
  execution.size = offsetof(jfa_execution, stream); /* an older header has no check */
  expect(jfa_forward(&inputs, &options, &outputs, &execution, NULL) == JFA_OK, "older execution");
}

/* A struct of an older header is shorter: what it lacks takes its default. */
static void test_older_options(void) {
  static float q[kElements], out[kElements];
  const int32_t offsets[] = {0, 5};
  const jfa_inputs inputs = make_inputs(q, q, q, offsets, 2);
  jfa_forward_outputs outputs = jfa_forward_outputs_init();
  outputs.out = tensor(out);
  jfa_options options = jfa_options_init();
  options.size = offsetof(jfa_options, softcap);
  options.softcap = -1; /* past the size: not read */
  expect(jfa_forward(&inputs, &options, &outputs, NULL, NULL) == JFA_OK, "older options");
}

int main(void) {
  expect(strcmp(jfa_last_error(), "") == 0, "no error before the first");
  test_single_keys();
  test_refusals();
  test_older_options();
  test_devices();
  size_t forward_bytes = 0;
  expect(jfa_workspace_sizes(NULL, NULL, NULL, &forward_bytes, &forward_bytes) != JFA_OK, "sizes");
  printf("jfa %s, %d failures\n", jfa_version(), failures);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
