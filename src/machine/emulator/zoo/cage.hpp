// What the kernels of the zoo share: parameters, buffers, and how one is run.
#pragma once

#include "machine/emulator/buffers.hpp"
#include "machine/emulator/emulated_hopper.hpp"
#include "machine/emulator/zoo/zoo.hpp"
#include "machine/machine.hpp"

namespace jfa {
inline namespace emulated {

using M = EmulatedHopper;

// Tiles of 64 x 64 bf16 are the currency of the zoo.
inline constexpr int kTileRows = 64;
inline constexpr int kTileCols = 64;
inline constexpr int kTiles = 4;
using ZooTile = Tile<M, bf16, kTileRows, kTileCols>;
inline constexpr std::uint32_t kTileBytes = sizeof(ZooTile);

struct ZooParams {
  M::TensorMap in;    // [kTiles * 64, 64] bf16, holds values
  M::TensorMap tail;  // the same memory, cut after the first 40 rows
  M::TensorMap out;   // [kTiles * 64, 64] bf16, written once
  M::TensorMap sums;  // [64, 32] fp32, zeros
  const bf16* values;
  bf16* stored;
  float* floats;  // that of `sums`, 2048 values
  int* flags;     // 64 zeros
};

// The buffers of one run.
class Cage {
 public:
  Cage() {
    constexpr std::size_t kHalves = std::size_t{kTiles} * kTileRows * kTileCols;
    std::vector<bf16> values(kHalves);
    for (std::size_t i = 0; i < kHalves; ++i) values[i].bits = static_cast<std::uint16_t>(i % 31);
    values_ = buffers_.input("in", values);
    stored_ = buffers_.output<bf16>("out", kHalves);
    floats_ = buffers_.zeros<float>("floats", 2048);
    flags_ = buffers_.zeros<int>("flags", 64);
  }

  ZooParams params() const {
    using View = ZooTile::View;
    using SumView = Tile<M, float, 64, 32>::View;
    constexpr std::uint64_t kRows = std::uint64_t{kTiles} * kTileRows;
    return {M::make_tensor_map(matrix_map<View>(values_, kRows, kTileCols, kTileCols)),
            M::make_tensor_map(matrix_map<View>(values_, 40, kTileCols, kTileCols)),
            M::make_tensor_map(matrix_map<View>(stored_, kRows, kTileCols, kTileCols)),
            M::make_tensor_map(matrix_map<SumView>(floats_, 64, 32, 32)),
            values_,
            stored_,
            floats_,
            flags_};
  }
  emulator::Device& device() { return buffers_.device(); }

 private:
  emulator::Buffers buffers_;
  bf16* values_;
  bf16* stored_;
  float* floats_;
  int* flags_;
};

// What a kernel of the zoo is unless it says otherwise: one block of one warp.
struct Caged {
  using Params = ZooParams;
  static constexpr int kThreads = 32;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kBlocks = 1;
  static constexpr int kResident = 0;  // blocks on the machine at once; 0: all
};

template <class K>
emulator::Subject caged(std::string name) {
  return {
      std::move(name), [](emulator::RunOptions options) {
        Cage cage;
        options.resident_blocks = K::kResident;
        return emulator::Outcome{launch<K>(cage.device(), options, K::kBlocks, cage.params()), {}};
      }};
}

template <template <bool> class K>
emulator::Specimen specimen(const std::string& name, std::string origin,
                            emulator::FindingKind expected) {
  return {name, std::move(origin), expected, caged<K<true>>(name), caged<K<false>>(name + " twin")};
}

// Puts `value` everywhere in a tile, each thread of a warpgroup its own half row.
inline void write_rows(ZooTile& tile, float value, Site site = Site::here()) {
  const std::uint32_t pair = M::pack<bf16>(value, value);
  const Pack<bf16, 2> both = std::bit_cast<Pack<bf16, 2>>(pair);
  const int row = M::thread_index() % 128 / 2;
  const int first = M::thread_index() % 2 * (kTileCols / 2);
  for (int col = 0; col < kTileCols / 2; col += 2)
    tile.view().store<2>(row, first + col, both, site);
}

// One word of a tile, as a reader would use it.
inline float read_element(ZooTile& tile, int row, int col, Site site = Site::here()) {
  return M::to_float(tile.view().load(row, col, site).values[0]);
}

}  // namespace emulated
}  // namespace jfa
