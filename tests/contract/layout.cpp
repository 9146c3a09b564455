#include "layout.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "numeric/half.hpp"

namespace jfa::contract {
namespace {

constexpr int kPoison = 0xFF;

const std::byte* element(const ConstTensorView& view, std::int64_t row, std::int64_t head) {
  return static_cast<const std::byte*>(view.data) +
         (row * view.row_stride + head * view.head_stride) * element_size(view.dtype);
}

std::size_t row_size(const ConstTensorView& view) {
  return static_cast<std::size_t>(view.head_dim * element_size(view.dtype));
}

}  // namespace

TensorGroup::TensorGroup(Layout layout, const Shape& shape, std::int64_t padding) {
  const std::int64_t heads =
      std::accumulate(shape.heads.begin(), shape.heads.end(), std::int64_t{0});
  const std::int64_t steps = layout == Layout::kHeadMajor ? heads : shape.rows;
  const std::int64_t size = padding + shape.rows * heads * shape.head_dim + steps * padding;
  memory_ = HostTensor(shape.dtype, {size});
  std::memset(memory_.data(), kPoison, memory_.bytes());
  place(layout, shape, padding);
}

void TensorGroup::place(Layout layout, const Shape& shape, std::int64_t padding) {
  const auto tensors = static_cast<std::int64_t>(shape.heads.size());
  const std::int64_t dim = shape.head_dim;
  const std::int64_t all_heads =
      std::accumulate(shape.heads.begin(), shape.heads.end(), std::int64_t{0});
  std::int64_t first = padding;
  for (const std::int64_t heads : shape.heads) {
    TensorView view{nullptr, shape.dtype, shape.rows, heads, dim, all_heads * dim + padding, dim};
    view.data = memory_.data() + first * element_size(shape.dtype);
    first += heads * dim;
    if (layout == Layout::kByHead) {
      view.head_stride = tensors * dim;
      first += dim - heads * dim;
    }
    if (layout == Layout::kHeadMajor) {
      view.row_stride = dim;
      view.head_stride = shape.rows * dim + padding;
      first += heads * view.head_stride - heads * dim;
    }
    views_.push_back(view);
  }
}

bool TensorGroup::padding_intact() const {
  const std::byte* const begin = memory_.data();
  std::vector<bool> owned(memory_.bytes());
  for (const ConstTensorView view : views_) {
    for (std::int64_t row = 0; row < view.rows; ++row) {
      for (std::int64_t head = 0; head < view.heads; ++head) {
        const auto at = owned.begin() + (element(view, row, head) - begin);
        std::fill_n(at, row_size(view), true);
      }
    }
  }
  for (std::size_t i = 0; i < owned.size(); ++i) {
    if (!owned[i] && begin[i] != std::byte{kPoison}) return false;
  }
  return true;
}

std::string TensorGroup::bytes() const {
  return {reinterpret_cast<const char*>(memory_.data()), memory_.bytes()};
}

Trio::Trio(Layout layout, DType dtype, Sides rows, Sides heads, std::int64_t head_dim,
           std::int64_t padding) {
  const auto add = [&](std::int64_t group_rows, std::vector<std::int64_t> group_heads) {
    groups_.emplace_back(
        layout, TensorGroup::Shape{dtype, group_rows, std::move(group_heads), head_dim}, padding);
    return groups_.back().views();
  };
  if (layout == Layout::kDense || layout == Layout::kHeadMajor) {
    q = add(rows.q, {heads.q})[0];
    k = add(rows.kv, {heads.kv})[0];
    v = add(rows.kv, {heads.kv})[0];
    return;
  }
  if (rows.q == rows.kv && (layout == Layout::kByTensor || heads.q == heads.kv)) {
    const std::vector<TensorView> all = add(rows.q, {heads.q, heads.kv, heads.kv});
    q = all[0];
    k = all[1];
    v = all[2];
    return;
  }
  q = add(rows.q, {heads.q})[0];
  const std::vector<TensorView> pair = add(rows.kv, {heads.kv, heads.kv});
  k = pair[0];
  v = pair[1];
}

bool Trio::padding_intact() const {
  return std::ranges::all_of(groups_, [](const auto& group) { return group.padding_intact(); });
}

std::string Trio::bytes() const {
  std::string all;
  for (const TensorGroup& group : groups_) all += group.bytes();
  return all;
}

void copy_rows(const HostTensor& from, const std::vector<bool>& used, const TensorView& to) {
  const std::size_t size = row_size(to);
  for (std::int64_t row = 0; row < to.rows; ++row) {
    if (!used[static_cast<std::size_t>(row)]) continue;
    for (std::int64_t head = 0; head < to.heads; ++head) {
      std::memcpy(const_cast<std::byte*>(element(to, row, head)),
                  from.data() + static_cast<std::size_t>(row * to.heads + head) * size, size);
    }
  }
}

void store(const TensorView& view, std::int64_t row, std::int64_t head, std::int64_t d,
           double value) {
  const std::int64_t i = row * view.row_stride + head * view.head_stride + d;
  if (view.dtype == DType::kF32) {
    static_cast<float*>(view.data)[i] = static_cast<float>(value);
    return;
  }
  static_cast<std::uint16_t*>(view.data)[i] =
      encode_half(value, view.dtype == DType::kBf16 ? kBf16Format : kF16Format);
}

void fill_row(const TensorView& view, std::int64_t row, double value) {
  for (std::int64_t head = 0; head < view.heads; ++head) {
    for (std::int64_t d = 0; d < view.head_dim; ++d) store(view, row, head, d, value);
  }
}

std::string row_bytes(const ConstTensorView& view, std::int64_t row) {
  std::string all;
  for (std::int64_t head = 0; head < view.heads; ++head) {
    all.append(reinterpret_cast<const char*>(element(view, row, head)), row_size(view));
  }
  return all;
}

}  // namespace jfa::contract
