// What engines that run the kernels for GPUs take, and how exactly they compute.
#pragma once

#include "engine.hpp"

namespace jfa::contract {

class GpuKernelEngine : public Engine {
 public:
  Limits limits() const override {
    return {.fp32 = false,
            .head_dim_multiple = 8,
            .max_backward_capped_head_dim = 128,
            .max_backward_listed_head_dim = 128,
            .stride_multiple = 8};
  }
  double operand_rounding(DType dtype) const override {
    return dtype == DType::kBf16 ? 0x1p-9 : 0x1p-12;
  }
  /// Tensor cores cut sums off where fp32 would round them; exp2 and log2 are approximations.
  double noise() const override { return 4e-6; }
};

}  // namespace jfa::contract
