// dQ of attention backward on a jagged batch, tile of queries by tile of queries, for Hopper.
//
//   P = exp(S - lse), S = scores(q k^T), masked
//   dS = P (dout v^T - delta), by the score policy's slope;  dq = dS k
//   delta = rowsum(dout * out) - dlse
//
// Tiles, items, loads and lists are the forward kernel's. dQ of a tile stays in registers over all
// its keys and is written once. Row statistics are left for BackwardOfKeys, which makes dK and dV.
//
// | role      | warps   | registers | does                                                       |
// | --------- | ------- | --------- | ---------------------------------------------------------- |
// | schedule  | 0       | 40        | takes items, says tile by tile what is to be done          |
// | load rows | 1       | 40        | one thread copies tiles of Q, dO and O                     |
// | load keys | 2       | 40        | one thread copies blocks of K and V                        |
// | fill      | 3       | 40        | zeros in rows of no sequence                               |
// | queries   | 4 to 11 | 232       | a warpgroup for each half of a tile's rows: query_rows.hpp |
//
// Barrier graph:
//   schedule --work full--> load rows, load keys, queries --work empty--> schedule
//   load rows --rows, out full--> queries --rows, out empty--> load rows
//   load keys --k, v full--> queries --k, v empty--> load keys
//
// SMEM at head_dim 128, 217 KiB: Q and dO of a tile, 32 KiB each; O, 32 KiB (dQ is staged there); 5
// blocks of K or V, 24 KiB each; work.
#pragma once

#include "kernels/backward/arguments.hpp"
#include "kernels/backward/query_rows.hpp"
#include "kernels/forward/loads.hpp"
#include "kernels/items.hpp"

namespace jfa::inline JFA_BACKEND {

/// For tensors of up to `head_dim` columns, 64, 128 or 256; with lists, whose blocks are multiples
/// of 64.
constexpr ForwardConfig of_queries_config(int head_dim, bool half, bool lists) {
  ForwardConfig c{.head_dim = head_dim, .q_slots = 1, .half = half, .shares_keys = false};
  if (head_dim == 64) {
    c.keys = lists ? 64 : 128;
    c.q_slots = 2;
    c.kv_slots = lists ? 12 : 6;
  } else if (head_dim == 128) {
    c.keys = lists ? 64 : 96;
    c.kv_slots = lists ? 7 : 5;
  } else {
    c.groups = 1;
    c.keys = 32;
    c.kv_slots = 6;
  }
  return c;
}

template <class Machine, ForwardConfig Config, template <class> class MaskPolicy = NoMask,
          template <class> class ScorePolicy = ScaledScores>
struct BackwardOfQueries : ForwardTiles<Machine, Config, MaskPolicy, ScorePolicy, 64> {
  using Base = ForwardTiles<Machine, Config, MaskPolicy, ScorePolicy, 64>;
  using Loads = ForwardLoads<Base>;
  using Base::C;
  using Base::kGroups;
  using typename Base::KvTile;
  using typename Base::ListedBlock;
  using typename Base::M;
  using typename Base::Mask;
  using typename Base::QTile;
  using typename Base::T;
  using typename Base::Work;

  static constexpr int kThreads = 128 * (1 + kGroups);
  // Who goes through lists needs more registers.
  static constexpr int kProduceRegs = Mask::kListed ? 72 : 40;
  static constexpr int kQueryRegs = std::min(240, registers_beside(kProduceRegs, kGroups, 1));

  struct Rows {
    QTile q[kGroups];
    QTile dout[kGroups];
  };
  static constexpr int kReaders = 2 + 4 * kGroups;  // warps that read work
  struct Smem {
    Ring<M, "rows", Rows, C.q_slots, By<Tma>, FreedBy<OncePerWarp<4 * kGroups>>> rows;
    Ring<M, "k, v", KvTile, C.kv_slots, By<Tma>, FreedBy<OncePerWarp<4 * kGroups>>> kv;
    QTile out[kGroups];  // O, then dQ on its way out
    Ring<M, "out", Apart<sizeof(QTile) * kGroups>, 1, By<Tma>, FreedBy<OncePerWarp<kGroups>>>
        out_ring;
    Ring<M, "work", Work, 4, By<OncePerWarp<1>>, FreedBy<OncePerWarp<kReaders>>> work;
    ListedBlock listed[C.kv_slots];  // beside K's slots; without lists not used
  };
  using Ids = BarrierIds<"first's part", "second's part">;

  struct Params : Base::Params {
    typename M::TensorMap dout, forward_out;
    RowVectors lse, dlse;
    float* statistics;
    std::int64_t head_tiles;
    float slope;  // softmax_scale
  };

  static Params make_params(const BackwardArguments<T>& a) {
    ForwardArguments<T> of_dq = a;
    of_dq.out = a.dq;
    of_dq.lse = {};
    of_dq.plan = a.plan_by_queries;
    const typename Base::Params tiles = Base::make_params(of_dq);
    const auto map = [&](const Matrix<T>& x) {
      return a.template map<M, typename QTile::View>(x, a.heads_q, 1 << tiles.pack_log2);
    };
    const auto slope = static_cast<float>(a.softmax_scale);
    return {tiles, map(a.dout), map(a.out), a.lse, a.dlse, a.statistics, a.head_tiles(), slope};
  }

  static JFA_DEVICE void load_rows(const Params& p, Smem& smem) {
    auto rows = smem.rows.writer();
    auto out = smem.out_ring.writer();
    Loads::for_each_tile(smem, [&](const Work& work) {
      // A group's part of a tensor whose rows of the sequence begin at `begin`.
      const auto load = [&](Mbarrier& full, QTile& to, const auto& map, int begin, int group) {
        const RaggedRows from{begin, work.q_length};
        const int row = from.at(Loads::first_row(p, work, group));
        tma_load(full, to, map, {0, work.q_head, row, from.end(), kRaggedRows});
      };
      smem.rows.fill(rows, [&](Rows& slot, Mbarrier& full) {
        for (int group = 0; group < kGroups; ++group) {
          load(full, slot.q[group], p.q, work.q_begin, group);
          load(full, slot.dout[group], p.dout, work.out_begin, group);
        }
      });
      smem.out_ring.fill(out, [&](auto&, Mbarrier& full) {
        for (int group = 0; group < kGroups; ++group) {
          load(full, smem.out[group], p.forward_out, work.out_begin, group);
        }
      });
    });
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { init_each(smem.rows, smem.out_ring, smem.kv, smem.work); });
    warp_roles<M>(role<"produce", Warps{0, 4}, Regs{kProduceRegs}>([&] {
                    warp_roles<M>(
                        role<"schedule", Warps{0, 1}>([&] { Base::schedule(p, smem); }),
                        role<"load rows", Warps{1, 1}>([&] { load_rows(p, smem); }),
                        role<"load keys", Warps{2, 1}>([&] { Loads::load_keys(p, smem); }),
                        role<"fill", Warps{3, 1}>([&] { Base::fill_gaps(p); }));
                  }),
                  role<"queries", Warps{4, 4 * kGroups}, Regs{kQueryRegs}>([&] {
                    QueryRows<BackwardOfQueries> rows{p, smem, M::warp_index() / 4 - 1};
                    rows.run();
                  }));
  }
};

}  // namespace jfa::inline JFA_BACKEND
