#include "scenario.hpp"

#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

namespace jfa::contract {
namespace {

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::int64_t draw_length(Draw& draw) {
  if (draw.chance(25)) return draw.below(301);
  return draw.of<std::int64_t>({0, 0, 1, 2, 7, 17, 63, 64, 65, 127, 128, 129, 191, 257, 300});
}

/// How many rows sequences have: as many of q as of k, few of q beside many of k, or any.
enum class Kind : std::uint8_t { kAny, kSelfAttention, kFewQueries };

Lengths draw_sequence(Draw& draw, const Scenario& s, Kind kind, bool gaps) {
  const bool self_attention = kind == Kind::kSelfAttention;
  Lengths lengths;
  lengths.rows.kv = draw_length(draw);
  lengths.rows.q = s.broadcast_q    ? s.q_length
                   : self_attention ? lengths.rows.kv
                                    : draw_length(draw);
  if (kind == Kind::kFewQueries) {
    lengths.rows.q = draw.of<std::int64_t>({0, 1, 5, 17, 63, 64, 65, 100, 128, 130});
    lengths.rows.kv += 257;
  }
  if (!gaps) return lengths;
  lengths.gap.kv = draw.of<std::int64_t>({0, 0, 1, 5, 70});
  lengths.gap.q = s.broadcast_q ? 0 : self_attention ? lengths.gap.kv : draw.below(9);
  return lengths;
}

void draw_sequences(Draw& draw, double budget, Scenario& s) {
  s.broadcast_q = draw.chance(25);
  if (s.broadcast_q) s.q_length = draw.of<std::int64_t>({0, 1, 16, 63, 64, 65, 130});
  const Kind kind = s.broadcast_q     ? Kind::kAny
                    : draw.chance(40) ? Kind::kSelfAttention
                    : draw.chance(30) ? Kind::kFewQueries
                                      : Kind::kAny;
  const bool self_attention = kind == Kind::kSelfAttention;
  const bool gaps = draw.chance(40);
  const auto count = draw.of<std::int64_t>({0, 1, 2, 3, 4, 5, 6, 8, 12});
  double cost = 0;
  for (std::int64_t b = 0; b < count; ++b) {
    const Lengths lengths = draw_sequence(draw, s, kind, gaps);
    cost += static_cast<double>(lengths.rows.q * lengths.rows.kv * s.heads_q() * s.head_dim);
    if (cost > budget && !s.sequences.empty()) break;
    s.sequences.push_back(lengths);
  }
  if (!draw.chance(50)) return;
  s.slack.kv = draw.of<std::int64_t>({1, 3, 64, 100});
  s.slack.q = s.broadcast_q ? 0 : self_attention ? s.slack.kv : draw.below(80);
}

void draw_mask(Draw& draw, Scenario& s) {
  s.causal = draw.chance(30);
  if (draw.chance(40)) {
    s.window.left = draw.of<std::int64_t>({-1, 0, 1, 5, 63, 64, 100, 1000});
    s.window.right = draw.of<std::int64_t>({-1, 0, 1, 7, 64, 90});
  }
  if (!draw.chance(30)) return;
  s.blocks = BlockLists{draw.of<std::int64_t>({64, 128}), draw.of<std::int64_t>({64, 128, 192}),
                        draw.chance(50), draw.of({20, 50, 90})};
}

void append_index(std::vector<std::int64_t>& values, std::size_t count, std::int64_t value) {
  values.insert(values.end(), count, value);
}

HostTensor index_tensor(const std::vector<std::int64_t>& values, bool wide) {
  HostTensor tensor(wide ? DType::kI64 : DType::kI32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensor.set(static_cast<std::int64_t>(i), static_cast<double>(values[i]));
  }
  return tensor;
}

/// On the calling thread alone: ThreadSanitizer does not see what the packaged oneTBB orders.
HostTensor one_thread_random(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed) {
  tbb::task_arena arena(1);
  return arena.execute([&] { return random_tensor(dtype, std::move(shape), seed); });
}

const char* name_of(DType dtype) {
  return dtype == DType::kBf16 ? "bf16" : dtype == DType::kF16 ? "fp16" : "fp32";
}

}  // namespace

std::uint64_t Draw::bits() {
  state_ += 0x9E3779B97F4A7C15U;  // SplitMix64
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

Scenario draw_scenario(std::uint64_t seed, const Limits& limits, double budget) {
  Draw draw(seed);
  Scenario s;
  s.seed = draw.bits();
  s.dtype = draw.of({DType::kBf16, DType::kF16, DType::kF32});
  if (!takes(limits, s.dtype)) s.dtype = DType::kBf16;
  s.head_dim = round_up(draw.of<std::int64_t>({1, 3, 8, 33, 64, 64, 96, 128, 128, 200, 256}),
                        limits.head_dim_multiple);
  s.head_dim = std::min(s.head_dim, limits.max_head_dim);
  s.heads_kv = draw.of<std::int64_t>({1, 1, 2, 3});
  s.group_size = draw.of<std::int64_t>({1, 1, 2, 3, 8});
  draw_sequences(draw, budget, s);
  s.wide_q_offsets = draw.chance(30);
  s.wide_kv_offsets = draw.chance(30);
  draw_mask(draw, s);
  if (!limits.block_sparse) s.blocks.reset();
  const double usual = 1 / std::sqrt(static_cast<double>(s.head_dim));
  if (draw.chance(50)) s.scale = draw.of({0.0, -usual, 2 * usual, -0.3 * usual});
  if (draw.chance(30)) s.softcap = draw.of({0.5, 2.0, 30.0});
  if (!limits.softcap) s.softcap = 0;
  s.deterministic = draw.chance(30);
  s.dlse = draw.chance(50);
  s.layout = draw.of({Layout::kDense, Layout::kHeadMajor, Layout::kByTensor, Layout::kByHead});
  s.padding = draw.of<std::int64_t>({0, 1, 8}) * limits.stride_multiple;
  return s;
}

std::string Scenario::describe() const {
  std::ostringstream text;
  text << name_of(dtype) << " head_dim " << head_dim << " heads " << heads_q() << "/" << heads_kv
       << (broadcast_q ? " broadcast_q" : "") << " sequences (q x kv + gaps):";
  for (const Lengths& l : sequences) {
    text << ' ' << l.rows.q << 'x' << l.rows.kv;
    if (l.gap.q + l.gap.kv > 0) text << '+' << l.gap.q << 'x' << l.gap.kv;
  }
  text << " slack " << slack.q << 'x' << slack.kv << " offsets " << (wide_q_offsets ? 64 : 32)
       << '/' << (wide_kv_offsets ? 64 : 32) << (causal ? " causal" : "") << " window "
       << window.left << ',' << window.right;
  if (blocks) {
    text << " blocks " << blocks->block_q << 'x' << blocks->block_kv << ' ' << blocks->percent
         << '%' << (blocks->by_head ? " by head" : "");
  }
  if (scale) text << " scale " << *scale;
  text << " softcap " << softcap << (deterministic ? " deterministic" : "") << (dlse ? " dlse" : "")
       << " layout " << static_cast<int>(layout) << " padding " << padding;
  return text.str();
}

Data::Data(const Scenario& scenario)
    : scenario_(scenario),
      rows_([&] {
        Sides rows{scenario.slack.q, scenario.slack.kv};
        for (const Lengths& l : scenario.sequences) {
          rows.q += l.rows.q + l.gap.q;
          rows.kv += l.rows.kv + l.gap.kv;
        }
        if (scenario.broadcast_q) rows.q = scenario.q_length;
        return rows;
      }()),
      out_rows_(scenario.broadcast_q
                    ? scenario.q_length * static_cast<std::int64_t>(scenario.sequences.size())
                    : rows_.q),
      qkv_(scenario.layout, scenario.dtype, rows_, {scenario.heads_q(), scenario.heads_kv},
           scenario.head_dim, scenario.padding),
      dout_(scenario.layout, {scenario.dtype, out_rows_, {scenario.heads_q()}, scenario.head_dim},
            scenario.padding),
      dout_view_(dout_.views()[0]) {
  place_sequences();
  make_indices();
  if (scenario_.blocks) make_block_lists();
  fill();
  inputs_.q = qkv_.q;
  inputs_.k = qkv_.k;
  inputs_.v = qkv_.v;
  options_.mask.causal = scenario_.causal;
  options_.mask.window = scenario_.window;
  options_.softmax_scale = scenario_.scale;
  options_.softcap = scenario_.softcap;
  options_.deterministic = scenario_.deterministic;
}

void Data::place_sequences() {
  used_q_.assign(static_cast<std::size_t>(rows_.q), scenario_.broadcast_q);
  used_kv_.assign(static_cast<std::size_t>(rows_.kv), false);
  used_out_.assign(static_cast<std::size_t>(out_rows_), scenario_.broadcast_q);
  Sides next;
  for (const Lengths& l : scenario_.sequences) {
    begins_.push_back(next);
    std::fill_n(used_kv_.begin() + next.kv, l.rows.kv, true);
    if (!scenario_.broadcast_q) {
      std::fill_n(used_q_.begin() + next.q, l.rows.q, true);
      std::fill_n(used_out_.begin() + next.q, l.rows.q, true);
    }
    next.q += l.rows.q + l.gap.q;
    next.kv += l.rows.kv + l.gap.kv;
  }
}

void Data::make_indices() {
  std::vector<std::int64_t> q_offsets{0};
  std::vector<std::int64_t> kv_offsets{0};
  std::vector<std::int64_t> q_lengths;
  std::vector<std::int64_t> kv_lengths;
  bool q_gaps = false;
  bool kv_gaps = false;
  for (const Lengths& l : scenario_.sequences) {
    q_offsets.push_back(q_offsets.back() + l.rows.q + l.gap.q);
    kv_offsets.push_back(kv_offsets.back() + l.rows.kv + l.gap.kv);
    q_lengths.push_back(l.rows.q);
    kv_lengths.push_back(l.rows.kv);
    q_gaps = q_gaps || l.gap.q > 0;
    kv_gaps = kv_gaps || l.gap.kv > 0;
  }
  q_offsets_ = index_tensor(q_offsets, scenario_.wide_q_offsets);
  kv_offsets_ = index_tensor(kv_offsets, scenario_.wide_kv_offsets);
  q_lengths_ = index_tensor(q_lengths, scenario_.wide_kv_offsets);  // types need not agree
  kv_lengths_ = index_tensor(kv_lengths, scenario_.wide_q_offsets);
  inputs_.kv_offsets = kv_offsets_.index_view();
  if (!scenario_.broadcast_q) inputs_.q_offsets = q_offsets_.index_view();
  if (q_gaps) inputs_.q_lengths = q_lengths_.index_view();
  if (kv_gaps) inputs_.kv_lengths = kv_lengths_.index_view();
}

void Data::make_block_lists() {
  const BlockLists& lists = *scenario_.blocks;
  const std::int64_t heads = lists.by_head ? scenario_.heads_q() : 1;
  Draw draw(scenario_.seed + 7);
  std::vector<std::int64_t> columns;
  std::vector<std::int64_t> row_offsets;
  for (std::int64_t head = 0; head < heads; ++head) {
    append_index(columns, static_cast<std::size_t>(draw.below(3)), -5);  // read by nobody
    row_offsets.push_back(static_cast<std::int64_t>(columns.size()));
    for (const Lengths& l : scenario_.sequences) {
      for (std::int64_t i = 0; i < l.rows.q; i += lists.block_q) {
        for (std::int64_t j = 0; j < l.rows.kv; j += lists.block_kv) {
          if (draw.chance(lists.percent)) columns.push_back(j / lists.block_kv);
        }
        row_offsets.push_back(static_cast<std::int64_t>(columns.size()));
      }
    }
    append_index(row_offsets, scenario_.seed % 3, -7);  // capacity
  }
  append_index(columns, scenario_.seed % 2, -5);
  row_offsets_ = index_tensor(row_offsets, scenario_.wide_q_offsets);
  columns_ = index_tensor(columns, scenario_.wide_kv_offsets);
  options_.mask.block_sparse = BlockSparse{lists.block_q, lists.block_kv, heads,
                                           row_offsets_.index_view(), columns_.index_view()};
}

void Data::fill() {
  const auto random = [&](const ConstTensorView& like, std::uint64_t stream) {
    return one_thread_random(like.dtype, {like.rows, like.heads, like.head_dim},
                             scenario_.seed + stream);
  };
  copy_rows(random(qkv_.q, 1), used_q_, qkv_.q);
  copy_rows(random(qkv_.k, 2), used_kv_, qkv_.k);
  copy_rows(random(qkv_.v, 3), used_kv_, qkv_.v);
  copy_rows(random(dout_view_, 4), used_out_, dout_.views()[0]);
  if (!scenario_.dlse) return;
  dlse_ = one_thread_random(DType::kF32, {scenario_.heads_q(), out_rows_}, scenario_.seed + 5);
  for (std::int64_t i = 0; i < dlse_.size(); ++i) {
    if (!used_out_[static_cast<std::size_t>(i % out_rows_)]) dlse_.set(i, std::nan(""));
  }
}

std::optional<ConstLseView> Data::dlse() const {
  if (!scenario_.dlse) return std::nullopt;
  return dlse_.lse_view();
}

}  // namespace jfa::contract
