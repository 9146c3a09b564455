// Every sample kernel as it is launched, with its budget of registers a thread at entry. A kernel
// with register roles is compiled to the launch's share, 168 for 384 threads; a role that needs
// more than its budget spills, which the gate refuses too.
//
// budget: 4GemmI registers 168
// budget: 13AttentionTileI registers 192
// budget: 8RingCopyI registers 16
// budget: 13MulticastCopyI registers 20
// budget: 7SoftmaxI registers 96
// budget: 8MmaProbeI registers 112
#include "cuda/launch.hpp"
#include "kernels/samples/attention_tile.hpp"
#include "kernels/samples/gemm.hpp"
#include "kernels/samples/mma_probe.hpp"
#include "kernels/samples/multicast_copy.hpp"
#include "kernels/samples/ring_copy.hpp"
#include "kernels/samples/softmax.hpp"

namespace jfa {
inline namespace gpu {

void launch_all() {
  launch<Gemm<Hopper, GemmConfig{}>>(1, {}, nullptr);
  launch<Gemm<Hopper, GemmConfig{.tile_n = 128, .stages = 4}>>(1, {}, nullptr);
  launch<Gemm<Hopper, GemmConfig{.tile_n = 128, .splits = 4}>>(1, {}, nullptr);
  launch<AttentionTile<Hopper, AttentionTileConfig{}>>(1, {}, nullptr);
  launch<RingCopy<Hopper, RingCopyConfig{}>>(1, {}, nullptr);
  launch<MulticastCopy<Hopper, MulticastCopyConfig{}>>(2, {}, nullptr);
  launch<Softmax<Hopper, SoftmaxConfig{}>>(1, {}, nullptr);
  launch<MmaProbe<Hopper, MmaProbeConfig{}>>(1, {}, nullptr);
  launch<MmaProbe<Hopper, MmaProbeConfig{.half = true, .a_transposed = true}>>(1, {}, nullptr);
  launch<MmaProbe<Hopper, MmaProbeConfig{.n = 128, .a_in_registers = true, .b_transposed = true}>>(
      1, {}, nullptr);
}

}  // namespace gpu
}  // namespace jfa
