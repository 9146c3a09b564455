// Attention backward on a jagged batch, block of keys by block of keys, for Hopper.
//
//   P = exp(S - lse), S = scores(q k^T), masked
//   dv = P^T dout;  dS = P (dout v^T - delta), by the score policy's slope
//   dk = dS^T q;  dq = dS k
//
// An item is a block of 128 keys of one key/value head, or of 64 where the warpgroups of keys split
// the columns of dK and dV instead: then their registers hold wider heads, or more for each score,
// but S^T and dP^T are made twice. It visits the tiles of 64 or 128 queries of every query head
// that shares it; dK and dV stay in registers. dQ of a sequence that is one block of keys is
// written as it is. Two blocks of keys are worked on at once by two blocks of the grid, of which
// one hands dQ over to the other: partners.hpp. dQ of a longer sequence adds up in fp32 in dq_sum
// and is converted by FinishBackward. With broadcast_q items are shared out beforehand, dQ is kept
// over a block's whole share, and FinishBackward adds the shares up. PrepareBackward, before, makes
// row statistics and zeroes what needs it.
//
// | role       | warps   | registers | does                                                     |
// | ---------- | ------- | --------- | -------------------------------------------------------- |
// | schedule   | 0       | 32        | takes items, says what is to be done                     |
// | load keys  | 1       | 32        | one thread copies K and V: loaders.hpp                   |
// | load tiles | 2       | 32        | one thread copies tiles of Q, dO and their statistics    |
// | queries    | 4 to 7  | 64        | dQ = dS K, added up, handed over or written: query_group |
// | keys       | 8 to 15 | 208       | a warpgroup for each half of the keys: key_group.hpp     |
//
// Barrier graph:
//   schedule --work full--> load keys, load tiles, queries, keys --work empty--> schedule
//   load keys --k, v full--> keys, queries --k, v empty--> load keys
//   load tiles --tile full--> keys --tile empty--> load tiles
//   keys --ds full--> queries, keys --ds empty--> keys
//
// SMEM at head_dim 128, 226 KiB: 2 blocks of K and V, 64 KiB each (dK and dV are staged there);
// 2 tiles of Q and of dO, 16 KiB each; dS 16 KiB; half a tile of dQ 16 KiB; statistics, work.
#pragma once

#include "kernels/backward/key_blocks.hpp"
#include "kernels/backward/key_group.hpp"
#include "kernels/backward/loaders.hpp"
#include "kernels/backward/query_group.hpp"

namespace jfa::inline JFA_BACKEND {

template <class Machine, BackwardConfig Config, template <class> class MaskPolicy = NoMask,
          template <class> class ScorePolicy = ScaledScores>
struct BackwardByKeys
    : KeyBlocks<Machine, Config, MaskPolicy, ScorePolicy, kHopperKeyBlocks<Config, true>> {
  using Base = KeyBlocks<Machine, Config, MaskPolicy, ScorePolicy, kHopperKeyBlocks<Config, true>>;
  using Base::C;
  using Base::kKeys;
  using Base::kQueries;
  using Base::kWorkSlots;
  using typename Base::KvTile;
  using typename Base::M;
  using typename Base::Mask;
  using typename Base::Params;
  using typename Base::QTile;
  using typename Base::RowStatistics;
  using typename Base::T;
  using typename Base::Work;
  using DqLayout = DqOfFragments;

  using Slopes = SharedSlopes<BackwardByKeys>;
  static constexpr int kGroups = 2;
  static constexpr int kGroupKeys = 64;
  static constexpr int kOutCols = kHopperKeyBlocks<Config, true>.out_cols;  // of dK and dV, a group
  static constexpr int kThreads = 128 * (2 + kGroups);
  /// Lists take registers of the role `schedule`, and of the role `keys` what a split leaves.
  static constexpr int kProduceRegs = Mask::kListed ? 96 : 32;
  static constexpr int kKeyRegs = Mask::kListed ? 176 : 208;
  static constexpr bool kOwnTiles = false;  // dQ is made of both halves of the keys
  static_assert(kQueries == 64 || !Mask::kListed, "a half of the keys is named for 64 queries");

  using DsTile = Tile<M, T, kGroups * kGroupKeys, kQueries>;  // split: twice the same
  /// 64 columns of dQ, to be written or to be added.
  union DqPart {
    typename Base::DqPart rounded;
    float sums[4][16 * 64];  // a warp's
  };
  struct Kv {
    KvTile k;
    KvTile v;
  };

  static constexpr int kKeyWarps = 4 * kGroups;
  static constexpr int kReaders = 2 + 4 + kKeyWarps;  // warps that read work
  static constexpr int kTileBytes = 2 * (sizeof(QTile) + sizeof(RowStatistics));
  struct Smem {
    Kv kv[C.kv_slots];
    QTile q[C.q_slots];
    QTile dout[C.q_slots];
    DsTile ds[C.ds_slots];
    DqPart dq[C.dq_slots];
    RowStatistics lse[C.q_slots];
    RowStatistics delta[C.q_slots];
    typename Base::Visits visits[kWorkSlots];
    Ring<M, "work", Work, kWorkSlots, By<OncePerWarp<1>>, FreedBy<OncePerWarp<kReaders>>> work;
    Ring<M, "k, v", Apart<sizeof(Kv)>, C.kv_slots, By<Tma>, FreedBy<OncePerWarp<4 + kKeyWarps>>>
        kv_ring;
    Ring<M, "tile", Apart<kTileBytes>, C.q_slots, By<Tma>, FreedBy<OncePerWarp<kKeyWarps>>>
        tile_ring;
    Ring<M, "ds", Apart<0>, C.ds_slots, By<OncePerWarp<kKeyWarps>>,
         FreedBy<OncePerWarp<4 + kKeyWarps>>>
        ds_ring;
  };
  using Ids = BarrierIds<"first half", "second half", "queries">;

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] {
      smem.work.init();
      smem.kv_ring.init();
      smem.tile_ring.init();
      smem.ds_ring.init();
    });
    warp_roles<M>(role<"produce", Warps{0, 4}, Regs{kProduceRegs}>([&] {
                    warp_roles<M>(role<"schedule", Warps{0, 1}>(
                                      [&] { Base::template schedule<BackwardByKeys>(p, smem); }),
                                  role<"load keys", Warps{1, 1}>([&] {
                                    KeyLoader<BackwardByKeys>{p, smem}.run();
                                  }),
                                  role<"load tiles", Warps{2, 1}>([&] {
                                    TileLoader<BackwardByKeys>{p, smem}.run();
                                  }));
                  }),
                  role<"queries", Warps{4, 4}, Regs{64}>([&] {
                    QueryGroup<BackwardByKeys>{p, smem}.run();
                  }),
                  role<"keys", Warps{8, 8}, Regs{kKeyRegs}>([&] {
                    KeyGroup<BackwardByKeys> keys{p, smem, M::warp_index() / 4 - 2};
                    keys.run();
                  }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
