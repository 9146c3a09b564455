// Offsets and lengths as kernels read them, clamped to the tensors: a wrong one never leads
// outside.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

/// int32 or int64 offsets or lengths in device memory.
struct DeviceIndices {
  const void* data;
  bool wide;

  template <class M>
  JFA_DEVICE std::int64_t at(std::int64_t i) const {
    return wide ? M::load_global(static_cast<const std::int64_t*>(data) + i)
                : M::load_global(static_cast<const std::int32_t*>(data) + i);
  }
};

/// Where the sequences of one side lie among a tensor's `rows` rows.
struct DeviceRows {
  DeviceIndices offsets;  // [batch + 1]
  DeviceIndices lengths;  // [batch]; no data when absent
  int rows;

  /// Rows begin .. begin + length - 1 are in use, those up to `end` are a gap.
  struct Place {
    int begin;
    int length;
    int end;
  };

  static JFA_DEVICE std::int64_t clamp(std::int64_t x, std::int64_t low, std::int64_t high) {
    return x < low ? low : x > high ? high : x;
  }

  template <class M>
  JFA_DEVICE Place of(int b) const {
    const auto begin = clamp(offsets.at<M>(b), 0, rows);
    const auto end = clamp(offsets.at<M>(b + 1), begin, rows);
    const auto used =
        lengths.data == nullptr ? end - begin : clamp(lengths.at<M>(b), 0, end - begin);
    return {static_cast<int>(begin), static_cast<int>(used), static_cast<int>(end)};
  }
};

}  // namespace jfa::inline JFA_BACKEND
