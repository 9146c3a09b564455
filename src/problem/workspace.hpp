// Scratch of a call in host memory, the caller's or its own.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <string>

#include "jfa/attention.hpp"
#include "problem/status.hpp"

namespace jfa {

// Shapes may be larger than any memory: sizes that overflow become the largest one, which no
// allocation grants.
inline std::size_t saturating_product(std::size_t a, std::size_t b) noexcept {
  std::size_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::size_t>::max() : product;
}
inline std::size_t saturating_sum(std::size_t a, std::size_t b) noexcept {
  std::size_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::size_t>::max() : sum;
}

class Workspace {
 public:
  Status acquire(const Execution& execution, std::size_t bytes) {
    if (execution.workspace != nullptr) {
      if (execution.workspace_bytes < bytes) {
        return invalid_argument("execution.workspace_bytes is " +
                                std::to_string(execution.workspace_bytes) + ", must be at least " +
                                std::to_string(bytes));
      }
      data_ = static_cast<std::byte*>(execution.workspace);
      return {};
    }
    own_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow)));
    data_ = own_.get();
    if (data_ != nullptr) return {};
    return {ErrorCode::kOutOfMemory,
            "out of host memory for " + std::to_string(bytes) + " bytes of workspace"};
  }

  std::byte* data() const noexcept { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(std::byte* p) const noexcept { ::operator delete(p, kAlignment); }
  };
  std::unique_ptr<std::byte, Free> own_;
  std::byte* data_ = nullptr;
};

}  // namespace jfa
