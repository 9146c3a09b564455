// Attention forward on a jagged batch, for Hopper.
//
//   S = scores(q k^T), masked;  P = softmax(S);  out = P v;  lse = log(sum(exp(S)))
//
// for every sequence and head. Persistent blocks take items (runs of query tiles) from a plan.
//
// | role         | warps   | registers | does                                                   |
// | ------------ | ------- | --------- | ------------------------------------------------------ |
// | schedule     | 0       | 40        | takes items, says tile by tile what is to be done      |
// | load queries | 1       | 40        | one thread copies Q tiles                              |
// | load keys    | 2       | 40        | one thread copies K and V blocks                       |
// | store        | 3       | 40        | fills rows of no sequence; one thread copies O out     |
// | attend       | 4 to 11 | 232       | a warpgroup for each half of a tile's rows: attend.hpp |
//
// Barrier graph:
//   schedule --work full--> load queries, load keys, store, attend --work empty--> schedule
//   load queries --q full--> attend --o ready--> store --q empty--> load queries
//   load keys --k, v full--> attend --k, v empty--> load keys         (O is staged in its Q tile)
//
// Schedule of one warpgroup; a row is what may run at once, block j of a flat stream of key blocks
// that goes on from tile to tile:
//
// | load           | tensor cores                    | attend                               |
// | -------------- | ------------------------------- | ------------------------------------ |
// | K j+2, V j+1   | S = Q K(j+1), then O += P V(j)  | O scaled for j, if its shift moved   |
// |                | O += P V(j)                     | softmax of j+1 once S is there       |
// | last of a tile | O += P V(j), S = next Q K(0)    | ... then O / sum to SMEM, lse        |
//
// SMEM at head_dim 128, 227 KiB: 3 Q tiles, 2 blocks of K and 2 of V, 32 KiB each; work, barriers.
#pragma once

#include "kernels/forward/attend.hpp"
#include "kernels/forward/loads.hpp"

namespace jfa::inline JFA_BACKEND {

template <class Machine, ForwardConfig Config, template <class> class MaskPolicy = NoMask,
          template <class> class ScorePolicy = ScaledScores>
struct Forward : ForwardTiles<Machine, Config, MaskPolicy, ScorePolicy, 64> {
  using Base = ForwardTiles<Machine, Config, MaskPolicy, ScorePolicy, 64>;
  using Loads = ForwardLoads<Base>;
  using Base::C;
  using Base::has_rows;
  using Base::kGroups;
  using typename Base::KvTile;
  using typename Base::ListedBlock;
  using typename Base::M;
  using typename Base::Mask;
  using typename Base::Params;
  using typename Base::QSlot;
  using typename Base::Work;

  static constexpr int kThreads = 128 * (1 + kGroups);
  static constexpr int kBlocksPerProcessor = C.blocks;
  // Who goes through lists needs more registers, and blocks of lists less.
  static constexpr int kProduceRegs =
      (kGroups == 3 ? 32 : 40) + Mask::kListed * (kGroups == 3 ? 24 : 32);
  static constexpr int kAttendRegs = registers_beside(kProduceRegs, kGroups, C.blocks);

  static constexpr int kReaders = 3 + 4 * kGroups;  // warps that read work
  using OReady = Gate<M, "o ready", By<OncePerWarp<4>>>;
  struct Smem {
    Ring<M, "q", QSlot, C.q_slots, By<Tma>, FreedBy<OncePerWarp<1>>> q;
    Ring<M, "k, v", KvTile, C.kv_slots, By<Tma>, FreedBy<OncePerWarp<4 * kGroups>>> kv;
    Ring<M, "work", Work, 4, By<OncePerWarp<1>>, FreedBy<OncePerWarp<kReaders>>> work;
    OReady o_ready[C.q_slots][kGroups];
    ListedBlock listed[C.kv_slots];  // beside K's slots; without lists not used
  };
  using Ids = BarrierIds<"first's part", "second's part", "third's part", "first's turn",
                         "second's turn", "third's turn">;

  /// Q goes ahead of K and V, whose slots are free later.
  static JFA_DEVICE void load_queries(const Params& p, Smem& smem) {
    auto q = smem.q.writer();
    Loads::for_each_tile(smem, [&](const Work& work) { Loads::load_q(p, smem, q, work); });
  }

  static JFA_DEVICE void store(const Params& p, Smem& smem) {
    Base::fill_gaps(p);
    auto q = smem.q.reader();
    const bool lead = M::elect();
    Base::for_each_work(smem, [&](const Work& work) {
      for (int group = 0; group < kGroups; ++group) {
        typename OReady::Key ready{q.phase};  // opened once for each use of the slot
        smem.o_ready[q.slot][group].pass(ready);
        if (lead && has_rows(p, work, group)) {
          Base::store_part(p, work, group, smem.q.slots[q.slot].group[group]);
        }
      }
      if (lead) wait_read<M>();
      smem.q.release(q);
    });
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { init_each(smem.q, smem.kv, smem.work, smem.o_ready); });
    warp_roles<M, C.blocks>(
        role<"produce", Warps{0, 4}, Regs{kProduceRegs}>([&] {
          warp_roles<M>(role<"schedule", Warps{0, 1}>([&] { Base::schedule(p, smem); }),
                        role<"load queries", Warps{1, 1}>([&] { load_queries(p, smem); }),
                        role<"load keys", Warps{2, 1}>([&] { Loads::load_keys(p, smem); }),
                        role<"store", Warps{3, 1}>([&] { store(p, smem); }));
        }),
        role<"attend", Warps{4, 4 * kGroups}, Regs{kAttendRegs}>([&] {
          Attend<Forward> attend{p, smem, M::warp_index() / 4 - 1};
          attend.run();
        }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
