// Attention forward on a jagged batch, for Blackwell. Compiled and emulated, not yet run on
// hardware.
//
//   S = scores(q k^T), masked;  P = softmax(S);  out = P v;  lse = log(sum(exp(S)))
//
// for every sequence and head, by tiles of 256 queries in two groups of 128. The shape is that of
// FlashAttention-4 as its paper describes it: S, P and O in tensor memory, two warpgroups of
// softmax with a row a thread, and another that scales O when a row's maximum has moved enough.
//
// | role     | warps    | registers | does                                                      |
// | -------- | -------- | --------- | --------------------------------------------------------- |
// | softmax  | 0 to 7   | 192       | a warpgroup a group: S to P, lse: weigh_rows.hpp           |
// | correct  | 8 to 11  | 80        | scales both groups' O, then O / sum to SMEM: correct.hpp   |
// | multiply | 12       | 48        | issues the MMAs: multiply.hpp                             |
// | load     | 13       | 48        | one thread copies Q tiles, K and V blocks: loads.hpp       |
// | schedule | 14       | 48        | takes items, says tile by tile what is to be done          |
// | store    | 15       | 48        | fills rows of no sequence; one thread copies O out         |
//
// Barrier graph, of one group:
//   schedule --work full--> all others --work empty--> schedule
//   load --q, kv full--> multiply --q, kv empty, once MMAs are done--> load
//   multiply --scores--> softmax --weights--> multiply --sums, after a tile's last block--> correct
//   softmax --factors full--> correct --factors empty--> softmax
//   correct --weights--> multiply;  correct --o full--> store --o empty--> correct
//
// With lists, blocks of keys have 64 rows, softmax 160 registers and the last four roles 112, and
//   load --listed full--> multiply, softmax, correct --listed empty--> load
// says block by block who visits it.
//
// Schedule; a row is what may run at once, block j of a flat stream that goes on from tile to tile:
//
// | multiply                      | softmax 0          | softmax 1        | correct           |
// | ----------------------------- | ------------------ | ---------------- | ----------------- |
// | S1 = Q1 K(j)                  | softmax of S0(j)   | ...              | O0 scaled for j   |
// | O0 += P0 V(j), S0 = Q0 K(j+1) | ...                | softmax of S1(j) | O1 scaled for j   |
// | O1 += P1 V(j), S1 = Q1 K(j+1) | softmax of S0(j+1) | ...              | O0 scaled for j+1 |
//
// SMEM at head_dim 128: Q 64 KiB, 3 blocks of K or V and a group's O of 32 KiB each; work, factors,
// barriers. (A fourth block leaves too little beside the 1 KiB to which each ring is aligned.)
// Tensor memory: S of both groups, 128 columns each, P over S; O of both, head_dim columns each.
#pragma once

#include "kernels/forward/correct.hpp"
#include "kernels/forward/loads.hpp"
#include "kernels/forward/multiply.hpp"
#include "kernels/forward/weigh_rows.hpp"

namespace jfa::inline JFA_BACKEND {

template <class Machine, ForwardConfig Config, template <class> class MaskPolicy = NoMask,
          template <class> class ScorePolicy = ScaledScores>
struct ForwardBlackwell : ForwardTiles<Machine, Config, MaskPolicy, ScorePolicy, 128> {
  using Base = ForwardTiles<Machine, Config, MaskPolicy, ScorePolicy, 128>;
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
  using typename Base::QTile;
  using typename Base::Work;
  static_assert(kGroups == 2 && !C.shares_keys, "two groups; tiles do not share keys");

  static constexpr int kThreads = 512;
  static constexpr int kReaders = 8 + 4 + 3;  // warps that read work
  /// Who goes through lists needs more registers, and blocks of lists less.
  static constexpr int kDriveRegs = Mask::kListed ? 112 : 48;
  static constexpr int kSoftmaxRegs = Mask::kListed ? 160 : 192;

  /// A value for each row of a group: what O is scaled by.
  struct Factors {
    float of_row[128];
  };
  using Tmem = TmemMap<M, Columns<"scores", float, C.keys, kGroups>,
                       Columns<"sums", float, C.head_dim, kGroups>>;
  struct Smem {
    Ring<M, "q", QSlot, C.q_slots, By<Tma>, FreedBy<MmaDone>> q;
    Ring<M, "k, v", KvTile, C.kv_slots, By<Tma>, FreedBy<MmaDone>> kv;
    Ring<M, "o", QTile, C.head_dim == 64 ? 2 : 1, By<OncePerWarp<4>>, FreedBy<OncePerWarp<1>>> o;
    Ring<M, "work", Work, 4, By<OncePerWarp<1>>, FreedBy<OncePerWarp<kReaders>>> work;
    Ring<M, "factors", Factors, 1, By<OncePerWarp<4>>, FreedBy<OncePerWarp<4>>> factors[kGroups];
    Ring<M, "listed", ListedBlock, 8, By<EachThread<1>>, FreedBy<OncePerWarp<8 + 4 + 1>>> listed;
    Gate<M, "scores", By<MmaDone>> scores[kGroups];
    Gate<M, "weights", By<OncePerWarp<8>>> weights[kGroups];  // P is stored, O is scaled
    Gate<M, "sums", By<MmaDone>> sums[kGroups];
    std::uint32_t tmem;
  };

