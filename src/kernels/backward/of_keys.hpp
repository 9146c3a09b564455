// dK and dV of attention backward on a jagged batch, block of keys by block of keys, for Hopper.
//
//   P = exp(S - lse), S = scores(q k^T), masked
//   dv = P^T dout;  dS = P (dout v^T - delta), by the score policy's slope;  dk = dS^T q
//
// BackwardByKeys without dQ, which BackwardOfQueries has made before, and with it statistics of
// rows: nothing is added up across blocks of the grid, so that results are always the same bits.
// dS^T needs no place in shared memory.
//
// | role       | warps   | registers | does                                                  |
// | ---------- | ------- | --------- | ----------------------------------------------------- |
// | schedule   | 0       | 40        | takes items, says what is to be done                  |
// | load keys  | 1       | 40        | one thread copies K and V: loaders.hpp                |
// | load tiles | 2       | 40        | one thread copies tiles of Q, dO and their statistics |
// | fill       | 3       | 40        | zeros in rows of no sequence                          |
// | keys       | 4 to 11 | 232       | a warpgroup for each half of the keys: key_group.hpp  |
//
// Barrier graph:
//   schedule --work full--> load keys, load tiles, keys --work empty--> schedule
//   load keys --k, v full--> keys --k, v empty--> load keys
//   load tiles --tile full--> keys --tile empty--> load tiles
//
// SMEM at head_dim 128, 226 KiB: 2 blocks of K and V, 64 KiB each (dK and dV are staged there);
// 3 tiles of Q and of dO, 16 KiB each; statistics, work.
#pragma once

#include "kernels/backward/key_blocks.hpp"
#include "kernels/backward/key_group.hpp"
#include "kernels/backward/loaders.hpp"
#include "kernels/forward/gaps.hpp"

namespace jfa::inline JFA_BACKEND {

/// For tensors of up to `head_dim` columns, 64, 128 or 256, like backward_config(), but lists take
/// no registers of the role `keys` here.
constexpr BackwardConfig of_keys_config(int head_dim, bool half, bool bends) {
  BackwardConfig c = backward_config(head_dim, half, bends);
  c.queries = 64;
  c.q_slots = head_dim > 128 ? 2 : 3;
  return c;
}

template <class Machine, BackwardConfig Config, template <class> class MaskPolicy = NoMask,
          template <class> class ScorePolicy = ScaledScores>
struct BackwardOfKeys
    : KeyBlocks<Machine, Config, MaskPolicy, ScorePolicy, kHopperKeyBlocks<Config, false>> {
  using Base = KeyBlocks<Machine, Config, MaskPolicy, ScorePolicy, kHopperKeyBlocks<Config, false>>;
  using Base::C;
  using Base::kKeys;
  using Base::kQueries;
  using Base::kWorkSlots;
  using typename Base::KvTile;
  using typename Base::M;
  using typename Base::Mask;
  using typename Base::QTile;
  using typename Base::RowStatistics;
  using typename Base::T;
  using typename Base::Work;

  using Slopes = OwnSlopes<BackwardOfKeys>;
  static constexpr int kGroups = 2;
  static constexpr int kGroupKeys = 64;
  static constexpr int kOutCols =
      kHopperKeyBlocks<Config, false>.out_cols;  // of dK and dV, a group
  static constexpr int kThreads = 128 * (1 + kGroups);
  // Lists take registers of the role `schedule`.
  static constexpr int kProduceRegs = Mask::kListed ? 56 : 40;
  static constexpr int kKeyRegs = registers_beside(kProduceRegs, kGroups, 1);
  static constexpr bool kOwnTiles = true;  // a warpgroup visits those that see its half of the keys

  struct Kv {
    KvTile k;
    KvTile v;
  };
  static constexpr int kKeyWarps = 4 * kGroups;
  static constexpr int kReaders = 2 + kKeyWarps;  // warps that read work
  static constexpr int kTileBytes = 2 * (sizeof(QTile) + sizeof(RowStatistics));
  struct Smem {
    Kv kv[C.kv_slots];
    QTile q[C.q_slots];
    QTile dout[C.q_slots];
    RowStatistics lse[C.q_slots];
    RowStatistics delta[C.q_slots];
    typename Base::Visits visits[kWorkSlots];
    Ring<M, "work", Work, kWorkSlots, By<OncePerWarp<1>>, FreedBy<OncePerWarp<kReaders>>> work;
    Ring<M, "k, v", Apart<sizeof(Kv)>, C.kv_slots, By<Tma>, FreedBy<OncePerWarp<kKeyWarps>>>
        kv_ring;
    Ring<M, "tile", Apart<kTileBytes>, C.q_slots, By<Tma>, FreedBy<OncePerWarp<kKeyWarps>>>
        tile_ring;
  };
  using Ids = BarrierIds<"first half", "second half", "both">;

  struct Params : Base::Params {
    OutputRows<T> dk_rows, dv_rows;
    DeviceRows kv_rows;
  };
  static Params make_params(const BackwardArguments<T>& a) {
    return {Base::make_params(a), a.rows_by_keys(a.dk), a.rows_by_keys(a.dv), a.kv_rows};
  }

  static JFA_DEVICE void fill(const Params& p) {
    FillGaps<M, T>{p.dk_rows, M::lane(), 32}.run(p.kv_rows, p.batch);
    FillGaps<M, T>{p.dv_rows, M::lane(), 32}.run(p.kv_rows, p.batch);
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { init_each(smem.work, smem.kv_ring, smem.tile_ring); });
    warp_roles<M>(role<"produce", Warps{0, 4}, Regs{kProduceRegs}>([&] {
                    warp_roles<M>(role<"schedule", Warps{0, 1}>(
                                      [&] { Base::template schedule<BackwardOfKeys>(p, smem); }),
                                  role<"load keys", Warps{1, 1}>([&] {
                                    KeyLoader<BackwardOfKeys>{p, smem}.run();
                                  }),
                                  role<"load tiles", Warps{2, 1}>([&] {
                                    TileLoader<BackwardOfKeys>{p, smem}.run();
                                  }),
                                  role<"fill", Warps{3, 1}>([&] { fill(p); }));
                  }),
                  role<"keys", Warps{4, kKeyWarps}, Regs{kKeyRegs}>([&] {
                    KeyGroup<BackwardOfKeys> keys{p, smem, M::warp_index() / 4 - 1};
                    keys.run();
                  }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
