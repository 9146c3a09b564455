// Which engines this build has. Compiled once for the library and once for the tool and the tests,
// which also have the emulator.
#include <string>

#include "cpu/host_engine.hpp"
#include "problem/engine.hpp"
#ifdef JFA_WITH_CUDA
#include "cuda/cuda_engine.hpp"
#endif
#ifdef JFA_WITH_EMULATOR
#include "emulated/emulated_engine.hpp"
#endif

namespace jfa {
namespace {

#ifdef JFA_WITH_CUDA
const Engine* cuda_or_null() { return &cuda::engine(); }
#else
const Engine* cuda_or_null() { return nullptr; }
#endif

#ifdef JFA_WITH_EMULATOR
const Engine* emulator_or_null() { return &emulated_engine(); }
#else
const Engine* emulator_or_null() { return nullptr; }
#endif

Status not_built_in(const char* name) {
  std::string built = "cpu";
  if (cuda_or_null() != nullptr) built += " or cuda";
  if (emulator_or_null() != nullptr) built += " or emulator";
  return {ErrorCode::kUnavailable,
          std::string("device ") + name + " is not built into this library, must be " + built};
}

}  // namespace

Status find_engine(Device device, const Engine*& engine) {
  switch (device) {
    case Device::kCpu:
      engine = &cpu::engine();
      return {};
    case Device::kCuda:
      engine = cuda_or_null();
      return engine != nullptr ? Status() : not_built_in("cuda");
    case Device::kEmulator:
      engine = emulator_or_null();
      return engine != nullptr ? Status() : not_built_in("emulator");
  }
  return invalid_argument("execution.device is " +
                          std::to_string(static_cast<std::int32_t>(device)) +
                          ", must be cpu (0), cuda (1) or emulator (2)");
}

}  // namespace jfa
