// Attention backward on a jagged batch, block of keys by block of keys, for Blackwell. Compiled and
// emulated, not yet run on hardware.
//
//   P = exp(S - lse), S = scores(q k^T), masked
//   dv = P^T dout;  dS = P (dout v^T - delta), by the score policy's slope
//   dk = dS^T q;  dq = dS k
//
// An item is a block of 128 keys of one key/value head, which visits tiles of 128 queries of every
// query head that shares it. The shape is that of FlashAttention-4 as its paper describes it:
// scores are transposed, a row is a key and a thread's; S^T, dP^T and all sums lie in tensor
// memory, and one role does nothing but bring dQ away. Blocks, tiles, the roles that schedule and
// load, and the passes over rows are those of Hopper's kernel.
//
// | role       | warps   | registers | does                                                      |
// | ---------- | ------- | --------- | --------------------------------------------------------- |
// | drain      | 0 to 3  | 152       | brings dQ away from tensor memory: drain_dq.hpp           |
// | weigh      | 4 to 11 | 152       | a warpgroup for 64 queries: P^T, dS^T; then dV, dK out:   |
// |            |         |           | weigh_keys.hpp                                            |
// | multiply   | 12      | 56        | issues the MMAs: gradient_products.hpp                    |
// | load keys  | 13      | 56        | one thread copies K and V: loaders.hpp                    |
// | load tiles | 14      | 56        | one thread copies tiles of Q, dO and their statistics     |
// | schedule   | 15      | 56        | takes items, says what is to be done                      |
//
// Barrier graph:
//   schedule --work full--> all others --work empty--> schedule
//   load keys --k, v full--> multiply, weigh --k, v empty--> load keys
//   load tiles --q full, with statistics--> multiply, weigh;  load tiles --dout full--> multiply
//   multiply --q, dout empty, once MMAs are done--> load tiles
//   multiply --scores--> weigh --weights--> multiply --gradients--> weigh --slopes--> multiply
//   multiply --dq--> drain --drained--> multiply
//   multiply --sums, after a block's last tile--> weigh
//
// With lists, a block of keys comes in pieces of work, which name its visits: listed_visits.hpp.
// Drain and weigh have 144 registers, the others 80.
//
// SMEM at head_dim 128, 226 KiB: K and V, 32 KiB each (dK and dV are staged there); 2 tiles of Q
// and 1 of dO, 32 KiB each; dS 32 KiB; 2 parts of dQ, 16 KiB each; statistics, work.
// Tensor memory: S^T, 128 columns, P^T over it; dP^T, 128 columns, dS^T and then dQ over it; dV and
// dK, head_dim columns each.
#pragma once

#include "kernels/backward/drain_dq.hpp"
#include "kernels/backward/gradient_products.hpp"
#include "kernels/backward/loaders.hpp"
#include "kernels/backward/weigh_keys.hpp"

