// A named shape of a suite: lengths, heads, mask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jfa/mask.hpp"
#include "jfa/tensor.hpp"

namespace jfa {

/// Block-sparse pattern by rule: query block i of a sequence with nq query and nk key blocks sees
/// key blocks j with |i + nk - nq - j| <= local, and j < global.
struct BlockPattern {
  std::int64_t block_q = 64;
  std::int64_t block_kv = 64;
  std::int64_t local = 0;
  std::int64_t global = 0;
};

/// One entry of a suite file.
struct Case {
  std::string name;
  DType dtype = DType::kBf16;
  std::int64_t heads_q = 1;
  std::int64_t heads_kv = 1;
  std::int64_t head_dim = 64;
  bool causal = false;
  Window window;
  bool broadcast_q = false;
  std::int64_t q_length = 0;  ///< rows of q with broadcast_q
  std::vector<std::int64_t> kv_lengths;
  std::vector<std::int64_t> q_lengths;  ///< empty without broadcast_q: equal to kv_lengths
  std::optional<BlockPattern> block_sparse;
};

}  // namespace jfa
