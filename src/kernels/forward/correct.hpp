// What the correct role of Blackwell's forward kernel does: it scales O in tensor memory where a
// row's shift has moved, and brings a finished tile's O, divided by the sums, to shared memory.
#pragma once

#include "kernels/forward/mask.hpp"
#include "machine/machine.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, ForwardBlackwell<...>.
template <class K>
struct Correct {
  using M = typename K::M;
  using Smem = typename K::Smem;
  using Work = typename K::Work;
  static constexpr int kChunk = 16;  // columns in registers at once

  Smem& smem;
  typename std::remove_extent_t<decltype(Smem::factors)>::Cursor factors[K::kGroups] = {};
  typename decltype(Smem::listed)::Cursor listed = {};
  typename M::Phase sums[K::kGroups] = {M::Phase::first(), M::Phase::first()};
  typename decltype(Smem::o)::Cursor o = {};

  JFA_DEVICE void run(const typename K::Tmem& tmem) {
    const auto first = tmem.template at<"sums">(0).own_rows();
    const auto second = tmem.template at<"sums">(1).own_rows();
    K::for_each_work(smem, [&](const Work& work) {
      K::for_each_block(smem, listed, work, [&](int flags) {
        prepare<0>(flags, first);
        prepare<1>(flags, second);
      });
      finish<0>(work, first);
      finish<1>(work, second);
    });
  }

  /// Makes O ready for the weights of a block.
  template <int Group>
  JFA_DEVICE void prepare(int flags, const auto& place) {
    if ((flags & K::kVisit << Group) == 0) return;
    if ((flags & K::kFirst << Group) == 0) {
      const float factor = take_factor<Group>();
      if (M::any(factor != 1)) scale(place, factor);
    }
    smem.weights[Group].open();
  }

  template <int Group>
  JFA_DEVICE float take_factor() {
    const auto& of_row = smem.factors[Group].wait(factors[Group]).of_row;
    const float factor = M::load_shared(&of_row[M::thread_index() & 127]);
    smem.factors[Group].release(factors[Group]);
    return factor;
  }

  JFA_DEVICE void scale(const auto& place, float factor) {
    M::tensor_fence_after();  // O, added to by MMAs, before it is loaded
    JFA_UNROLL
    for (int c = 0; c < K::C.head_dim; c += kChunk) {
      RowFragment<M, kChunk> part;
      load_scaled(part, place, c, factor);
      tmem_store(place.template cols<kChunk>(c), part);
    }
    M::tensor_wait_stores();
    M::tensor_fence_before();  // O scaled, before MMAs add to it
  }

  JFA_DEVICE void load_scaled(RowFragment<M, kChunk>& part, const auto& place, int col,
                              float factor) {
    tmem_load(part, place.template cols<kChunk>(col));
    tmem_wait(part);
    part.apply([factor](int, int, float& value) { value *= factor; });
  }

  /// A finished tile's O, divided by the sums, to shared memory.
  template <int Group>
  JFA_DEVICE void finish(const Work& work, const auto& place) {
    smem.sums[Group].pass(sums[Group]);
    if (work.visits[Group].begin >= work.visits[Group].end) return;
    const float factor = take_factor<Group>();
    M::tensor_fence_after();  // O, added to by MMAs, before it is loaded
    smem.o.fill(o, [&](typename K::QTile& tile) {
      JFA_UNROLL
      for (int c = 0; c < K::C.head_dim; c += kChunk) {
        RowFragment<M, kChunk> part;
        load_scaled(part, place, c, factor);
        store_fragment(tile.view(), part, c);
      }
      M::template fence_proxy_async<Space::Shared>();  // O, written by threads, read by copies
    });
    M::tensor_fence_before();  // O loaded, before MMAs overwrite it
  }
};

}  // namespace jfa::inline JFA_BACKEND
