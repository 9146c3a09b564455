#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "problem/overlap.hpp"
#include "problem/problem.hpp"

namespace jfa {
namespace {

constexpr std::int64_t kMaxHeadDim = 256;
/// Limit of every count, stride and extent, in elements: sums of a few of them, in bytes, fit 64
/// bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 56;

/// What is refused: a whole, "softcap", or its part, "q" ".rows". A text only where it is refused:
/// texts are what these checks would take most of their time for.
class Name {
 public:
  constexpr Name(const char* whole, const char* part = "") : whole_(whole), part_(part) {}
  std::string text() const { return std::string(whole_) + part_; }

 private:
  const char* whole_;
  const char* part_;
};

/// "name is value, must be allowed"
Status refuse(Name name, const std::string& value, std::string_view allowed) {
  return invalid_argument(name.text() + " is " + value + ", must be " + std::string(allowed));
}

Status refuse(Name name, std::int64_t value, std::string_view allowed) {
  return refuse(name, std::to_string(value), allowed);
}

/// Shortest form that still shows small and large values apart from 0 and from each other.
std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kBf16:
      return "bf16";
    case DType::kF16:
      return "fp16";
    case DType::kF32:
      return "fp32";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
  }
  return "unknown (" + std::to_string(static_cast<std::int32_t>(dtype)) + ")";
}

bool is_aligned(const void* data, std::int64_t alignment) {
  return reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(alignment) == 0;
}

/// a * b with a, b >= 0. Whether it is within the limit.
bool multiply(std::int64_t a, std::int64_t b, std::int64_t& product) {
  return !__builtin_mul_overflow(a, b, &product) && product <= kMaxElements;
}

Status too_large(Name name, std::int64_t a, std::int64_t b) {
  return invalid_argument(name.text() + " is too large: " + std::to_string(a) + " x " +
                          std::to_string(b) + " exceeds 2^56 elements");
}

/// A stride and the extent of the `count` steps it takes.
Status check_stride(Name name, std::int64_t stride, std::int64_t count) {
  if (stride < 0 || stride > kMaxElements) return refuse(name, stride, "0 to 2^56");
  std::int64_t extent = 0;
  return multiply(count, stride, extent) ? Status() : too_large(name, count, stride);
}

std::string address(const void* data) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", data);
  return text;
}

Status misaligned(Name name, const void* data, std::int64_t alignment) {
  return refuse(name, address(data), "aligned to " + std::to_string(alignment) + " bytes");
}

Status check_pointer(const char* name, const void* data, std::int64_t elements,
                     std::int64_t alignment) {
  if (elements > 0 && data == nullptr) {
    return invalid_argument(Name(name, ".data").text() + " is null, must point to " +
                            std::to_string(elements) + " elements");
  }
  if (!is_aligned(data, alignment)) return misaligned({name, ".data"}, data, alignment);
  return {};
}

/// Shape, strides and pointer of one attention tensor.
Status check_tensor(const char* name, const ConstTensorView& t) {
  if (t.rows < 0) return refuse({name, ".rows"}, t.rows, "at least 0");
  if (t.heads < 1) return refuse({name, ".heads"}, t.heads, "at least 1");
  if (t.head_dim < 1 || t.head_dim > kMaxHeadDim) {
    return refuse({name, ".head_dim"}, t.head_dim, "1 to 256");
  }
  if (t.dtype != DType::kBf16 && t.dtype != DType::kF16 && t.dtype != DType::kF32) {
    return refuse({name, ".dtype"}, dtype_name(t.dtype), "bf16, fp16 or fp32");
  }
  JFA_RETURN_IF_ERROR(check_stride({name, ".row_stride"}, t.row_stride, t.rows));
  JFA_RETURN_IF_ERROR(check_stride({name, ".head_stride"}, t.head_stride, t.heads));
  std::int64_t of_row = 0;
  std::int64_t elements = 0;
  if (!multiply(t.heads, t.head_dim, of_row)) return too_large(name, t.heads, t.head_dim);
  if (!multiply(t.rows, of_row, elements)) return too_large(name, t.rows, of_row);
  return check_pointer(name, t.data, elements, element_size(t.dtype));
}

