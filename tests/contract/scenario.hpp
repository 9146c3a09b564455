// A point of the contract's feature space, and the batch it describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "batch/batch.hpp"
#include "engine.hpp"
#include "layout.hpp"

namespace jfa::contract {

struct BlockLists {
  std::int64_t block_q = 64;
  std::int64_t block_kv = 64;
  bool by_head = false;
  int percent = 50;  ///< of the blocks that are listed
};

/// One sequence: rows in use, and unused rows behind them.
struct Lengths {
  Sides rows;
  Sides gap;
};

struct Scenario {
  std::uint64_t seed = 1;  ///< of the values
  DType dtype = DType::kF32;
  std::int64_t head_dim = 64;
  std::int64_t heads_kv = 1;
  std::int64_t group_size = 1;
  bool broadcast_q = false;   ///< then rows.q of each sequence is q_length, without gaps
  std::int64_t q_length = 0;  ///< with broadcast_q
  std::vector<Lengths> sequences;
  Sides slack;                  ///< rows past the last offset
  bool wide_q_offsets = false;  ///< int64
  bool wide_kv_offsets = false;
  bool causal = false;
  Window window;
  std::optional<BlockLists> blocks;
  std::optional<double> scale;
  double softcap = 0;
  bool deterministic = false;
  bool dlse = false;
  Layout layout = Layout::kDense;
  std::int64_t padding = 0;

  std::int64_t heads_q() const { return heads_kv * group_size; }
  std::string describe() const;
};

/// Draws every feature from `seed`; a pass over the scenario costs at most about `budget`
/// multiplications (or one sequence).
Scenario draw_scenario(std::uint64_t seed, const Limits& limits, double budget);

/// A scenario's tensors: random values in the rows in use, NaN in gaps, slack and padding.
class Data {
 public:
  explicit Data(const Scenario& scenario);

  const Scenario& scenario() const { return scenario_; }
  const Inputs& inputs() const { return inputs_; }
  const Options& options() const { return options_; }
  const ConstTensorView& dout() const { return dout_view_; }
  std::optional<ConstLseView> dlse() const;

  Sides rows() const { return rows_; }
  std::int64_t out_rows() const { return out_rows_; }

  /// First rows of sequence b in out (and lse, dout) and in k and v.
  Sides begin(std::size_t b) const { return begins_[b]; }

  /// Which rows of out, and of k and v, belong to a sequence and are in use.
  const std::vector<bool>& used_out() const { return used_out_; }
  const std::vector<bool>& used_kv() const { return used_kv_; }

  /// For tests that change values.
  Trio& qkv() { return qkv_; }
  const TensorView& dout_memory() const { return dout_.views()[0]; }
  HostTensor& dlse_memory() { return dlse_; }

  std::string bytes() const { return qkv_.bytes() + dout_.bytes(); }

 private:
  void place_sequences();
  void make_indices();
  void make_block_lists();
  void fill();

  Scenario scenario_;
  Sides rows_;
  std::int64_t out_rows_ = 0;
  std::vector<Sides> begins_;
  std::vector<bool> used_q_, used_kv_, used_out_;
  Trio qkv_;
  TensorGroup dout_;
  ConstTensorView dout_view_;
  HostTensor dlse_;
  HostTensor q_offsets_, kv_offsets_, q_lengths_, kv_lengths_, row_offsets_, columns_;
  Inputs inputs_;
  Options options_;
};

/// Deterministic draws.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits();
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(n));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace jfa::contract
