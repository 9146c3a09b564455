// The engine's own behaviour: launches, schedules, replay, reports.
#include "machine/emulator/engine.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "machine/emulator/buffers.hpp"
#include "machine/emulator/emulated_hopper.hpp"
#include "machine/machine.hpp"

namespace jfa {
inline namespace emulated {
namespace {

using M = EmulatedHopper;
using emulator::Buffers;
using emulator::FindingKind;
using emulator::RunOptions;
using emulator::Schedule;

struct OneFloat {
  float* value;
};

struct Small {
  static constexpr int kThreads = 64;
  static constexpr int kClusterSize = 1;
  static constexpr int kBlocksPerProcessor = 1;
  using Params = OneFloat;
  struct Smem {
    float value;
  };
};

// Adds one to a number.
struct Increment : Small {
  static void run(const Params& p, Smem&) {
    if (M::thread_index() == 0) M::store_global(p.value, M::load_global(p.value) + 1);
  }
};

TEST(Engine, LaunchesSeeWhatEarlierOnesWrote) {
  Buffers buffers;
  float* value = buffers.zeros<float>("value", 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(launch<Increment>(buffers.device(), {}, 1, {value}).finding.found());
  }
  EXPECT_EQ(*value, 3);
}

struct Throws : Small {
  static void run(const Params&, Smem&) {
    M::sync_block();
    if (M::thread_index() == 40) throw std::domain_error("from a kernel");
    M::sync_block();
  }
};

TEST(Engine, ExceptionsOfAKernelLeaveTheLaunch) {
  Buffers buffers;
  EXPECT_THROW(launch<Throws>(buffers.device(), {}, 1, {nullptr}), std::domain_error);
  float* value = buffers.zeros<float>("value", 1);
  EXPECT_FALSE(launch<Increment>(buffers.device(), {}, 1, {value}).finding.found());
}

TEST(Engine, ShapesAreRefusedByName) {
  emulator::Device device;
  emulator::LaunchShape shape;
  const auto message = [&] {
    try {
      emulator::Engine(device, {}).run(shape, [](std::byte*) {});
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  shape.threads = 100;
  EXPECT_EQ(message(), "launch: threads is 100; allowed: multiples of 32 up to 1024");
  shape.threads = 128;
  shape.grid = 3;
  shape.cluster = 2;
  EXPECT_EQ(message(), "launch: grid is 3; allowed: multiples of the cluster up to 65535");
}

// Every thread notes its turn.
struct Order : Small {
  struct Params {
    int* next;
    int* turns;
  };
  static void run(const Params& p, Smem&) {
    for (int round = 0; round < 3; ++round) {
      const int turn = M::atomic_add(p.next, 1);
      M::store_global(p.turns + turn, M::thread_index());
      M::sync_block();
    }
  }
};

std::vector<int> turns(Schedule schedule, std::uint64_t seed) {
  Buffers buffers;
  constexpr std::size_t kTurns = 3 * Order::kThreads;
  int* all = buffers.output<int>("turns", kTurns);
  RunOptions options;
  options.schedule = schedule;
  options.seed = seed;
  const Order::Params params{buffers.zeros<int>("next", 1), all};
  EXPECT_FALSE(launch<Order>(buffers.device(), options, 1, params).finding.found());
  return {all, all + kTurns};
}

TEST(Engine, SeedsReplayAndDiffer) {
  for (const Schedule schedule : emulator::kSchedules) {
    EXPECT_EQ(turns(schedule, 5), turns(schedule, 5)) << to_string(schedule);
  }
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 10; ++seed) orders.insert(turns(Schedule::Random, seed));
  EXPECT_GT(orders.size(), 8u);
}

// Blocks that need no other block run with any number of them on the machine.
struct ManyBlocks : Small {
  static void run(const Params& p, Smem& smem) {
    if (M::thread_index() == 0) M::store_shared(&smem.value, 1.0F);
    M::sync_block();
    if (M::thread_index() == 1) {
      M::store_global(p.value + M::block_index(), M::load_shared(&smem.value));
    }
  }
};

TEST(Engine, GridsRunInAnyResidency) {
  for (const int resident : {0, 1, 3, 40}) {
    Buffers buffers;
    float* values = buffers.output<float>("values", 20);
    RunOptions options;
    options.schedule = Schedule::Random;
    options.resident_blocks = resident;
    EXPECT_FALSE(launch<ManyBlocks>(buffers.device(), options, 20, {values}).finding.found());
    for (int i = 0; i < 20; ++i) EXPECT_EQ(values[i], 1);
  }
}

struct NeverOpened : Small {
  struct Smem {
    Gate<M, "go", By<EachThread<2>>> go;
  };
  static void run(const Params&, Smem& smem) {
    init_barriers<M>([&] { smem.go.init(); });
    warp_roles<M>(role<"give", Warps{0, 1}>([&] {
                    if (M::lane() == 0) smem.go.open();
                  }),
                  role<"take", Warps{1, 1}>([&] {
                    auto key = smem.go.key();
                    smem.go.pass(key);
                  }));
  }
};

TEST(Engine, ReportsSayWhatAPersonNeeds) {
  Buffers buffers;
  RunOptions options;
  options.schedule = Schedule::Priority;
  options.seed = 11;
  const auto result = launch<NeverOpened>(buffers.device(), options, 1, {nullptr});
  EXPECT_EQ(result.finding.kind, FindingKind::Deadlock);
  EXPECT_EQ(result.finding.role, "take");
  EXPECT_EQ(result.finding.barrier.name, "go");
  EXPECT_EQ(result.finding.barrier.phase_wanted, 0);
  EXPECT_EQ(result.finding.barrier.phase_held, 0);
  EXPECT_EQ(result.finding.barrier.arrivals_missing, 1);
  const std::string text = report(result.finding);
  for (const char* part :
       {"finding 6: deadlock", "engine_test.cpp:", "mbarrier_wait", "role \"take\"",
        "schedule priority, seed 11", "32 lanes of block 0 role \"take\" warp 1 waits for go",
        "arrives at go phase 0"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

struct ReadsThenLoads : Small {
  struct Params {
    M::TensorMap in;
  };
  using Slot = Tile<M, bf16, 64, 64>;
  struct Smem {
    Ring<M, "tiles", Slot, 1, By<Tma>, FreedBy<OncePerWarp<1>>> tiles;
  };
  static void run(const Params& p, Smem& smem) {
    init_barriers<M>([&] { smem.tiles.init(); });
    if (M::warp_index() == 0) {
      auto w = smem.tiles.writer();
      for (int i = 0; i < 2 && M::lane() == 0; ++i) {
        smem.tiles.fill(w, [&](Slot& slot, Mbarrier& full) { tma_load(full, slot, p.in, {0, 0}); });
      }
      return;
    }
    auto r = smem.tiles.reader();
    for (int i = 0; i < 2; ++i) {
      smem.tiles.wait(r).view().load(M::lane(), 0);
      smem.tiles.release(r);
    }
  }
};

TEST(Engine, GenericReadsBeforeAsyncWritesArePedantic) {
  Buffers buffers;
  bf16* in = buffers.input("in", std::vector<bf16>(std::size_t{64} * 64));
  const ReadsThenLoads::Params params{
      M::make_tensor_map(matrix_map<ReadsThenLoads::Slot::View>(in, 64, 64, 64))};
  const auto result = launch<ReadsThenLoads>(buffers.device(), {}, 1, params);
  EXPECT_FALSE(result.finding.found()) << report(result.finding);
  ASSERT_EQ(result.pedantic.size(), 1u);
  EXPECT_NE(result.pedantic[0].find("async write"), std::string::npos) << result.pedantic[0];
}

TEST(Engine, TensorMapsAreRefusedByName) {
  Buffers buffers;
  bf16* in = buffers.input("in", std::vector<bf16>(1024));
  EXPECT_THROW(M::make_tensor_map(matrix_map<Tile<M, bf16, 64, 64>::View>(in, 8, 64, 60)),
               std::invalid_argument);
}

// Recursion without end meets the guard page, not another thread's stack.
struct Overflows : Small {
  [[gnu::noinline]] static int deeper(int left, volatile int* above) {
    volatile int frame[1024];
    frame[0] = above == nullptr ? 1 : above[0];
    return (left > 0 ? deeper(left - 1, frame) : 0) + frame[0];
  }
  static void run(const Params&, Smem&) {
    if (M::thread_index() == 3) deeper(1 << 20, nullptr);
  }
};

TEST(EngineDeathTest, StacksHaveGuardPages) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  emulator::Device device;
  EXPECT_DEATH(launch<Overflows>(device, {}, 1, {nullptr}), "");
}

}  // namespace
}  // namespace emulated
}  // namespace jfa
