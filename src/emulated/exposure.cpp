#include "emulated/exposure.hpp"

#include <algorithm>
#include <cstdint>

namespace jfa {

using emulator::BufferUse;

namespace {

/// Bytes from the first element of a strided view to the end of its last.
std::size_t extent(std::int64_t outer, std::int64_t outer_stride, std::int64_t inner,
                   std::int64_t inner_stride, std::int64_t elements, std::int64_t element) {
  if (outer == 0 || inner == 0) return 0;
  return static_cast<std::size_t>(
      ((outer - 1) * outer_stride + (inner - 1) * inner_stride + elements) * element);
}

}  // namespace

void Exposure::add(const std::string& name, const void* data, std::size_t bytes,
                   emulator::BufferUse use) {
  constexpr std::uintptr_t kAlignment = 16;  // of an exposed buffer
  if (data == nullptr || bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  stretches_.push_back({name, begin / kAlignment * kAlignment, begin + bytes, use});
}

void Exposure::add(const std::string& name, const ConstTensorView& view, emulator::BufferUse use) {
  add(name, view.data,
      extent(view.rows, view.row_stride, view.heads, view.head_stride, view.head_dim,
             element_size(view.dtype)),
      use);
}

void Exposure::add(const std::string& name, const ConstLseView& view, emulator::BufferUse use) {
  add(name, view.data, extent(view.heads, view.head_stride, 1, 0, view.rows, sizeof(float)), use);
}

void Exposure::add(const std::string& name, const IndexView& view) {
  add(name, view.data, static_cast<std::size_t>(view.size * element_size(view.dtype)),
      emulator::BufferUse::Input);
}

void Exposure::add_indices(const Problem& problem) {
  add("q_offsets", problem.q_offsets);
  add("kv_offsets", problem.kv_offsets);
  add("q_lengths", problem.q_lengths);
  add("kv_lengths", problem.kv_lengths);
  if (!problem.block_sparse) return;
  add("row_offsets", problem.blocks.row_offsets);
  add("columns", problem.blocks.columns);
}

void Exposure::add_inputs(const Problem& problem) {
  add("q", problem.q, BufferUse::Input);
  add("k", problem.k, BufferUse::Input);
  add("v", problem.v, BufferUse::Input);
}

void Exposure::add_backward(const BackwardInputs& given, const BackwardOutputs& outputs,
                            const std::byte* workspace, const BackwardParts& parts) {
  add("out", given.out, BufferUse::Input);
  add("dout", given.dout, BufferUse::Input);
  add("lse", given.lse, BufferUse::Input);
  if (given.dlse) add("dlse", *given.dlse, BufferUse::Input);
  add("dq", outputs.dq, BufferUse::Output);
  add("dk", outputs.dk, BufferUse::Output);
  add("dv", outputs.dv, BufferUse::Output);
  const struct {
    const char* name;
    std::size_t begin, end;
  } all[] = {
      {"planned", parts.plan, parts.statistics}, {"statistics", parts.statistics, parts.dq_sum},
      {"dq_sum", parts.dq_sum, parts.dq_kept},   {"dq_kept", parts.dq_kept, parts.handed},
      {"handed", parts.handed, parts.turns},     {"turns", parts.turns, parts.end}};
  for (const auto& [name, begin, end] : all) {
    add(name, workspace + begin, end - begin, BufferUse::Scratch);
  }
}

void Exposure::expose(emulator::Device& device) {
  std::sort(stretches_.begin(), stretches_.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < stretches_.size();) {
    Stretch all = stretches_[i];
    for (++i; i < stretches_.size() && stretches_[i].begin < all.end; ++i) {
      all.name += ", " + stretches_[i].name;
      all.end = std::max(all.end, stretches_[i].end);
      if (stretches_[i].use != all.use) all.use = emulator::BufferUse::InOut;
    }
    device.expose(all.name, reinterpret_cast<void*>(all.begin), all.end - all.begin, all.use);
  }
}

}  // namespace jfa
