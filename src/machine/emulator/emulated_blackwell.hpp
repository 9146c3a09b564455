// The machine `EmulatedBlackwell`: EmulatedHopper, and tensor memory with its instructions. What
// each does on a GPU is said beside its namesake in machine/blackwell.
#pragma once

#include "machine/emulator/emulated_hopper.hpp"

namespace jfa {
inline namespace emulated {

struct EmulatedBlackwell : EmulatedHopper {
  static constexpr std::uint32_t kDescriptorVersion = 1u << (46 - 32);

  template <int Blocks = 1>
  static void tensor_allocate(std::uint32_t* to, int columns, Site site = Site::here()) {
    emulator::tensor_allocate(to, columns, Blocks, call_site(site, "tensor_allocate"));
  }
  template <int Blocks = 1>
  static void tensor_relinquish(Site site = Site::here()) {
    emulator::tensor_relinquish(Blocks, call_site(site, "tensor_relinquish"));
  }
  template <int Blocks = 1>
  static void tensor_free(std::uint32_t address, int columns, Site site = Site::here()) {
    emulator::tensor_free(address, columns, Blocks, call_site(site, "tensor_free"));
  }
  static void tensor_fence_before(Site site = Site::here()) {
    emulator::tensor_fence_before(call_site(site, "tensor_fence_before"));
  }
  static void tensor_fence_after(Site site = Site::here()) {
    emulator::tensor_fence_after(call_site(site, "tensor_fence_after"));
  }
  template <int Blocks = 1>
  static void tensor_mma(std::uint32_t d, MmaDescriptor a, MmaDescriptor b,
                         std::uint32_t instruction, bool accumulate, Site site = Site::here()) {
    emulator::tensor_mma(d, bits_of(a), bits_of(b), instruction, accumulate, Blocks,
                         call_site(site, "tensor_mma"));
  }
  template <int Blocks = 1>
  static void tensor_mma(std::uint32_t d, std::uint32_t a, MmaDescriptor b,
                         std::uint32_t instruction, bool accumulate, Site site = Site::here()) {
    emulator::tensor_mma(d, a, bits_of(b), instruction, accumulate, Blocks,
                         call_site(site, "tensor_mma"));
  }
  template <int Blocks = 1>
  static void tensor_commit(Mbarrier* barrier, Site site = Site::here()) {
    emulator::tensor_commit(barrier, Blocks, call_site(site, "tensor_commit"));
  }
  template <int N>
  static void tensor_load(float* to, std::uint32_t address, FragmentState& state,
                          Site site = Site::here()) {
    emulator::tensor_load(address, N, to, state, call_site(site, "tensor_load"));
  }
  template <int N>
  static void tensor_store(std::uint32_t address, const auto* from, Site site = Site::here()) {
    emulator::tensor_store(address, N, from, call_site(site, "tensor_store"));
  }
  static void tensor_wait_loads(Site site = Site::here()) {
    emulator::tensor_wait_loads(call_site(site, "tensor_wait_loads"));
  }
  static void tensor_wait_stores(Site site = Site::here()) {
    emulator::tensor_wait_stores(call_site(site, "tensor_wait_stores"));
  }
};

}  // namespace emulated
}  // namespace jfa
