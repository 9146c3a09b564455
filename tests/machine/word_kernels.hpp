// Tiny kernels for the words that no sample kernel uses.
#pragma once

#include "machine/machine.hpp"

namespace jfa {
inline namespace JFA_BACKEND {

/// Two warpgroups write their numbers in turns: out = 0, 1, 0, 1, ...
template <class M>
struct PingPong {
  static constexpr int kThreads = 256;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kRounds = 6;

  struct Params {
    int* out;
  };
  struct Smem {
    int count;
    int order[2 * kRounds];
  };
  using Ids = BarrierIds<"first's turn", "second's turn">;
  using Turns = Turn<M, Ids, 128, "first's turn", "second's turn">;

  static JFA_DEVICE void play(Smem& smem, int party) {
    if (party == 1) Turns::give(0);
    for (int round = 0; round < kRounds; ++round) {
      Turns::take(party);
      if (M::thread_index() % 128 == 0) {
        const int count = M::load_shared(&smem.count);
        M::store_shared(&smem.order[count], party);
        M::store_shared(&smem.count, count + 1);
      }
      if (party == 0 || round + 1 < kRounds) Turns::give(1 - party);
    }
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    if (M::thread_index() == 0) M::store_shared(&smem.count, 0);
    M::sync_block();
    play(smem, M::warp_index() / 4);
    M::sync_block();
    const int i = M::thread_index();
    if (i < 2 * kRounds) M::store_global(p.out + i, M::load_shared(&smem.order[i]));
  }
};

/// Two blocks swap kCount numbers through each other's shared memory: out[block] = in[other block],
/// sum += both.
template <class M>
struct BulkSwap {
  static constexpr int kThreads = 32;
  static constexpr int kClusterSize = 2;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kCount = 256;

  struct Params {
    const float* in;
    float* out;
    float* sum;
  };
  struct alignas(128) Chunk {
    float values[kCount];
  };
  struct Smem {
    Chunk mine;
    Chunk theirs;
    Gate<M, "loaded", By<Tma>> loaded;
    Gate<M, "arrived", By<Tma>> arrived;
  };

  static JFA_DEVICE void swap(const Params& p, Smem& smem) {
    const int rank = M::cluster_rank();
    smem.loaded.open(smem.mine, [&](Chunk& chunk, Mbarrier& full) {
      M::bulk_load(&chunk, p.in + rank * kCount, sizeof(Chunk), &full);
    });
    smem.arrived.open(smem.theirs, [](Chunk&, Mbarrier&) {});  // the other block sends them
    auto loaded = smem.loaded.key();
    smem.loaded.pass(loaded);
    M::bulk_send(&smem.theirs, &smem.mine, sizeof(Chunk), &smem.arrived.barrier, 1 - rank);
    auto arrived = smem.arrived.key();
    smem.arrived.pass(arrived);
    M::bulk_store(p.out + rank * kCount, &smem.theirs, sizeof(Chunk));
    M::bulk_reduce_add(p.sum, smem.theirs.values, sizeof(Chunk));
    M::bulk_commit();
    wait_stored<M>();
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M, kClusterSize>([&] {
      smem.loaded.init(sizeof(Chunk));
      smem.arrived.init(sizeof(Chunk));
    });
    if (M::elect()) swap(p, smem);
    M::sync_warp();
    M::sync_cluster();  // a block's memory is read until the other has received it
  }
};

/// Two warps write slots, two read them, without the copy unit: out[i] = sum over slots of its
/// i-th number, slot s holding s + i.
template <class M>
struct GenericRing {
  static constexpr int kThreads = 128;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  static constexpr int kSteps = 7;
  static constexpr int kWidth = 64;

  struct Params {
    int* out;
  };
  struct Slot {
    int numbers[kWidth];
  };
  struct Smem {
    Ring<M, "numbers", Slot, 2, By<OncePerWarp<2>>, FreedBy<EachThread<kWidth>>> ring;
  };

  static JFA_DEVICE void write(Smem& smem) {
    const int i = M::thread_index();
    auto w = smem.ring.writer();
    for (int step = 0; step < kSteps; ++step) {
      smem.ring.fill(w, [&](Slot& slot) { M::store_shared(&slot.numbers[i], step + i); });
    }
    smem.ring.drain(w);
  }

  static JFA_DEVICE void read(const Params& p, Smem& smem) {
    const int i = M::thread_index() - kWidth;
    int sum = 0;
    auto r = smem.ring.reader();
    for (int step = 0; step < kSteps; ++step) {
      sum += M::load_shared(&smem.ring.wait(r).numbers[kWidth - 1 - i]);
      smem.ring.release(r);
    }
    M::store_global(p.out + kWidth - 1 - i, sum);
  }

  static JFA_DEVICE void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.ring.init(); });
    warp_roles<M>(role<"write", Warps{0, 2}>([&] { write(smem); }),
                  role<"read", Warps{2, 2}>([&] { read(p, smem); }));
  }
};

/// Each block writes its number; the last to come adds them up, and block 0 waits for the sum:
/// out = 2 * the sum of 1 .. blocks.
template <class M>
struct Blocks {
  static constexpr int kThreads = 32;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;

  struct Params {
    int* numbers;  // a number a block
    int* state;    // tickets drawn, sums ready; zero before
    int* sum;
    int* out;
  };
  struct Smem {};

  static JFA_DEVICE void take_part(const Params& p) {
    const int blocks = M::grid_size();
    M::store_global(p.numbers + M::block_index(), M::block_index() + 1);
    M::fence_gpu();  // the number, before the ticket that tells of it
    if (M::atomic_add(p.state, 1) == blocks - 1) {
      M::fence_gpu();  // the other tickets, before the numbers they tell of
      int sum = 0;
      for (int i = 0; i < blocks; ++i) sum += M::load_global(p.numbers + i);
      M::store_global(p.sum, sum);
      M::reduce_add_release(p.state + 1, 1);
    }
    if (M::block_index() == 0) {
      while (M::load_acquire(p.state + 1) == 0) M::sleep_ns(100);
      M::store_global(p.out, 2 * M::load_global(p.sum));
    }
  }

  static JFA_DEVICE void run(const Params& p, Smem&) {
    if (M::elect()) take_part(p);
  }
};

/// What each lane gets from shuffles and votes: out[8 * lane + word].
template <class M>
struct Lanes {
  static constexpr int kThreads = 32;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;

  struct Params {
    int* out;
  };
  struct Smem {};

  static JFA_DEVICE void run(const Params& p, Smem&) {
    const int lane = M::lane();
    const int elected = M::elect() ? 1 : 0;
    const int results[8] = {M::uniform(M::warp_index() + 5),
                            M::shuffle(lane, (lane + 1) % 32),
                            M::shuffle_xor(lane, 16),
                            M::any(lane == 7) ? 1 : 0,
                            M::all(lane < 31) ? 1 : 0,
                            static_cast<int>(M::ballot(lane % 4 == 0)),
                            static_cast<int>(M::ballot(elected != 0)),
                            M::warp_index()};
    M::sync_warp();
    for (int i = 0; i < 8; ++i) M::store_global(p.out + 8 * lane + i, results[i]);
  }
};

}  // namespace JFA_BACKEND
}  // namespace jfa
