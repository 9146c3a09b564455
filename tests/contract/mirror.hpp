// Copies on the GPU of the host memory that views point into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "cuda/device_memory.hpp"
#include "jfa/attention.hpp"

namespace jfa::contract {

/// Collects stretches of host memory with add(), copies them with upload(), and then tells where
/// a host pointer's copy lies. Stretches that overlap, as those of interleaved tensors do, are
/// copied as one, so that padding between them is there too.
class Mirror {
 public:
  void add(const ConstTensorView& view);
  void add(const ConstLseView& view);
  void add(const IndexView& view);

  void upload();

  /// Brings back the stretches that `view` lies in.
  void download(const ConstTensorView& view);
  void download(const ConstLseView& view);

  template <typename View>
  View at(View view) const {
    view.data = static_cast<decltype(view.data)>(moved(view.data));
    return view;
  }

 private:
  struct Stretch {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const cuda::DeviceMemory* copy = nullptr;
  };
  void add(const void* data, std::int64_t bytes);
  const Stretch* find(const void* host) const;
  void* moved(const void* host) const;
  void download_at(const void* host);

  std::vector<Stretch> stretches_;
  std::list<cuda::DeviceMemory> memory_;
};

}  // namespace jfa::contract
