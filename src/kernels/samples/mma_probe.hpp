// D = A B^T, one instruction shape: shows each layout in which wgmma reads its operands. Each block
// of a cluster makes D, the last one's is written.
//
//   A [64, k] (or [k, 64]), B [n, k] (or [k, n]), bf16 or fp16; D [64, n] fp32, written by threads.
//
//   thread 0 --operands--> all                                   (the barrier graph)
//
// SMEM: A and B tiles, one gate.
#pragma once

#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

struct MmaProbeConfig {
  int n = 64;
  int k = 64;
  Swizzle swizzle = Swizzle::B128;
  bool half = false;            // fp16 instead of bf16
  bool a_in_registers = false;  // A by ldmatrix; then not a_transposed
  bool a_transposed = false;    // A is stored [k, 64]
  bool b_transposed = false;    // B is stored [k, n]
  bool fresh = false;           // the first step overwrites the accumulator
  int blocks = 1;               // of the cluster
};

template <class M, MmaProbeConfig C>
struct MmaProbe {
  static constexpr int kThreads = 128;
  static constexpr int kClusterSize = C.blocks;
  static constexpr int kBlocksPerProcessor = 1;

  using Element = std::conditional_t<C.half, fp16, bf16>;
  using ATile = std::conditional_t<C.a_transposed, Tile<M, Element, C.k, 64, C.swizzle>,
                                   Tile<M, Element, 64, C.k, C.swizzle>>;
  using BTile = std::conditional_t<C.b_transposed, Tile<M, Element, C.k, C.n, C.swizzle>,
                                   Tile<M, Element, C.n, C.k, C.swizzle>>;

  struct Params {
    typename M::TensorMap a;
    typename M::TensorMap b;
    float* d;
  };
  struct Operands {
    ATile a;
    BTile b;
  };
  struct Smem {
    Operands operands;
    Gate<M, "operands", By<Tma>> loaded;
  };

  static Params make_params(Element* a, Element* b, float* d) {
    using AView = typename ATile::View;
    using BView = typename BTile::View;
    return {M::make_tensor_map(matrix_map<AView>(a, AView::kRows, AView::kCols, AView::kCols)),
            M::make_tensor_map(matrix_map<BView>(b, BView::kRows, BView::kCols, BView::kCols)), d};
  }

  template <class A>
  static JFA_DEVICE void multiply(Fragment<M, C.n>& acc, A&& a, BTile& b) {
    M::wgmma_fence();  // registers of acc and a, written by threads, read by the MMA
    if constexpr (C.b_transposed) {
      wgmma(acc, a, transposed(b), !C.fresh);
    } else {
      wgmma(acc, a, b, !C.fresh);
    }
    M::wgmma_commit();
  }

  static JFA_DEVICE void multiply(Fragment<M, C.n>& acc, Operands& operands) {
    if constexpr (C.a_in_registers) {
      Operand<M, Element, C.k> a;
      load_operand(a, operands.a.view());
      multiply(acc, a, operands.b);
      wgmma_wait<0>(acc, a);
    } else if constexpr (C.a_transposed) {
      multiply(acc, transposed(operands.a), operands.b);
      wgmma_wait<0>(acc);
    } else {
      multiply(acc, operands.a, operands.b);
      wgmma_wait<0>(acc);
    }
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M, C.blocks>([&] { smem.loaded.init(sizeof(Operands)); });
    if (M::thread_index() == 0) {
      smem.loaded.open(smem.operands, [&](Operands& to, Mbarrier& full) {
        tma_load(full, to.a, p.a, {0, 0});
        tma_load(full, to.b, p.b, {0, 0});
      });
    }
    auto key = smem.loaded.key();
    smem.loaded.pass(key);
    Fragment<M, C.n> acc;
    if constexpr (!C.fresh) acc.fill(0);
    multiply(acc, smem.operands);
    if constexpr (C.blocks > 1) {
      if (M::cluster_rank() + 1 < C.blocks) return;
    }
    acc.apply(
        [&](int row, int col, float& value) { M::store_global(p.d + row * C.n + col, value); });
  }
};

}  // namespace jfa::inline JFA_BACKEND
