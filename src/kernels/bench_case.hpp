// What programs that time kernels share: cases of a suite, device memory, timing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cuda/launch.hpp"
#include "jfa/mask.hpp"

namespace jfa {
namespace {

using nlohmann::json;

/// Device memory, freed at the end of its scope.
template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) {
    check_cuda(cudaMalloc(&data_, std::max<std::size_t>(count, 1) * sizeof(T)), "cudaMalloc");
    check_cuda(cudaMemset(data_, 0xFF, count * sizeof(T)), "cudaMemset");
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    check_cuda(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
               "upload");
  }
  Buffer(Buffer&& that) noexcept : count_(that.count_), data_(std::exchange(that.data_, nullptr)) {}
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer() { cudaFree(data_); }

  T* get() const { return data_; }
  std::vector<T> download() const {
    std::vector<T> values(count_);
    check_cuda(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
               "download");
    return values;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

/// One case of the suite.
struct BenchCase {
  std::string name;
  int heads_q, heads_kv, dim;
  Window window;
  bool broadcast;
  std::vector<int> q_offsets, kv_offsets;
  int q_rows;
  int out_rows;

  explicit BenchCase(const json& c)
      : name(c["name"]),
        heads_q(c["heads_q"]),
        heads_kv(c["heads_kv"]),
        dim(c["head_dim"]),
        window{c["window"][0], c["causal"] ? 0 : static_cast<int>(c["window"][1])},
        broadcast(c["broadcast_q"]) {
    const auto running = [](const std::vector<int>& lengths) {
      std::vector<int> offsets{0};
      for (const int length : lengths) offsets.push_back(offsets.back() + length);
      return offsets;
    };
    kv_offsets = running(c["kv_lengths"]);
    if (broadcast) {
      q_rows = c["q_length"];
      out_rows = q_rows * batch();
    } else {
      q_offsets = c.contains("q_lengths") ? running(c["q_lengths"]) : kv_offsets;
      q_rows = out_rows = q_offsets.back();
    }
  }

  int batch() const { return static_cast<int>(kv_offsets.size()) - 1; }
  bool masked() const { return window.left >= 0 || window.right >= 0; }
};

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

/// Milliseconds of each of `rounds` calls, after a few to warm up.
template <class Fn>
std::vector<double> time_calls(int rounds, Fn fn) {
  cudaEvent_t begin;
  cudaEvent_t end;
  check_cuda(cudaEventCreate(&begin), "event");
  check_cuda(cudaEventCreate(&end), "event");
  std::vector<double> times;
  for (int i = -3; i < rounds; ++i) {
    check_cuda(cudaEventRecord(begin), "event");
    fn();
    check_cuda(cudaEventRecord(end), "event");
    check_cuda(cudaEventSynchronize(end), "kernel");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, begin, end), "event");
    if (i >= 0) times.push_back(ms);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return times;
}

struct Peers {
  double best = 0;
  double floor = 0;
};

/// `direction` is fwd or bwd.
Peers peers_of(const json& targets, const std::string& name, const char* direction) {
  for (const json& t : targets["cases"]) {
    if (t["name"] == name && t["direction"] == direction) {
      return {t.value("best_ms", 0.0), t.value("floor_ms", 0.0)};
    }
  }
  return {};
}

json read(const char* path) {
  std::ifstream file(path);
  return json::parse(file);
}

/// Calls fn(case, peers) for the cases of SUITE.json whose name holds PART-OF-NAME; the program's
/// exit status.
template <class Fn>
int for_each_case(int count, char** arguments, const char* program, const char* direction, Fn fn) {
  if (count < 3) {
    std::fprintf(stderr, "usage: %s SUITE.json TARGETS.json [PART-OF-NAME]\n", program);
    return 2;
  }
  try {
    const json targets = read(arguments[2]);
    for (const json& c : read(arguments[1])) {
      const std::string name = c["name"];
      if (c.contains("block_sparse")) continue;
      if (count > 3 && name.find(arguments[3]) == std::string::npos) continue;
      fn(BenchCase(c), peers_of(targets, name, direction));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace jfa
