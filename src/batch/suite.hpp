// Suite files: named shapes to time and to check.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "batch/case.hpp"

namespace jfa {

/// Parses a suite file's text: a JSON list of `{name, dtype, heads_q, heads_kv, head_dim,
/// kv_lengths, causal?, window?, broadcast_q?, q_length?, q_lengths?, block_sparse?}`, where
/// `block_sparse` is `{block: [Q, KV], local, global}`. Throws Error naming the case, the field,
/// its value and what is allowed.
std::vector<Case> parse_suite(std::string_view text);

/// As parse_suite, of a file; messages begin with the path.
std::vector<Case> read_suite(const std::string& path);

/// Refuses, as parse_suite does, a case that no batch can be made of.
void check_case(const Case& c);

/// "bf16", "fp16", "fp32"; nullopt for any other name.
std::optional<DType> attention_dtype(std::string_view name) noexcept;

/// The name that attention_dtype takes.
std::string_view attention_dtype_name(DType dtype) noexcept;

}  // namespace jfa
