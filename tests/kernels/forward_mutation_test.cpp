// Every synchronization of the forward kernel is load-bearing: dropped or perturbed one at a time,
// each is found by some schedule of the emulator, but for those justified by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/forward_checks.hpp"
#include "machine/emulator/emulated_hopper.hpp"
#include "machine/emulator/verify.hpp"

namespace jfa {
inline namespace emulated {
namespace {

/// Runs kernels with given options; keeps what the last run of the kernel under test gave.
class MutatedDevice {
 public:
  using M = EmulatedHopper;

  explicit MutatedDevice(const emulator::RunOptions& options) : options_(options) {}

  template <class T>
  T* poisoned(std::size_t count) {
    return allocate<T>(count, std::byte{0xFF}, emulator::BufferUse::Output);
  }
  template <class T>
  T* zeroed(std::size_t count) {
    return allocate<T>(count, std::byte{0}, emulator::BufferUse::InOut);
  }
  template <class T>
  T* upload(const std::vector<T>& values) {
    T* buffer = allocate<T>(values.size(), std::byte{0}, emulator::BufferUse::Input);
    std::copy(values.begin(), values.end(), buffer);
    return buffer;
  }
  template <class T>
  std::vector<T> download(const T* buffer, std::size_t count) {
    return {buffer, buffer + count};
  }

  template <class K>
  void launch(int blocks, const typename K::Params& params) {
    constexpr bool kPlanner = std::is_same_v<K, Planner<M>>;
    emulator::RunOptions options = options_;
    if constexpr (kPlanner) options.mutant.reset();
    result = emulated::launch<K>(device_, options, blocks, params);
  }

  emulator::RunResult result;

 private:
  struct alignas(16) Chunk {
    std::byte bytes[16];
  };

  template <class T>
  T* allocate(std::size_t count, std::byte fill, emulator::BufferUse use) {
    const std::size_t bytes = count * sizeof(T);
    memory_.push_back(std::make_unique<Chunk[]>((bytes + sizeof(Chunk) - 1) / sizeof(Chunk)));
    std::byte* begin = memory_.back()[0].bytes;
    std::fill_n(begin, bytes, fill);
    device_.expose("buffer " + std::to_string(memory_.size()), begin, bytes, use);
    return reinterpret_cast<T*>(begin);
  }

  emulator::RunOptions options_;
  std::vector<std::unique_ptr<Chunk[]>> memory_;
  emulator::Device device_;
};

/// Whether a result is wrong: as in expect_forward, without GoogleTest.
std::string compare(const ForwardOutcome& got, const reference::ForwardResult& want) {
  for (std::size_t i = 0; i < want.lse.size(); ++i) {
    const bool equal = std::isinf(want.lse[i]) ? got.lse[i] == want.lse[i]
                                               : std::abs(got.lse[i] - want.lse[i]) < 1e-3;
    if (!equal) return "lse " + std::to_string(i);
  }
  for (std::size_t i = 0; i < want.out.size(); ++i) {
    if (!(std::abs(got.out[i] - want.out[i]) <= 0.01 * (std::abs(want.out[i]) + 0.5))) {
      return "out " + std::to_string(i);
    }
  }
  return "";
}

emulator::Subject subject() {
  Case c;
  c.name = "forward";
  // Runs of tiles that share keys and single tiles, both warpgroups and one, more blocks than
  // slots.
  c.q_lengths = {300, 60, 130, 1};
  c.kv_lengths = {200, 700, 257, 0};
  return {"forward",
          [batch = std::make_shared<Batch>(make_batch(c, 1))](const emulator::RunOptions& options) {
            Problem problem;
            throw_if_failed(check_inputs(batch->inputs(), {}, {}, problem));
            static const reference::ForwardResult kWant = reference::forward(problem);
            MutatedDevice device(options);
            using K = Forward<EmulatedHopper, ForwardConfig{.head_dim = 64}>;
            const ForwardOutcome got = run_forward<K>(device, *batch, problem, 1);
            return emulator::Outcome{device.result, compare(got, kWant)};
          }};
}

TEST(ForwardMutation, EverySynchronizationIsNeeded) {
  emulator::VerifyOptions options;
  options.seeds = 2;
  options.mutate = true;
  options.justified = emulator::load_justified(JFA_SOURCE_DIR "/docs/emulator_survivors.json");
  const emulator::Subject forward = subject();
  std::ostringstream out;
  EXPECT_EQ(emulator::verify({&forward, 1}, options, out), 0) << out.str();
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