Status check_index(const char* name, const IndexView& view) {
  if (view.dtype != DType::kI32 && view.dtype != DType::kI64) {
    return refuse({name, ".dtype"}, dtype_name(view.dtype), "int32 or int64");
  }
  if (view.size < 0 || view.size > kMaxElements) {
    return refuse({name, ".size"}, view.size, "0 to 2^56");
  }
  return check_pointer(name, view.data, view.size, element_size(view.dtype));
}

/// An optional index array with exactly `size` entries.
Status take_index(const char* name, const std::optional<IndexView>& given, std::int64_t size,
                  IndexView& taken) {
  if (!given) return {};
  JFA_RETURN_IF_ERROR(check_index(name, *given));
  if (given->size != size) {
    return refuse({name, ".size"}, given->size,
                  std::to_string(size) + ", from kv_offsets.size = B + 1");
  }
  taken = *given;
  return {};
}

/// A tensor like `model` but for its rows: as many, or with broadcast_q B times as many.
Status check_like(const char* name, const ConstTensorView& t, const char* model_name,
                  const ConstTensorView& model, std::int64_t rows) {
  JFA_RETURN_IF_ERROR(check_tensor(name, t));
  if (t.rows != rows) {
    return refuse(
        {name, ".rows"}, t.rows,
        std::to_string(rows) + (rows == model.rows ? ", as " : ", B x ") + model_name + ".rows");
  }
  if (t.heads != model.heads) {
    return refuse({name, ".heads"}, t.heads,
                  std::to_string(model.heads) + ", as " + model_name + ".heads");
  }
  if (t.head_dim != model.head_dim) {
    return refuse({name, ".head_dim"}, t.head_dim,
                  std::to_string(model.head_dim) + ", as " + model_name + ".head_dim");
  }
  if (t.dtype != model.dtype) {
    return refuse({name, ".dtype"}, dtype_name(t.dtype),
                  dtype_name(model.dtype) + ", as " + model_name + ".dtype");
  }
  return {};
}

Status check_attention_tensors(const Inputs& in, Problem& problem) {
  JFA_RETURN_IF_ERROR(check_tensor("q", in.q));
  JFA_RETURN_IF_ERROR(check_tensor("k", in.k));
  if (in.k.dtype != in.q.dtype) {
    return refuse("k.dtype", dtype_name(in.k.dtype), dtype_name(in.q.dtype) + ", as q.dtype");
  }
  if (in.k.head_dim != in.q.head_dim) {
    return refuse("k.head_dim", in.k.head_dim, std::to_string(in.q.head_dim) + ", as q.head_dim");
  }
  JFA_RETURN_IF_ERROR(check_like("v", in.v, "k", in.k, in.k.rows));
  if (in.q.heads % in.k.heads != 0) {
    return refuse("q.heads", in.q.heads, "a multiple of k.heads = " + std::to_string(in.k.heads));
  }
  problem.q = in.q;
  problem.k = in.k;
  problem.v = in.v;
  problem.head_dim = in.q.head_dim;
  problem.heads_q = in.q.heads;
  problem.heads_kv = in.k.heads;
  problem.group_size = in.q.heads / in.k.heads;
  return {};
}

Status check_batch(const Inputs& in, Problem& problem) {
  JFA_RETURN_IF_ERROR(check_index("kv_offsets", in.kv_offsets));
  if (in.kv_offsets.size < 1) {
    return refuse("kv_offsets.size", in.kv_offsets.size, "B + 1, at least 1");
  }
  problem.kv_offsets = in.kv_offsets;
  problem.batch = in.kv_offsets.size - 1;
  problem.broadcast_q = !in.q_offsets;
  if (problem.broadcast_q && in.q_lengths) {
    return invalid_argument(
        "q_lengths is given without q_offsets, must be absent with broadcast_q: every sequence "
        "uses all rows of q");
  }
  JFA_RETURN_IF_ERROR(take_index("q_offsets", in.q_offsets, problem.batch + 1, problem.q_offsets));
  JFA_RETURN_IF_ERROR(take_index("q_lengths", in.q_lengths, problem.batch, problem.q_lengths));
  JFA_RETURN_IF_ERROR(take_index("kv_lengths", in.kv_lengths, problem.batch, problem.kv_lengths));
  problem.out_rows = in.q.rows;
  if (!problem.broadcast_q) return {};
  const std::int64_t of_row = in.q.heads * in.q.head_dim;
  std::int64_t elements = 0;
  if (!multiply(problem.batch, in.q.rows, problem.out_rows)) {
    return too_large("out", problem.batch, in.q.rows);
  }
  if (!multiply(problem.out_rows, of_row, elements)) {
    return too_large("out", problem.out_rows, of_row);
  }
  return {};
}

