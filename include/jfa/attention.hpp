// Attention on jagged batches: forward and backward.
//
// A batch holds B sequences. Sequence b has Lq(b) query rows and Lk(b) key/value rows, packed row
// after row with no padding. With S = softmax_scale * q k^T, softcapped and masked, P = softmax(S):
//
//   out = P v        lse = log(sum(exp(S)))        per query row and head
//
// A row that may attend to nothing, or whose scores are all -inf, has out = 0 and lse = -inf and
// contributes nothing to any gradient. A NaN or Inf inside one sequence changes nothing outside it
// (except dq with broadcast_q, a sum over all). Rows in gaps and past the last offset are never
// read; there out, dq, dk, dv are written as zero and lse as -inf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "jfa/error.hpp"
#include "jfa/export.h"
#include "jfa/mask.hpp"
#include "jfa/tensor.hpp"

namespace jfa {

/// What attention is computed of. B = kv_offsets.size - 1.
struct Inputs {
  /// `[total_q, heads_q, head_dim]`; without q_offsets (broadcast_q) `[Lq, heads_q, head_dim]`,
  /// one dense query block that every sequence shares.
  ConstTensorView q;
  ConstTensorView k;  ///< `[total_kv, heads_kv, head_dim]`; heads_q is a multiple of heads_kv
  ConstTensorView v;  ///< as k
  /// `[B + 1]`: sequence b owns rows offsets[b] .. offsets[b + 1] - 1. Starts at 0, never
  /// decreases.
  IndexView kv_offsets;
  std::optional<IndexView> q_offsets = std::nullopt;  ///< `[B + 1]`; absent: broadcast_q
  std::optional<IndexView> kv_lengths =
      std::nullopt;  ///< `[B]`: rows in use of each sequence; the rest is a gap
  std::optional<IndexView> q_lengths = std::nullopt;  ///< as kv_lengths; refused with broadcast_q
};

/// How it is computed.
struct Options {
  Mask mask;
  std::optional<double> softmax_scale =
      std::nullopt;    ///< any finite value; absent: 1 / sqrt(head_dim)
  double softcap = 0;  ///< c > 0: scores become c * tanh(S / c) before masking; 0: off
  /// Equal inputs give bitwise equal results on the same machine. The CPU engine always does,
  /// whatever the number of threads.
  bool deterministic = false;
};

struct ForwardOutputs {
  TensorView out;  ///< rows of q; with broadcast_q `[B * Lq, heads_q, head_dim]`, sequence-major
  LseView lse;     ///< `[heads_q, rows of out]`; a null data pointer: not wanted
};

/// Results of forward that backward needs, and the gradients that flow in.
struct BackwardInputs {
  ConstTensorView dout;                             ///< as out
  ConstTensorView out;                              ///< as written by forward
  ConstLseView lse;                                 ///< as written by forward
  std::optional<ConstLseView> dlse = std::nullopt;  ///< gradient into lse, as lse; absent: zero
};

struct BackwardOutputs {
  TensorView dq;  ///< as q; with broadcast_q the sum over the batch
  TensorView dk;  ///< as k
  TensorView dv;  ///< as v
};

/// Where a call runs.
enum class Device : std::int32_t { kCpu = 0, kCuda = 1, kEmulator = 2 };

/// On kCuda every pointer is to memory of the calling thread's current device, and a call only
/// enqueues work on `stream`: it neither waits nor allocates, and may be captured in a graph.
struct Execution {
  Device device = Device::kCpu;
  int threads = 0;  ///< CPU engine: threads to use; 0: all cores
  /// Scratch, 64-byte aligned. Null: the CPU engine and the emulator allocate their own; kCuda
  /// refuses that.
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;  ///< at least workspace_sizes() of the call
  void* stream = nullptr;           ///< kCuda: the cudaStream_t; null: the default stream
  /// kCuda and kEmulator do not check offsets, lengths and plan by value, unless this is given:
  /// they then write here what is wrong with them, or 0. See throw_if_check_failed(). 8-byte
  /// aligned. The CPU engine, which always checks, refuses it.
  std::uint64_t* check = nullptr;
};

/// A batch's schedule, made once from offsets, lengths and mask and reused by every layer's forward
/// and backward call with the same offsets, lengths and mask. Copies what it needs.
///
/// On kCuda it is made on the device, by work enqueued on `execution.stream`, in the memory at
/// `execution.workspace` (workspace_sizes().plan bytes), which it keeps using: that memory lives as
/// long as calls that read the plan. Calls on other streams wait for it by an event of the
/// caller's.
class JFA_API Plan {
 public:
  /// Reads shapes, offsets, lengths and mask; throws Error where they break the contract.
  Plan(const Inputs& inputs, const Options& options, const Execution& execution = {});
  ~Plan();
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;

  struct Impl;
  const Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Bytes of workspace that forward, backward and the making of a Plan need; known from shapes
/// alone.
struct WorkspaceSizes {
  std::size_t forward = 0;
  std::size_t backward = 0;
  std::size_t plan = 0;
};
JFA_API WorkspaceSizes workspace_sizes(const Inputs& inputs, const Options& options,
                                       const Execution& execution = {});

/// Computes out and lse. Throws Error; then nothing is written.
/// With a plan that was made for other offsets, lengths, shapes or masks it throws.
JFA_API void forward(const Inputs& inputs, const Options& options, const ForwardOutputs& outputs,
                     const Execution& execution = {}, const Plan* plan = nullptr);

/// Computes dq, dk and dv from the results of forward with the same inputs and options.
/// Throws Error; then nothing is written.
JFA_API void backward(const Inputs& inputs, const Options& options, const BackwardInputs& given,
                      const BackwardOutputs& outputs, const Execution& execution = {},
                      const Plan* plan = nullptr);

/// Throws Error where the value that a call left at Execution::check says that offsets, lengths or
/// the plan were wrong. What it wrote is then unspecified, but inside the outputs.
JFA_API void throw_if_check_failed(std::uint64_t check);

/// "major.minor.patch"
JFA_API const char* version() noexcept;

}  // namespace jfa
