// The format's names of the element types that are read and written.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "jfa/tensor.hpp"

namespace jfa::safetensors {

inline constexpr std::array<std::pair<DType, std::string_view>, 5> kDTypeNames{
    {{DType::kBf16, "BF16"},
     {DType::kF16, "F16"},
     {DType::kF32, "F32"},
     {DType::kI32, "I32"},
     {DType::kI64, "I64"}}};

constexpr std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (const auto& [dtype, known] : kDTypeNames) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

constexpr std::string_view dtype_name(DType dtype) noexcept {
  for (const auto& [known, name] : kDTypeNames) {
    if (known == dtype) return name;
  }
  return {};
}

}  // namespace jfa::safetensors