Status check_blocks(const BlockSparse& blocks, Problem& problem) {
  for (const auto& [name, size] : {std::pair{"mask.block_sparse.block_q", blocks.block_q},
                                   std::pair{"mask.block_sparse.block_kv", blocks.block_kv}}) {
    if (size < 64 || size % 64 != 0 || size > kMaxElements) {
      return refuse(name, size, "a positive multiple of 64, at most 2^56");
    }
  }
  if (blocks.heads != 1 && blocks.heads != problem.heads_q) {
    return refuse("mask.block_sparse.heads", blocks.heads,
                  "1 or q.heads = " + std::to_string(problem.heads_q));
  }
  JFA_RETURN_IF_ERROR(check_index("mask.block_sparse.row_offsets", blocks.row_offsets));
  JFA_RETURN_IF_ERROR(check_index("mask.block_sparse.columns", blocks.columns));
  if (blocks.row_offsets.size < blocks.heads || blocks.row_offsets.size % blocks.heads != 0) {
    return refuse(
        "mask.block_sparse.row_offsets.size", blocks.row_offsets.size,
        "heads x (n + 1 or more), a positive multiple of heads = " + std::to_string(blocks.heads));
  }
  problem.block_sparse = true;
  problem.blocks = blocks;
  return {};
}

Status check_window(const Mask& mask, Problem& problem) {
  Window window = mask.window;
  if (window.left < -1) return refuse("mask.window.left", window.left, "-1 (unbounded) or more");
  if (window.right < -1) {
    return refuse("mask.window.right", window.right, "-1 (unbounded) or more");
  }
  if (mask.causal) window.right = 0;
  // A side that reaches past every sequence bounds nothing; saying so keeps sums inside 64 bits.
  if (window.left > kMaxElements) window.left = -1;
  if (window.right > kMaxElements) window.right = -1;
  problem.window = window;
  return {};
}

Status check_options(const Options& options, Problem& problem) {
  problem.softmax_scale =
      options.softmax_scale.value_or(1.0 / std::sqrt(static_cast<double>(problem.head_dim)));
  // Engines compute in fp32, so a value only fp64 can hold would become infinite there, and the
  // inverse of a subnormal softcap would too.
  constexpr double max_float = std::numeric_limits<float>::max();
  constexpr double min_normal = std::numeric_limits<float>::min();
  if (!(std::abs(problem.softmax_scale) <= max_float)) {
    return refuse("softmax_scale", number(problem.softmax_scale), "finite in fp32");
  }
  const double cap = options.softcap;
  if (!(cap == 0 || (cap >= min_normal && cap <= max_float))) {
    return refuse("softcap", number(cap), "0 (off) or a positive number, normal in fp32");
  }
  problem.softcap = options.softcap;
  problem.deterministic = options.deterministic;
  JFA_RETURN_IF_ERROR(check_window(options.mask, problem));
  if (options.mask.block_sparse) {
    JFA_RETURN_IF_ERROR(check_blocks(*options.mask.block_sparse, problem));
  }
  return {};
}

Status check_execution(const Execution& execution) {
  if (execution.threads < 0) {
    return refuse("execution.threads", execution.threads, "0 (all cores) or more");
  }
  if (!is_aligned(execution.workspace, 64)) {
    return misaligned("execution.workspace", execution.workspace, 64);
  }
  if (!is_aligned(execution.check, 8)) {
    return misaligned("execution.check", execution.check, 8);
  }
  if (execution.device == Device::kCpu && execution.check != nullptr) {
    return refuse("execution.check", address(execution.check),
                  "null on device cpu, which always checks");
  }
  if (execution.device != Device::kCuda && execution.stream != nullptr) {
    return refuse("execution.stream", address(execution.stream), "null but on device cuda");
  }
  return {};
}

// ---- what kernels of a GPU take

Status not_on_gpu(Name name, const std::string& value, const std::string& allowed) {
  return {ErrorCode::kUnsupported,
          name.text() + " is " + value + ", must be " + allowed + " on a GPU"};
}

