#include "mirror.hpp"

#include <algorithm>

namespace jfa::contract {
namespace {

constexpr std::uintptr_t kAlignment = 64;  // of host tensors, kept on the device

std::int64_t bytes_of(const ConstTensorView& view) {
  if (view.rows == 0) return 0;
  const std::int64_t last = (view.rows - 1) * view.row_stride + (view.heads - 1) * view.head_stride;
  return (last + view.head_dim) * element_size(view.dtype);
}

std::int64_t bytes_of(const ConstLseView& view) {
  if (view.rows == 0) return 0;
  return ((view.heads - 1) * view.head_stride + view.rows) *
         static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

void Mirror::add(const void* data, std::int64_t bytes) {
  if (data == nullptr || bytes == 0) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  stretches_.push_back({begin, begin + static_cast<std::uintptr_t>(bytes), nullptr});
}

void Mirror::add(const ConstTensorView& view) { add(view.data, bytes_of(view)); }
void Mirror::add(const ConstLseView& view) { add(view.data, bytes_of(view)); }
void Mirror::add(const IndexView& view) { add(view.data, view.size * element_size(view.dtype)); }

void Mirror::upload() {
  std::sort(stretches_.begin(), stretches_.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  std::vector<Stretch> merged;
  for (const Stretch& s : stretches_) {
    if (!merged.empty() && s.begin < merged.back().end) {
      merged.back().end = std::max(merged.back().end, s.end);
    } else {
      merged.push_back(s);
    }
  }
  for (Stretch& s : merged) {
    const std::uintptr_t shift = s.begin % kAlignment;
    s.copy = &memory_.emplace_back(s.end - s.begin + shift);
    s.copy->upload(reinterpret_cast<const void*>(s.begin), shift, s.end - s.begin);
  }
  stretches_ = merged;
}

const Mirror::Stretch* Mirror::find(const void* host) const {
  const auto at = reinterpret_cast<std::uintptr_t>(host);
  for (const Stretch& s : stretches_) {
    if (s.begin <= at && at < s.end) return &s;
  }
  return nullptr;
}

void* Mirror::moved(const void* host) const {
  const Stretch* s = find(host);
  if (s == nullptr) return nullptr;
  return s->copy->data() + (s->begin % kAlignment) +
         (reinterpret_cast<std::uintptr_t>(host) - s->begin);
}

void Mirror::download_at(const void* host) {
  const Stretch* s = find(host);
  if (s == nullptr) return;
  s->copy->download(reinterpret_cast<void*>(s->begin), s->begin % kAlignment, s->end - s->begin);
}

void Mirror::download(const ConstTensorView& view) { download_at(view.data); }
void Mirror::download(const ConstLseView& view) { download_at(view.data); }

}  // namespace jfa::contract
