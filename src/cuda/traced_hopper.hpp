// The machine `TracedHopper`: Hopper that records roles and waits. A kernel built for Hopper itself
// has none of this. Built by nvcc only.
#pragma once

#include <fstream>
#include <iostream>
#include <vector>

#include "cuda/device_trace.hpp"
#include "cuda/launch.hpp"

namespace jfa {
inline namespace gpu {

/// Where the blocks of a traced launch write: `capacity` records a warp, 32 warps a block, for the
/// first `blocks` blocks.
struct TraceBuffer {
  TraceRecord* records;
  std::uint32_t* counts;
  TraceClocks* clocks;
  int capacity;
  int blocks;
};

static __device__ TraceBuffer trace_buffer;

struct TracedHopper : Hopper {
  /// First and last in a traced kernel.
  static JFA_DEVICE void begin_trace() {
    if (Hopper::thread_index() < 32) next_record(Hopper::thread_index()) = 0;
    __syncthreads();
    if (Hopper::thread_index() == 0 && traced()) {
      TraceClocks& clocks = trace_buffer.clocks[blockIdx.x];
      clocks.start_cycles = clock64();
      clocks.start_ns = nanoseconds();
    }
  }
  static JFA_DEVICE void end_trace() {
    __syncthreads();
    if (!traced()) return;
    if (Hopper::thread_index() < 32) {
      trace_buffer.counts[32 * blockIdx.x + threadIdx.x] = next_record(Hopper::thread_index());
    }
    if (Hopper::thread_index() == 0) {
      TraceClocks& clocks = trace_buffer.clocks[blockIdx.x];
      clocks.end_cycles = clock64();
      clocks.end_ns = nanoseconds();
    }
  }

  template <Name N>
  static JFA_DEVICE void enter_role(Site = Site::here()) {
    const std::int64_t now = clock64();
    write<N>({now, now, TraceKind::kRole, 0, -1, 0, {}});
  }
  /// Closes the warp's last open role, when its last lane leaves.
  static JFA_DEVICE void leave_role(Site = Site::here()) {
    __syncwarp();
    if (!leads() || !traced()) return;
    for (std::uint32_t i = next_record(warp()); i-- > 0;) {
      TraceRecord& record = records_of_warp()[i];
      if (record.kind != TraceKind::kRole || record.end != record.begin) continue;
      record.end = clock64();
      return;
    }
  }

  template <Name N>
  static JFA_DEVICE void mbarrier_init(Mbarrier* barrier, int count, BarrierKind kind, int slot,
                                       int bytes, Site site = Site::here()) {
    Hopper::mbarrier_init<N>(barrier, count, kind, slot, bytes, site);
    const std::int64_t now = clock64();
    write<N>({now,
              now,
              TraceKind::kBarrier,
              Hopper::shared_address(barrier),
              kind == BarrierKind::Gate ? -1 : slot,
              kind == BarrierKind::Empty,
              {}});
  }
  template <Scope S>
  static JFA_DEVICE void mbarrier_wait(Mbarrier* barrier, Phase phase, Site site = Site::here()) {
    const std::int64_t begin = clock64();
    Hopper::mbarrier_wait<S>(barrier, phase, site);
    write<"">(
        {begin, clock64(), TraceKind::kBarrierWait, Hopper::shared_address(barrier), -1, 0, {}});
  }
  static JFA_DEVICE void sync_block(Site site = Site::here()) {
    const std::int64_t begin = clock64();
    Hopper::sync_block(site);
    write<"block">({begin, clock64(), TraceKind::kMeeting, 0, -1, 0, {}});
  }
  template <Name N>
  static JFA_DEVICE void named_sync(int id, int threads, Site site = Site::here()) {
    const std::int64_t begin = clock64();
    Hopper::named_sync<N>(id, threads, site);
    write<N>({begin, clock64(), TraceKind::kMeeting, static_cast<std::uint32_t>(id), -1, 0, {}});
  }
  static JFA_DEVICE void sync_cluster(Site site = Site::here()) {
    const std::int64_t begin = clock64();
    Hopper::sync_cluster(site);
    write<"cluster">({begin, clock64(), TraceKind::kMeeting, 0, -1, 0, {}});
  }
  template <int Pending>
  static JFA_DEVICE void wgmma_wait(Site site = Site::here()) {
    const std::int64_t begin = clock64();
    Hopper::wgmma_wait<Pending>(site);
    write<"MMA">({begin, clock64(), TraceKind::kMmaWait, 0, -1, 0, {}});
  }
  template <int Pending, bool Read>
  static JFA_DEVICE void bulk_wait(Site site = Site::here()) {
    const std::int64_t begin = clock64();
    Hopper::bulk_wait<Pending, Read>(site);
    constexpr Name kWait = Read ? Name("stores read") : Name("stores done");
    write<kWait>({begin, clock64(), TraceKind::kStoreWait, 0, -1, 0, {}});
  }

 private:
  /// https://docs.nvidia.com/cuda/parallel-thread-execution/#special-registers-globaltimer
  static JFA_DEVICE std::int64_t nanoseconds() {
    std::int64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
  }
  static JFA_DEVICE int warp() { return Hopper::thread_index() / 32; }
  static JFA_DEVICE bool traced() { return Hopper::block_index() < trace_buffer.blocks; }
  /// One of the lanes that are here records for all.
  static JFA_DEVICE bool leads() { return Hopper::lane() == __ffs(__activemask()) - 1; }
  static JFA_DEVICE std::uint32_t& next_record(int warp) {
    __shared__ std::uint32_t next[32];
    return next[warp];
  }
  static JFA_DEVICE TraceRecord* records_of_warp() {
    const std::int64_t place = 32 * Hopper::block_index() + warp();
    return trace_buffer.records + place * trace_buffer.capacity;
  }
  template <Name N>
  static JFA_DEVICE void write(TraceRecord record) {
    if (!leads() || !traced()) return;
    const std::uint32_t index = next_record(warp());
    if (index >= static_cast<std::uint32_t>(trace_buffer.capacity)) return;
    JFA_UNROLL
    for (int i = 0; i < 24; ++i) record.name[i] = N.text[i];
    records_of_warp()[index] = record;
    next_record(warp()) = index + 1;
  }
};

template <class K>
__global__ void __launch_bounds__(K::kThreads, K::kBlocksPerProcessor)
    traced_entry(const __grid_constant__ typename K::Params params) {
  extern __shared__ __align__(1024) unsigned char memory[];
  TracedHopper::begin_trace();
  K::run(params, *reinterpret_cast<typename K::Smem*>(memory));
  TracedHopper::end_trace();
}

/// Device memory that lives as long as this object.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    check_cuda(cudaMalloc(&data_, count * sizeof(T)), "trace memory");
    check_cuda(cudaMemset(data_, 0, count * sizeof(T)), "trace memory");
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* data() const { return static_cast<T*>(data_); }
  std::vector<T> download() const {
    std::vector<T> values(count_);
    check_cuda(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
               "trace download");
    return values;
  }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};

/// Runs kernel K, whose machine is TracedHopper, and returns what its first `traced` blocks did, at
/// most `capacity` records a warp. Waits for the kernel.
template <class K>
std::vector<TracedBlock> trace_launch(int blocks, const typename K::Params& params, int traced,
                                      int capacity) {
  traced = traced < blocks ? traced : blocks;
  const auto warps = static_cast<std::size_t>(32 * traced);
  const auto depth = static_cast<std::size_t>(capacity);
  const DeviceArray<TraceRecord> records(warps * depth);
  const DeviceArray<std::uint32_t> counts(warps);
  const DeviceArray<TraceClocks> clocks(static_cast<std::size_t>(traced));
  const TraceBuffer buffer{records.data(), counts.data(), clocks.data(), capacity, traced};
  check_cuda(cudaMemcpyToSymbol(trace_buffer, &buffer, sizeof(buffer)), "trace buffer");
  launch_entry<K, traced_entry<K>>(blocks, params, nullptr);
  check_cuda(cudaDeviceSynchronize(), "traced kernel");
  const auto all_records = records.download();
  const auto all_counts = counts.download();
  const auto all_clocks = clocks.download();
  std::vector<TracedBlock> result(static_cast<std::size_t>(traced));
  for (std::size_t b = 0; b < result.size(); ++b) {
    result[b].clocks = all_clocks[b];
    for (std::size_t w = 32 * b; w < 32 * b + K::kThreads / 32; ++w) {
      const TraceRecord* first = all_records.data() + w * depth;
      result[b].warps.emplace_back(first, first + all_counts[w]);
    }
  }
  return result;
}

/// Records the second of two launches of K, the first of which warms caches and clocks, on as many
/// blocks as there are multiprocessors: writes Perfetto JSON to `path`, prints a table of waiting.
template <class K>
void write_trace(const char* path, const typename K::Params& params, int traced, int capacity) {
  int processors = 0;
  check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "no GPU");
  trace_launch<K>(processors, params, traced, capacity);
  const auto slices = slices_of(trace_launch<K>(processors, params, traced, capacity));
  std::ofstream file(path);
  write_perfetto(slices, file);
  if (!file) throw std::runtime_error(std::string("cannot write ") + path);
  write_waiting(slices, std::cout);
}

}  // namespace gpu
}  // namespace jfa