/// What copies through tensor maps ask of a tensor that check_tensor has let pass.
Status check_gpu_tensor(const char* name, const ConstTensorView& t) {
  constexpr std::int64_t kMultiple = 8;  // elements in 16 bytes
  constexpr std::int64_t kMaxRows = 0x7fff0000;
  constexpr std::int64_t kMaxRowStride = std::int64_t{1} << 32;
  constexpr std::int64_t kMaxHeadStride = (std::int64_t{1} << 39) - kMultiple;
  if (t.dtype == DType::kF32) return not_on_gpu({name, ".dtype"}, "fp32", "bf16 or fp16");
  for (const auto& [what, value] :
       {std::pair{".head_dim", t.head_dim}, std::pair{".row_stride", t.row_stride},
        std::pair{".head_stride", t.head_stride}}) {
    if (value % kMultiple == 0) continue;
    return not_on_gpu({name, what}, std::to_string(value), "a multiple of 8");
  }
  for (const auto& [what, value, most] :
       {std::tuple{".rows", t.rows, kMaxRows},
        std::tuple{".row_stride", t.row_stride, kMaxRowStride},
        std::tuple{".head_stride", t.head_stride, kMaxHeadStride}}) {
    if (value <= most) continue;
    return not_on_gpu({name, what}, std::to_string(value), "at most " + std::to_string(most));
  }
  if (!is_aligned(t.data, 16)) {
    return not_on_gpu({name, ".data"}, address(t.data), "aligned to 16 bytes");
  }
  return {};
}

Status check_gpu_inputs(const Problem& problem) {
  constexpr std::int64_t kMaxBatch = std::int64_t{1} << 26;
  constexpr std::int64_t kMaxHeadRows = std::int64_t{1} << 37;  // counts of tiles fit 31 bits
  JFA_RETURN_IF_ERROR(check_gpu_tensor("q", problem.q));
  JFA_RETURN_IF_ERROR(check_gpu_tensor("k", problem.k));
  JFA_RETURN_IF_ERROR(check_gpu_tensor("v", problem.v));
  if (problem.batch > kMaxBatch) {
    return not_on_gpu("B", std::to_string(problem.batch), "at most " + std::to_string(kMaxBatch));
  }
  const std::int64_t rows = problem.out_rows + 128 * problem.batch;  // tiles may be part-filled
  if (rows > kMaxHeadRows / problem.heads_q) {
    return not_on_gpu("q.heads x (the rows of out + 128 B)",
                      std::to_string(problem.heads_q) + " x " + std::to_string(rows),
                      "at most " + std::to_string(kMaxHeadRows));
  }
  return {};
}

bool is_gpu(const Execution& execution) { return execution.device != Device::kCpu; }

/// A named thing a call reads or writes, for the overlap check.
struct Named {
  const char* name;
  Footprint memory;
};

/// Refuses a written tensor that shares memory with itself or with any other.
Status check_disjoint(std::span<const Named> written,
                      std::initializer_list<std::span<const Named>> read) {
  const auto check_apart = [](const Named& output, std::span<const Named> others) -> Status {
    for (const Named& other : others) {
      if (!may_overlap(output.memory, other.memory)) continue;
      return invalid_argument(std::string(output.name) + " overlaps " + other.name +
                              ", outputs must not share memory with other tensors");
    }
    return {};
  };
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (overlaps_itself(written[i].memory)) {
      return invalid_argument(std::string(written[i].name) +
                              " overlaps itself, its strides must keep rows and heads apart");
    }
    JFA_RETURN_IF_ERROR(check_apart(written[i], written.first(i)));
    for (const auto& others : read) JFA_RETURN_IF_ERROR(check_apart(written[i], others));
  }
  return {};
}

Footprint workspace_of(const Execution& execution) noexcept {
  constexpr auto max_bytes = static_cast<std::size_t>(kMaxElements);
  return footprint(execution.workspace,
                   static_cast<std::int64_t>(std::min(execution.workspace_bytes, max_bytes)));
}

Footprint check_word_of(const Execution& execution) noexcept {
  return footprint(execution.check, sizeof(*execution.check));
}

/// What every call reads.
std::array<Named, 9> inputs_of(const Problem& problem) {
  return {{{"q", footprint(problem.q)},
           {"k", footprint(problem.k)},
           {"v", footprint(problem.v)},
           {"q_offsets", footprint(problem.q_offsets)},
           {"kv_offsets", footprint(problem.kv_offsets)},
           {"q_lengths", footprint(problem.q_lengths)},
           {"kv_lengths", footprint(problem.kv_lengths)},
           {"mask.block_sparse.row_offsets", footprint(problem.blocks.row_offsets)},
           {"mask.block_sparse.columns", footprint(problem.blocks.columns)}}};
}