  /// Copies O out, group by group.
  static JFA_DEVICE void store(const Params& p, Smem& smem) {
    Base::fill_gaps(p);
    auto o = smem.o.reader();
    const bool lead = M::elect();
    Base::for_each_work(smem, [&](const Work& work) {
      for (int group = 0; group < kGroups; ++group) {
        if (!has_rows(p, work, group)) continue;
        QTile& tile = smem.o.wait(o);
        if (lead) {
          Base::store_part(p, work, group, tile);
          wait_read<M>();
        }
        smem.o.release(o);
      }
    });
  }

  static JFA_DEVICE void load(const Params& p, Smem& smem) {
    auto q = smem.q.writer();
    auto kv = smem.kv.writer();
    auto listed = smem.listed.writer();
    Loads::for_each_tile(smem, [&](const Work& work) {
      int seen = 0;  // groups that have visited a block of the tile
      Loads::load_q(p, smem, q, work);
      Loads::load_kv(p, smem, kv, work, [&](const ListedBlock& block) {
        const ListedBlock told{block.place, flags_of(p, work, block.flags, seen)};
        smem.listed.fill(listed, [&](ListedBlock& to) { M::store_shared(&to, told); });
      });
    });
  }

  /// The flags of a block of lists, with those of each group's first. Of a group with rows for
  /// which lists name no block the tile's last is that, hidden whole: it has outputs to write.
  static JFA_DEVICE int flags_of(const Params& p, const Work& work, int flags, int& seen) {
    JFA_UNROLL
    for (int group = 0; group < kGroups; ++group) {
      constexpr int kAllParts = (1 << Base::kGroupParts) - 1;
      const int visit = Base::kVisit << group;
      if ((seen & visit) != 0) continue;
      if ((flags & (visit | Base::kLast)) == Base::kLast && has_rows(p, work, group)) {
        flags |= visit | (kAllParts << group * Base::kGroupParts) * Base::kHidden;
      }
      if ((flags & visit) != 0) flags |= Base::kFirst << group;
    }
    seen |= flags;
    return flags;
  }

  /// fn(flags) for each block of a tile, from the last down; `at` is a cursor of `listed`.
  template <class Cursor>
  static JFA_DEVICE void for_each_block(Smem& smem, Cursor& at, const Work& work, auto fn) {
    if constexpr (Mask::kListed) {
      for_each_listed(smem, at, [&](const ListedBlock& block) { fn(block.flags); });
    } else {
      for (int place = work.blocks - 1; place >= 0; --place) {
        int flags = place == 0 ? Base::kLast : 0;
        JFA_UNROLL
        for (int group = 0; group < kGroups; ++group) {
          const Visits& own = work.visits[group];
          if (place >= own.begin && place < own.end) flags |= Base::kVisit << group;
          if (place == own.end - 1) flags |= Base::kFirst << group;
        }
        fn(flags);
      }
    }
  }
  template <class Cursor>
  static JFA_DEVICE void for_each_listed(Smem& smem, Cursor& at, auto fn) {
    for (bool last = false; !last;) {
      const ListedBlock block = M::load_shared(&smem.listed.wait(at));
      smem.listed.release(at);
      last = (M::uniform(block.flags) & Base::kLast) != 0;
      fn(block);
    }
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    with_tmem<Tmem>(
        smem.tmem,
        [&] {
          init_each(smem.q, smem.kv, smem.o, smem.work, smem.factors, smem.listed, smem.scores,
                    smem.weights, smem.sums);
        },
        [&](const Tmem& tmem) {
          warp_roles<M>(role<"softmax", Warps{0, 8}, Regs{kSoftmaxRegs}>([&] {
                          WeighRows<ForwardBlackwell> weigh{p, smem, M::warp_index() / 4};
                          weigh.run(tmem);
                        }),
                        role<"correct", Warps{8, 4}, Regs{80}>([&] {
                          Correct<ForwardBlackwell> correct{smem};
                          correct.run(tmem);
                        }),
                        role<"drive", Warps{12, 4}, Regs{kDriveRegs}>([&] {
                          warp_roles<M>(
                              role<"multiply", Warps{12, 1}>([&] {
                                Multiply<ForwardBlackwell> multiply{smem};
                                multiply.run(tmem);
                              }),
                              role<"load", Warps{13, 1}>([&] { load(p, smem); }),
                              role<"schedule", Warps{14, 1}>([&] { Base::schedule(p, smem); }),
                              role<"store", Warps{15, 1}>([&] { store(p, smem); }));
                        }));
        });
  }
};

}  // namespace jfa::inline JFA_BACKEND
