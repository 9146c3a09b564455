// What the role `drain` of Blackwell's backward kernel does: it loads dQ of each visit from tensor
// memory, a row a thread, lets go of the place, and brings dQ where it belongs.
#pragma once

#include "kernels/backward/key_blocks.hpp"

namespace jfa::inline JFA_BACKEND {

/// `K` is the kernel, BackwardBlackwell<...>.
template <class K>
struct DrainDq {
  using M = typename K::M;
  using Smem = typename K::Smem;
  using Tmem = typename K::Tmem;
  using Work = typename K::Work;
  static constexpr int kColumns = 32;  // of a part
  static constexpr int kParts = K::C.head_dim / kColumns;

  const typename K::Params& p;
  Smem& smem;
  const bool lead;
  typename M::Phase made = M::Phase::first();
  int slot = 0;  // of smem.dq
  RowFragment<M, kColumns> parts[kParts];

  JFA_DEVICE DrainDq(const typename K::Params& params, Smem& memory)
      : p(params), smem(memory), lead(M::warp_index() % 4 == 0 && M::elect()) {}

  JFA_DEVICE void run(const Tmem& tmem) {
    const auto place = tmem.template at<"gradients">().own_rows();
    auto r = smem.work.reader();
    for (;;) {
      const Work& work = smem.work.wait(r);
      const int tiles = known<M>(work.tiles);
      if (tiles < 0) break;
      typename K::Place at{known<M>(work.first_tile), 0};
      for (int i = 0; i < tiles * p.heads; ++i, at.next(p)) {
        take(place);
        if constexpr (K::Mask::kListed) at = {K::listed_visit(smem, work, i) / K::kNames, 0};
        bring(work, at.head, at.tile, i);
      }
      smem.work.release(r);
    }
    if (lead) wait_read<M>();
  }

  JFA_DEVICE void take(const auto& place) {
    smem.dq_made.pass(made);
    M::tensor_fence_after();  // dQ, written by MMAs, before it is loaded
    JFA_UNROLL
    for (int i = 0; i < kParts; ++i) {
      tmem_load(parts[i], place.template cols<kColumns>(i * kColumns));
    }
    JFA_UNROLL
    for (int i = 0; i < kParts; ++i) tmem_wait(parts[i]);
    M::tensor_fence_before();  // dQ loaded, before MMAs overwrite it
    smem.drained.open();
  }

  JFA_DEVICE void bring(const Work& work, int head, int tile, int number) {
    const DqWay way = K::way(work);
    if (way == DqWay::Task) {
      JFA_UNROLL
      for (int i = 0; i < kParts; ++i) {
        store_kept<true>(kept_at(work, head, tile, i * kColumns), parts[i]);
      }
    } else if (way == DqWay::Sum) {
      add(work, head, tile, number);
    } else {
      JFA_UNROLL
      for (int i = 0; i < kParts; i += 2) {
        stage([&](auto& part) {
          store_fragment(part.rounded.view(), parts[i]);
          store_fragment(part.rounded.view(), parts[i + 1], kColumns);
        });
        copy_out(work, head, tile, i * kColumns,
                 [&](const auto& at, auto& part) { tma_store(p.dq, at, part.rounded); });
      }
    }
  }

  /// dQ added to dq_sum, in turn where there are turns.
  JFA_DEVICE void add(const Work& work, int head, int tile, int number) {
    const bool in_turn = p.turns != nullptr;
    JFA_UNROLL
    for (int i = 0; i < kParts; ++i) {
      stage([&](auto& part) { store_fragment(part.sum.view(), parts[i]); });
      if (in_turn && i == 0) {
        const int before = blocks_before(work, tile, number);
        if (lead) M::await(turn_at(work, head, tile), before);
      }
      copy_out(work, head, tile, i * kColumns,
               [&](const auto& at, auto& part) { tma_reduce_add(p.sums, at, part.sum); });
    }
    if (!in_turn || !lead) return;
    wait_stored<M>();
    M::reduce_add_release(turn_at(work, head, tile), 1);
  }

  /// fill(part) once the copy that read the part before has done so.
  JFA_DEVICE void stage(auto fill, Site site = Site::here()) {
    if (++slot == K::C.dq_slots) slot = 0;
    if (lead) wait_read<M, K::C.dq_slots - 1>(site);
    meet(site);
    fill(smem.dq[slot]);
    M::template fence_proxy_async<Space::Shared>(site);  // written by threads, read by a copy
    meet(site);
  }

  /// copy(at, part) of the part that is staged.
  JFA_DEVICE void copy_out(const Work& work, int head, int tile, int column, auto copy) {
    if (!lead) return;
    const RaggedRows rows{M::load_shared(&work.q_begin), M::load_shared(&work.q_length)};
    const int at[5] = {column, M::load_shared(&work.q_head) + head, rows.at(tile * K::kQueries),
                       rows.end(), kRaggedRows};
    copy(at, smem.dq[slot]);
    M::bulk_commit();
  }

  JFA_DEVICE int blocks_before(const Work& work, int tile, int visit) const {
    if constexpr (K::Mask::kListed) {
      const auto& visits = smem.visits[known<M>(work.slot)];
      return known<M>(visits.before[visit]);
    } else {
      return known<M>(work.first_key) / K::kKeys - static_cast<int>(K::blocks(p, work, tile).begin);
    }
  }

  JFA_DEVICE float* kept_at(const Work& work, int head, int tile, int column) const {
    const int tiles = (known<M>(work.q_length) + K::kQueries - 1) / K::kQueries;
    const std::int64_t at = known<M>(work.kept) + head * tiles + tile;
    return p.dq_kept + at * (K::kQueries * K::C.head_dim) + column * K::kQueries;
  }

  /// NOTE [turns]: with `turns`, the blocks of keys that visit a tile add to it one after another,
  /// in their order. Each takes its items from a counter, earlier blocks of keys first: the one
  /// whose turn it is has been taken by a running block, which waits for no later one.
  JFA_DEVICE int* turn_at(const Work& work, int head, int tile) const {
    return p.turns + (M::load_shared(&work.q_head) + head) * p.head_tiles +
           M::load_shared(&work.statistics) + tile;
  }

  JFA_DEVICE void meet(Site site = Site::here()) const {
    Meeting<M, "drain", typename K::Ids, 128>::sync(site);
  }
};

}  // namespace jfa::inline JFA_BACKEND
