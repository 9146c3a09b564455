// What the host says of one call of a forward kernel.
#pragma once

#include "kernels/forward/mask.hpp"
#include "plan/schedule.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// Strides in elements.
template <class T>
struct ForwardArguments {
  T* q;
  T* k;
  T* v;
  T* out;
  float* lse;                 // null: not wanted
  std::int64_t q_strides[2];  // row, head
  std::int64_t k_strides[2];
  std::int64_t v_strides[2];
  std::int64_t out_strides[2];
  std::int64_t lse_head_stride;
  int heads_q;
  int heads_kv;
  int head_dim;
  Window window;
  BlockLists lists;  // of a block-sparse mask
  double softmax_scale;
  double softcap;
  const PlannedSequence* plan;  // made with the kernel's item_shape
  DeviceRows q_rows;            // its offsets have no data with broadcast_q
  int batch;
  int* ticket;  // holds 0, before and after
};

}  // namespace JFA_BACKEND
}  // namespace jfa
