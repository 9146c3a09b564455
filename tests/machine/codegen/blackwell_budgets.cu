// Every sample kernel of Blackwell as it is launched, for the gate `budgets` of gates.py --arch
// 100a.
//
// budget: 8TmemGemmI registers 216
// budget: 8PairGemmI registers 144
#include "cuda/launch.hpp"
#include "kernels/samples/pair_gemm.hpp"
#include "kernels/samples/tmem_gemm.hpp"
#include "machine/blackwell/blackwell.hpp"

namespace jfa {
inline namespace gpu {

void launch_all() {
  launch<TmemGemm<Blackwell, GemmConfig{}>>(1, {}, nullptr);
  launch<TmemGemm<Blackwell, GemmConfig{.tile_n = 128, .stages = 4}>>(1, {}, nullptr);
  launch<PairGemm<Blackwell, GemmConfig{}>>(2, {}, nullptr);
}

}  // namespace gpu
}  // namespace jfa
