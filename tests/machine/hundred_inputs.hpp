// Every sample kernel on the same 100 random inputs, whatever the machine. With JFA_RECORD=FILE in
// the environment, all outputs go to FILE; compare_records.py compares two machines' files.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <tuple>
#include <vector>

#include "sample_checks.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// A device that keeps what checks download.
template <class Device>
class RecordingDevice {
 public:
  using M = typename Device::M;

  template <class... Arguments>
  explicit RecordingDevice(std::ofstream& file, Arguments... arguments)
      : device_(arguments...), file_(file) {}

  template <class T>
  T* poisoned(std::size_t count) {
    return device_.template poisoned<T>(count);
  }
  template <class T>
  T* zeroed(std::size_t count) {
    return device_.template zeroed<T>(count);
  }
  template <class T>
  T* upload(const std::vector<T>& values) {
    return device_.upload(values);
  }
  template <class K>
  void launch(int blocks, const typename K::Params& params) {
    device_.template launch<K>(blocks, params);
  }
  template <class T>
  std::vector<T> download(const T* buffer, std::size_t count) {
    auto values = device_.download(buffer, count);
    const std::uint32_t header[2] = {sizeof(T), static_cast<std::uint32_t>(count)};
    file_.write(reinterpret_cast<const char*>(header), sizeof(header));
    file_.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(count * sizeof(T)));
    return values;
  }

 private:
  Device device_;
  std::ofstream& file_;
};

/// Runs each sample on the input of `seed`, a fresh device for each: make(fn) calls fn(device).
template <class Make>
void check_input(std::uint64_t seed, Make make) {
  std::mt19937_64 shape(seed);
  const int rows = random_between(1, 150, shape);
  const int cols = 8 * random_between(1, 20, shape);
  const int depth = 8 * random_between(1, 25, shape);
  const int blocks = random_between(1, 3, shape);
  const Inputs inputs = seed % 2 == 0 ? Inputs::Exact : Inputs::Spread;
  make([&](auto& device) { check_ring_copy<RingCopyConfig{}>(device, rows, cols, blocks, seed); });
  make([&](auto& device) {
    check_multicast_copy<MulticastCopyConfig{}>(device, rows, cols, blocks, seed);
  });
  make([&](auto& device) { check_softmax<SoftmaxConfig{}>(device, rows, blocks, seed); });
  make([&](auto& device) {
    check_gemm<GemmConfig{.tile_n = 128, .stages = 4}>(device, rows, cols, depth, blocks, inputs,
                                                       seed);
  });
  make([&](auto& device) {
    check_gemm<GemmConfig{.tile_n = 128, .splits = 2}>(device, rows, cols, depth, blocks, inputs,
                                                       seed);
  });
  make([&](auto& device) { check_attention_tile<AttentionTileConfig{}>(device, seed); });
}

/// `arguments(seed)` gives what the Device is made of, as a tuple.
template <class Device, class Arguments>
void check_hundred_inputs(Arguments arguments) {
  const char* path = std::getenv("JFA_RECORD");
  std::ofstream file(path == nullptr ? "/dev/null" : path, std::ios::binary);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    check_input(seed, [&](auto check) {
      std::apply(
          [&](auto... parts) {
            RecordingDevice<Device> device(file, parts...);
            check(device);
          },
          arguments(seed));
    });
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace JFA_BACKEND
}  // namespace jfa