template <typename Pointer>
Status check_lse(const char* name, const BasicLseView<Pointer>& lse, const Problem& problem) {
  if (lse.heads != problem.heads_q) {
    return refuse({name, ".heads"}, lse.heads, std::to_string(problem.heads_q) + ", as q.heads");
  }
  if (lse.rows != problem.out_rows) {
    return refuse({name, ".rows"}, lse.rows,
                  std::to_string(problem.out_rows) + ", the rows of out");
  }
  JFA_RETURN_IF_ERROR(check_stride({name, ".head_stride"}, lse.head_stride, lse.heads));
  return check_pointer(name, lse.data, lse.heads * lse.rows, sizeof(float));
}

}  // namespace

Status check_inputs(const Inputs& inputs, const Options& options, const Execution& execution,
                    Problem& problem) {
  problem = {};
  JFA_RETURN_IF_ERROR(check_execution(execution));
  JFA_RETURN_IF_ERROR(check_attention_tensors(inputs, problem));
  JFA_RETURN_IF_ERROR(check_batch(inputs, problem));
  JFA_RETURN_IF_ERROR(check_options(options, problem));
  return is_gpu(execution) ? check_gpu_inputs(problem) : Status();
}

Status check_forward_outputs(const Problem& problem, const ForwardOutputs& outputs,
                             const Execution& execution) {
  JFA_RETURN_IF_ERROR(check_like("out", outputs.out, "q", problem.q, problem.out_rows));
  if (is_gpu(execution)) JFA_RETURN_IF_ERROR(check_gpu_tensor("out", outputs.out));
  const bool wants_lse = outputs.lse.data != nullptr;
  if (wants_lse) JFA_RETURN_IF_ERROR(check_lse("lse", outputs.lse, problem));
  const Named written[] = {{"out", footprint(outputs.out)},
                           {"lse", wants_lse ? footprint(ConstLseView(outputs.lse)) : Footprint{}},
                           {"execution.workspace", workspace_of(execution)},
                           {"execution.check", check_word_of(execution)}};
  return check_disjoint(written, {inputs_of(problem)});
}

Status check_backward(const Problem& problem, const BackwardInputs& given,
                      const BackwardOutputs& outputs, const Execution& execution) {
  JFA_RETURN_IF_ERROR(check_like("dout", given.dout, "q", problem.q, problem.out_rows));
  JFA_RETURN_IF_ERROR(check_like("out", given.out, "q", problem.q, problem.out_rows));
  JFA_RETURN_IF_ERROR(check_lse("lse", given.lse, problem));
  if (given.dlse) JFA_RETURN_IF_ERROR(check_lse("dlse", *given.dlse, problem));
  JFA_RETURN_IF_ERROR(check_like("dq", outputs.dq, "q", problem.q, problem.q.rows));
  JFA_RETURN_IF_ERROR(check_like("dk", outputs.dk, "k", problem.k, problem.k.rows));
  JFA_RETURN_IF_ERROR(check_like("dv", outputs.dv, "v", problem.v, problem.v.rows));
  if (is_gpu(execution)) {
    JFA_RETURN_IF_ERROR(check_gpu_tensor("dout", given.dout));
    JFA_RETURN_IF_ERROR(check_gpu_tensor("out", given.out));
    JFA_RETURN_IF_ERROR(check_gpu_tensor("dq", outputs.dq));
    JFA_RETURN_IF_ERROR(check_gpu_tensor("dk", outputs.dk));
    JFA_RETURN_IF_ERROR(check_gpu_tensor("dv", outputs.dv));
  }
  const Named written[] = {{"dq", footprint(outputs.dq)},
                           {"dk", footprint(outputs.dk)},
                           {"dv", footprint(outputs.dv)},
                           {"execution.workspace", workspace_of(execution)},
                           {"execution.check", check_word_of(execution)}};
  const Named of_backward[] = {{"dout", footprint(given.dout)},
                               {"out", footprint(given.out)},
                               {"lse", footprint(given.lse)},
                               {"dlse", given.dlse ? footprint(*given.dlse) : Footprint{}}};
  return check_disjoint(written, {inputs_of(problem), of_backward});
}

}  // namespace jfa
