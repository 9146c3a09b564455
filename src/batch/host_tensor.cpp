#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "batch/batch.hpp"
#include "numeric/half.hpp"

namespace jfa {
namespace {

constexpr std::size_t kAlignment = 64;

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      throw std::length_error("tensor shape is negative or too large");
    }
  }
  return count;
}

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void store(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

}  // namespace

void HostTensor::Free::operator()(std::byte* p) const noexcept { std::free(p); }

HostTensor::HostTensor(DType dtype, std::vector<std::int64_t> shape)
    : dtype_(dtype), shape_(std::move(shape)), size_(element_count(shape_)) {
  if (size_ > std::numeric_limits<std::int64_t>::max() / 16) throw std::bad_alloc();
  const std::size_t rounded = (bytes() / kAlignment + 1) * kAlignment;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
  if (data_ == nullptr) throw std::bad_alloc();
}

std::size_t HostTensor::bytes() const noexcept {
  return static_cast<std::size_t>(size_ * element_size(dtype_));
}

double HostTensor::at(std::int64_t i) const {
  const std::byte* at = data() + i * element_size(dtype_);
  switch (dtype_) {
    case DType::kBf16:
      return decode_half(load<std::uint16_t>(at), kBf16Format);
    case DType::kF16:
      return decode_half(load<std::uint16_t>(at), kF16Format);
    case DType::kF32:
      return static_cast<double>(load<float>(at));
    case DType::kI32:
      return load<std::int32_t>(at);
    case DType::kI64:
      return static_cast<double>(load<std::int64_t>(at));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void HostTensor::set(std::int64_t i, double value) {
  std::byte* at = data() + i * element_size(dtype_);
  switch (dtype_) {
    case DType::kBf16:
      return store(at, encode_half(value, kBf16Format));
    case DType::kF16:
      return store(at, encode_half(value, kF16Format));
    case DType::kF32:
      return store(at, static_cast<float>(value));
    case DType::kI32:
      return store(at, static_cast<std::int32_t>(value));
    case DType::kI64:
      return store(at, static_cast<std::int64_t>(value));
  }
}

void HostTensor::fill(double value) {
  for (std::int64_t i = 0; i < size_; ++i) set(i, value);
}

TensorView HostTensor::view() {
  return packed(static_cast<void*>(data()), dtype_, shape_.at(0), shape_.at(1), shape_.at(2));
}

ConstTensorView HostTensor::view() const {
  return packed(static_cast<const void*>(data()), dtype_, shape_.at(0), shape_.at(1), shape_.at(2));
}

LseView HostTensor::lse_view() {
  return {reinterpret_cast<float*>(data()), shape_.at(0), shape_.at(1), shape_.at(1)};
}

ConstLseView HostTensor::lse_view() const {
  return {reinterpret_cast<const float*>(data()), shape_.at(0), shape_.at(1), shape_.at(1)};
}

IndexView HostTensor::index_view() const { return {data(), dtype_, size_}; }

double relative_error(const HostTensor& a, const std::vector<double>& b) {
  if (a.size() != static_cast<std::int64_t>(b.size())) {
    throw std::invalid_argument("relative_error: the two differ in size");
  }
  double difference = 0;
  double norm = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at(i);
    const double y = b[static_cast<std::size_t>(i)];
    if (std::isinf(y) && x == y) continue;  // the lse of a row that sees nothing
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return difference == 0 ? 0 : std::sqrt(difference / std::max(norm, 1e-300));
}

}  // namespace jfa