namespace jfa::inline JFA_BACKEND {

/// For tensors of up to `head_dim` columns, 64 or 128.
constexpr BackwardConfig blackwell_backward_config(int head_dim, bool half) {
  return {.head_dim = head_dim,
          .queries = 128,
          .kv_slots = head_dim == 64 ? 2 : 1,
          .dq_slots = 2,
          .half = half};
}

template <BackwardConfig C>
inline constexpr KeyBlocksShape kBlackwellShape = {.keys = 128,
                                                   .out_rows = 128,
                                                   .out_cols = C.head_dim,
                                                   .dq_rows = 128,
                                                   .pairs = false,
                                                   .turns = true};

template <class Machine, BackwardConfig Config, template <class> class MaskPolicy = NoMask,
          template <class> class ScorePolicy = ScaledScores>
struct BackwardBlackwell
    : KeyBlocks<Machine, Config, MaskPolicy, ScorePolicy, kBlackwellShape<Config>> {
  using Base = KeyBlocks<Machine, Config, MaskPolicy, ScorePolicy, kBlackwellShape<Config>>;
  using Base::C;
  using Base::kQueries;
  using typename Base::KvTile;
  using typename Base::M;
  using typename Base::Mask;
  using typename Base::QTile;
  using typename Base::T;
  using typename Base::Work;
  using DqLayout = DqOfRows;

  static constexpr int kThreads = 512;
  static constexpr int kDoutSlots = C.head_dim == 64 ? 2 : 1;
  static constexpr int kGroupQueries = 64;
  static constexpr int kWeighWarps = 8;
  static constexpr int kReaders = 4 + kWeighWarps + 3;  // warps that read work
  /// Who goes through lists needs more registers, and their visits room.
  static constexpr int kDriveRegs = Mask::kListed ? 80 : 56;
  static constexpr int kRowRegs = Mask::kListed ? 144 : 152;
  static constexpr int kWorkSlots = Mask::kListed ? 2 : 3;

  struct Kv {
    KvTile k;
    KvTile v;
  };
  using GroupStatistics = Tile<M, float, 1, kGroupQueries, Swizzle::None>;
  static_assert(kGroupQueries == kStatisticsRows, "a tile of statistics for each group");
  struct Statistics {
    GroupStatistics lse[kQueries / kGroupQueries];
    GroupStatistics delta[kQueries / kGroupQueries];
  };
  using DsTile = Tile<M, T, Base::kKeys, kQueries>;
  /// As many columns of dQ as fill it, to be written or to be added.
  union DqPart {
    typename Base::DqPart rounded;
    Tile<M, float, kQueries, 32> sum;
  };
  using Tmem = TmemMap<M, Columns<"scores", float, kQueries>, Columns<"gradients", float, kQueries>,
                       Columns<"dv", float, C.head_dim>, Columns<"dk", float, C.head_dim>>;
  struct Smem {
    Kv kv[C.kv_slots];
    QTile q[C.q_slots];
    QTile dout[kDoutSlots];
    DsTile ds;  // dS^T
    DqPart dq[C.dq_slots];
    Statistics statistics[C.q_slots];
    typename Base::Visits visits[kWorkSlots];
    Ring<M, "work", Work, kWorkSlots, By<OncePerWarp<1>>, FreedBy<OncePerWarp<kReaders>>> work;
    Ring<M, "k, v", Apart<sizeof(Kv)>, C.kv_slots, By<Tma>, FreedBy<OncePerWarp<kWeighWarps + 1>>>
        kv_ring;
    Ring<M, "q", Apart<sizeof(QTile) + sizeof(Statistics)>, C.q_slots, By<Tma>, FreedBy<MmaDone>>
        q_ring;  // freed after slopes, for which the statistics have been read
    Ring<M, "dout", Apart<sizeof(QTile)>, kDoutSlots, By<Tma>, FreedBy<MmaDone>> dout_ring;
    Gate<M, "scores", By<MmaDone>> scores;
    Gate<M, "weights", By<OncePerWarp<kWeighWarps>>> weights;
    Gate<M, "gradients", By<MmaDone>> gradients;
    Gate<M, "slopes", By<OncePerWarp<kWeighWarps>>> slopes;
    Gate<M, "dq", By<MmaDone>> dq_made;
    Gate<M, "drained", By<OncePerWarp<4>>> drained;
    Gate<M, "sums", By<MmaDone>> sums;
    std::uint32_t tmem;
  };
  using Ids = BarrierIds<"dv", "dk", "drain">;

  struct Params : Base::Params {
    typename M::TensorMap sums;  // dq_sum
  };
  static Params make_params(const BackwardArguments<T>& a) {
    using View = typename decltype(DqPart::sum)::View;
    return {Base::make_params(a),
            M::make_tensor_map(ragged_map<View>(a.dq_sum, a.head_dim, a.heads_q,
                                                std::int64_t{a.heads_q} * a.head_dim, a.head_dim))};
  }

  static JFA_DEVICE void load_tiles(const Params& p, Smem& smem) {
    const QueryTiles<BackwardBlackwell> tiles{p, smem};
    auto q = smem.q_ring.writer();
    auto dout = smem.dout_ring.writer();
    tiles.for_each([&](const auto& work, const auto& place) {
      smem.q_ring.fill(q, [&](auto&, Mbarrier& full) {
        Statistics& of = smem.statistics[q.slot];
        tiles.load_q(full, smem.q[q.slot], work, place);
        tiles.load_row_statistics(
            full, [&](int row) { return of.lse[row / kGroupQueries].elements; },
            [&](int row) { return of.delta[row / kGroupQueries].elements; }, work, place);
      });
      smem.dout_ring.fill(dout, [&](auto&, Mbarrier& full) {
        tiles.load_dout(full, smem.dout[dout.slot], work, place);
      });
    });
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    with_tmem<Tmem>(
        smem.tmem,
        [&] {
          init_each(smem.work, smem.kv_ring, smem.q_ring, smem.dout_ring, smem.scores, smem.weights,
                    smem.gradients, smem.slopes, smem.dq_made, smem.drained, smem.sums);
        },
        [&](const Tmem& tmem) {
          warp_roles<M>(role<"drain", Warps{0, 4}, Regs{kRowRegs}>([&] {
                          DrainDq<BackwardBlackwell> drain{p, smem};
                          drain.run(tmem);
                        }),
                        role<"weigh", Warps{4, 8}, Regs{kRowRegs}>([&] {
                          WeighKeys<BackwardBlackwell> weigh{p, smem, M::warp_index() / 4 - 1};
                          weigh.run(tmem);
                        }),
                        role<"drive", Warps{12, 4}, Regs{kDriveRegs}>([&] {
                          warp_roles<M>(
                              role<"multiply", Warps{12, 1}>([&] {
                                GradientProducts<BackwardBlackwell> products{p, smem};
                                products.run(tmem);
                              }),
                              role<"load keys", Warps{13, 1}>([&] {
                                KeyLoader<BackwardBlackwell>{p, smem}.run();
                              }),
                              role<"load tiles", Warps{14, 1}>([&] { load_tiles(p, smem); }),
                              role<"schedule", Warps{15, 1}>(
                                  [&] { Base::template schedule<BackwardBlackwell>(p, smem); }));
                        }));
        });
  }
};

}  // namespace jfa::inline JFA_BACKEND
