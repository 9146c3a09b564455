// What one thread of an emulated kernel can do: the machine's instructions, each with its effect on
// memory, order and the schedule. Called from inside a launch only.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "machine/emulator/engine.hpp"

namespace jfa::emulator {

enum class ScopeKind : std::uint8_t { Block, Cluster, Gpu };

// --- warp collectives: all 32 lanes come ---
// The last lane to come runs `combine` on the payloads of all, by lane.
using Payloads = std::array<void*, kLanes>;
using Combine = void (*)(Engine& engine, Warp& warp, const Payloads& payloads);
void meet(const CallSite& call, void* payload, Combine combine);
// Lane `l` gets the 4 bytes of lane `from[l]`.
std::uint32_t exchange(std::uint32_t bits, int from, const CallSite& call);
std::uint32_t ballot(bool vote, const CallSite& call);
void sync_warp(const CallSite& call);
// Both return in every lane; rows are the lanes' own 16-byte rows, in lane order.
void load_matrices(const void* row, std::uint32_t* registers, const CallSite& call);
void store_matrices(void* row, const std::uint32_t* registers, const CallSite& call);

// --- barriers of blocks and clusters ---
void named_barrier(int id, int threads, const char* name, bool wait, const CallSite& call);
void cluster_arrive(const CallSite& call);
void cluster_wait(const CallSite& call);

// --- mbarriers ---
struct Label {
  const char* name = "";
  const char* kind = "";
  int stage = -1;
  int expected_bytes = 0;
};
void mbarrier_init(void* barrier, int count, const Label& label, const CallSite& call);
void mbarrier_fence_init(const CallSite& call);
void mbarrier_arrive(void* barrier, const CallSite& call);
void mbarrier_arrive_expect(void* barrier, std::uint32_t bytes, const CallSite& call);
void mbarrier_arrive_remote(void* mine, int rank, ScopeKind scope, const CallSite& call);
void mbarrier_wait(void* barrier, std::int64_t phase, ScopeKind scope, const CallSite& call);

// --- fences ---
void fence_proxy_async(const CallSite& call);
void fence_gpu(const CallSite& call);

// --- ordinary memory ---
void access_shared(const void* pointer, std::size_t bytes, AccessKind kind, const CallSite& call);
void access_global(const void* pointer, std::size_t bytes, AccessKind kind, const CallSite& call);
// Before an acquire load and after a release store or an update of global memory.
void acquire_global(const void* pointer, std::size_t bytes, ScopeKind scope, const CallSite& call);
void release_global(const void* pointer, std::size_t bytes, ScopeKind scope, bool update,
                    bool release, const CallSite& call);
// A relaxed addition that returns nothing: it orders nothing, and no wait is for its address.
void reduce_global(const void* pointer, std::size_t bytes, const CallSite& call);

// --- asynchronous copies ---
void tensor_load(void* to, const TensorMap& map, std::span<const int> coordinates, void* barrier,
                 std::uint32_t block_mask, const CallSite& call);
void tensor_store(const TensorMap& map, std::span<const int> coordinates, const void* from,
                  bool reduce, const CallSite& call);
void bulk_load(void* to, const void* from, std::uint32_t bytes, void* barrier,
               const CallSite& call);
void bulk_store(void* to, const void* from, std::uint32_t bytes, bool reduce, const CallSite& call);
void bulk_send(void* mine_to, const void* from, std::uint32_t bytes, void* mine_barrier, int rank,
               const CallSite& call);
void bulk_commit(const CallSite& call);
void bulk_wait(int groups_left, bool read_only, const CallSite& call);

// --- warpgroup MMAs ---
// Whether the registers of an accumulator or operand may be touched.
class FragmentState {
 public:
  FragmentState() = default;
  ~FragmentState();
  FragmentState(const FragmentState&) = delete;
  FragmentState& operator=(const FragmentState&) = delete;

  void reading(const CallSite& call);
  void writing(const CallSite& call);
  // A load of tensor memory, the warp's `number`-th, writes the registers.
  void load(Time number);
  // An MMA of the open group takes the registers.
  void issue(bool reads, Time group, const CallSite& call);
  // A wait names the fragment.
  void settle();

 private:
  void touch(const char* what, const CallSite& call);

  bool written_ = false;
  bool in_flight_ = false;
  bool loading_ = false;            // in flight, from tensor memory
  Time group_ = 0;                  // of MMAs, or the number of the load
  std::uint64_t fence_needed_ = 1;  // the number of the warpgroup fence that the next MMA needs
};

struct MmaIssue {
  MmaType type = MmaType::Bf16;
  int columns = 0;
  bool accumulate = true;
  OperandLayout a;  // rows 0: in registers
  OperandLayout b;
  float* accumulators = nullptr;
  const std::uint32_t* a_registers = nullptr;
};
void mma_fence(const CallSite& call);
void mma_issue(MmaIssue issue, FragmentState& accumulators, FragmentState* a_registers,
               const CallSite& call);
void mma_commit(const CallSite& call);
void mma_wait(int groups_left, const CallSite& call);

// --- tensor memory ---
// `blocks`: 2 for a pair, the two blocks of a cluster (cta_group::2); the same in all of a kernel.
// Collectives of a warp, of each block of a pair; `where` is in shared memory and gets the address.
void tensor_allocate(std::uint32_t* where, int columns, int blocks, const CallSite& call);
void tensor_relinquish(int blocks, const CallSite& call);
void tensor_free(std::uint32_t address, int columns, int blocks, const CallSite& call);
// 32 lanes, `columns` registers of 32 bits a thread.
void tensor_load(std::uint32_t address, int columns, void* registers, FragmentState& state,
                 const CallSite& call);
void tensor_store(std::uint32_t address, int columns, const void* registers, const CallSite& call);
void tensor_wait_loads(const CallSite& call);
void tensor_wait_stores(const CallSite& call);
// NOTE [tcgen05 order]: what a thread's tcgen05 instructions come after is apart from what the
// thread knows: a fence after a synchronization takes over what that brought, a fence before one
// hands on what this thread has waited for. Commits hand on their MMAs by themselves.
void tensor_fence_before(const CallSite& call);
void tensor_fence_after(const CallSite& call);
// By one thread. A in shared memory, given by its descriptor, or in tensor memory. A pair's MMA has
// 128 rows of A and D and half of B in each block, at the same places; its commit arrives in both.
void tensor_mma(std::uint32_t d, std::uint64_t a, std::uint64_t b, std::uint32_t instruction,
                bool accumulate, int blocks, const CallSite& call);
void tensor_mma(std::uint32_t d, std::uint32_t a, std::uint64_t b, std::uint32_t instruction,
                bool accumulate, int blocks, const CallSite& call);
void tensor_commit(void* barrier, int blocks, const CallSite& call);

// --- registers ---
void set_registers(int count, bool up, const CallSite& call);

// --- shared by the primitives' own files ---
void publish(Lane& lane, Knowledge& into);
void acquire(Lane& lane, const Knowledge& knowledge);
// Whether the lane's own past and what it knows include `events`.
bool ordered_after(const Lane& lane, const ClockRef& events);
Viewpoint viewpoint(const Lane& lane);
Mbarrier& barrier_in(Block& block, void* mine, bool async, SiteId site);
void complete_bytes(Block& block, Mbarrier& barrier, std::uint32_t bytes, std::int64_t phase,
                    const AsyncOperation& operation);
BarrierState state_of(const Mbarrier& barrier, std::int64_t wanted);

}  // namespace jfa::emulator
