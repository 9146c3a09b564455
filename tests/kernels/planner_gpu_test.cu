// The planner on a GPU against a stable sort.
#include "kernels/planner_checks.hpp"
#include "machine/cuda_device.hpp"

namespace jfa {
inline namespace gpu {
namespace {

constexpr ItemShape kShape = {
    .tile_rows = 192, .block_keys = 80, .resident_keys = 240, .run_tiles = 8};
constexpr KeyShape kKeyShape = {.block_keys = 128, .tile_rows = 64, .group = 2, .pairs = true};

using PlannerOnGpu = OnGpu;

TEST_F(PlannerOnGpu, AnyNumberOfSequences) {
  for (const int batch : {0, 1, 33, 1152, kPlannedTile - 1, kPlannedTile, 10'000, 100'000}) {
    CudaDevice device;
    const auto seed = static_cast<std::uint64_t>(batch);
    check_plan<1024>(device, random_batch<std::int32_t>(batch, 2000, seed), kShape);
    check_plan<1024>(device, random_batch<std::int64_t>(batch, 2000, seed), kKeyShape);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace gpu
}  // namespace jfa
