// Tensors that own their memory, and whole batches made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "batch/case.hpp"
#include "jfa/attention.hpp"

namespace jfa {

/// A packed tensor of up to three dimensions in host memory, aligned to 64 bytes.
class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(DType dtype, std::vector<std::int64_t> shape);

  DType dtype() const noexcept { return dtype_; }
  const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
  std::int64_t size() const noexcept { return size_; }  ///< elements
  std::size_t bytes() const noexcept;
  std::byte* data() noexcept { return data_.get(); }
  const std::byte* data() const noexcept { return data_.get(); }

  double at(std::int64_t i) const;         ///< element i in memory order, floats and integers
  void set(std::int64_t i, double value);  ///< rounds to nearest even
  void fill(double value);

  TensorView view();  ///< of a `[rows, heads, head_dim]` tensor
  ConstTensorView view() const;
  LseView lse_view();  ///< of a fp32 `[heads, rows]` tensor
  ConstLseView lse_view() const;
  IndexView index_view() const;  ///< of an int32 or int64 tensor

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept;
  };
  DType dtype_ = DType::kF32;
  std::vector<std::int64_t> shape_;
  std::int64_t size_ = 0;
  std::unique_ptr<std::byte[], Free> data_;
};

/// What one call reads. Movable, not copied by accident: views point into it.
struct Batch {
  HostTensor q, k, v;
  HostTensor kv_offsets;
  std::optional<HostTensor> q_offsets;  ///< absent: broadcast_q
  std::optional<HostTensor> q_lengths, kv_lengths;
  std::optional<HostTensor> block_row_offsets, block_columns;
  std::int64_t block_q = 0, block_kv = 0;
  bool causal = false;
  Window window;

  Inputs inputs() const;
  Mask mask() const;
  std::int64_t out_rows() const;
};

/// Standard normal q, k, v rounded to the case's dtype, the same for equal seeds on every machine.
Batch make_batch(const Case& c, std::uint64_t seed);

/// The same with q, k and v unwritten: their memory costs nothing until it is touched.
Batch make_unwritten_batch(const Case& c);

/// A packed tensor of standard normal values.
HostTensor random_tensor(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed);

/// Query-key pairs the masks leave, summed over sequences, of one head (averaged over heads where
/// block lists differ by head).
double unmasked_pairs(const Batch& batch);

/// ||a - b|| / ||b|| over all elements; NaN where either holds NaN; equal infinities count as
/// equal.
double relative_error(const HostTensor& a, const std::vector<double>& b);

}  // namespace jfa
