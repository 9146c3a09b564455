#include "batch/suite.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "files/files.hpp"
#include "jfa/error.hpp"

namespace jfa {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxSuiteBytes = std::uint64_t{1} << 26;
constexpr int kMaxDepth = 4;  // list, case, block_sparse, block
/// With heads and head_dim below, element counts stay inside 60 bits.
constexpr std::int64_t kMaxRows = std::int64_t{1} << 36;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 16;
constexpr std::int64_t kMaxHeadDim = 256;
constexpr std::int64_t kMaxBound = std::int64_t{1} << 60;

constexpr std::array<std::pair<std::string_view, DType>, 3> kDTypes{
    {{"bf16", DType::kBf16}, {"fp16", DType::kF16}, {"fp32", DType::kF32}}};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

/// The value as it stands in the file, shortened to fit a message.
std::string text_of(const json& value) {
  constexpr std::size_t kShown = 60;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

[[noreturn]] void refuse_value(const std::string& field, const json& value,
                               const std::string& allowed) {
  refuse(field + " is " + text_of(value) + ", must be " + allowed);
}

std::int64_t integer(const std::string& field, const json& value, std::int64_t min,
                     std::int64_t max) {
  const std::string allowed =
      "an integer from " + std::to_string(min) + " to " + std::to_string(max);
  if (!value.is_number_integer()) refuse_value(field, value, allowed);
  const bool too_large =
      value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(max);
  if (too_large || value.get<std::int64_t>() < min) refuse_value(field, value, allowed);
  return value.get<std::int64_t>();
}

std::vector<std::int64_t> integers(const std::string& field, const json& value, std::int64_t min,
                                   std::int64_t max) {
  if (!value.is_array()) refuse_value(field, value, "a list of integers");
  std::vector<std::int64_t> result;
  result.reserve(value.size());
  for (const json& element : value) {
    result.push_back(integer(field + "[" + std::to_string(result.size()) + "]", element, min, max));
  }
  return result;
}

std::pair<std::int64_t, std::int64_t> integer_pair(const std::string& field, const json& value,
                                                   std::int64_t min, std::int64_t max) {
  const std::vector<std::int64_t> values = integers(field, value, min, max);
  if (values.size() != 2) refuse_value(field, value, "a list of two integers");
  return {values[0], values[1]};
}

/// The fields of one JSON object, each taken by name; what nobody takes is refused at the end.
class Fields {
 public:
  Fields(const json& object, const std::string& where) : object_(object) {
    if (!object.is_object()) refuse_value(where, object, "an object");
  }

  const json* optional(const char* name) {
    allowed_ += allowed_.empty() ? name : std::string(", ") + name;
    const auto found = object_.find(name);
    if (found == object_.end()) return nullptr;
    ++taken_;
    names_.insert(name);
    return &*found;
  }

  const json& required(const char* name) {
    const json* value = optional(name);
    if (value == nullptr) refuse(std::string(name) + " is missing");
    return *value;
  }

  void finish() const {
    if (taken_ == object_.size()) return;
    for (const auto& [name, value] : object_.items()) {
      if (!names_.contains(name))
        refuse("unknown field " + in_quotes(name) + ", known: " + allowed_);
    }
  }

 private:
  const json& object_;
  std::size_t taken_ = 0;
  std::set<std::string> names_;
  std::string allowed_;
};

bool boolean(const std::string& field, const json* value) {
  if (value == nullptr) return false;
  if (!value->is_boolean()) refuse_value(field, *value, "true or false");
  return value->get<bool>();
}

DType dtype_of(const json& value) {
  const auto dtype =
      value.is_string() ? attention_dtype(value.get_ref<const std::string&>()) : std::nullopt;
  if (!dtype) refuse_value("dtype", value, R"("bf16", "fp16" or "fp32")");
  return *dtype;
}

BlockPattern pattern_of(const json& value) {
  Fields fields(value, "block_sparse");
  BlockPattern pattern;
  std::tie(pattern.block_q, pattern.block_kv) =
      integer_pair("block_sparse.block", fields.required("block"), 1, kMaxRows);
  pattern.local = integer("block_sparse.local", fields.required("local"), 0, kMaxRows);
  pattern.global = integer("block_sparse.global", fields.required("global"), 0, kMaxRows);
  fields.finish();
  return pattern;
}

/// Everything of a case but its name.
void parse_fields(Fields& fields, Case& c) {
  c.dtype = dtype_of(fields.required("dtype"));
  c.heads_q = integer("heads_q", fields.required("heads_q"), 1, kMaxHeads);
  c.heads_kv = integer("heads_kv", fields.required("heads_kv"), 1, kMaxHeads);
  c.head_dim = integer("head_dim", fields.required("head_dim"), 1, kMaxHeadDim);
  c.causal = boolean("causal", fields.optional("causal"));
  c.broadcast_q = boolean("broadcast_q", fields.optional("broadcast_q"));
  c.kv_lengths = integers("kv_lengths", fields.required("kv_lengths"), 0, kMaxRows);
  if (const json* window = fields.optional("window")) {
    std::tie(c.window.left, c.window.right) = integer_pair("window", *window, -1, kMaxBound);
  }
  const json* q_length = fields.optional("q_length");
  const json* q_lengths = fields.optional("q_lengths");
  if (c.broadcast_q && q_length == nullptr) refuse("q_length is missing, broadcast_q needs it");
  if (c.broadcast_q && q_lengths != nullptr) {
    refuse("q_lengths is given, must be absent with broadcast_q");
  }
  if (!c.broadcast_q && q_length != nullptr) {
    refuse("q_length is given, must be absent without broadcast_q");
  }
  if (q_length != nullptr) c.q_length = integer("q_length", *q_length, 0, kMaxRows);
  if (q_lengths != nullptr) c.q_lengths = integers("q_lengths", *q_lengths, 0, kMaxRows);
  if (q_lengths != nullptr && c.q_lengths.size() != c.kv_lengths.size()) {
    refuse("q_lengths has " + std::to_string(c.q_lengths.size()) + " entries, must have " +
           std::to_string(c.kv_lengths.size()) + ", as kv_lengths");
  }
  if (const json* sparse = fields.optional("block_sparse")) c.block_sparse = pattern_of(*sparse);
  fields.finish();
}

void check_total(const char* name, const std::vector<std::int64_t>& lengths) {
  std::int64_t total = 0;
  for (const std::int64_t length : lengths) {
    total += length;
    if (total > kMaxRows) {
      refuse(std::string(name) + " sum to more than " + std::to_string(kMaxRows) + " rows");
    }
  }
}

Case parse_case(const json& value, std::set<std::string>& names) {
  Fields fields(value, "the case");
  const json& name = fields.required("name");
  if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
    refuse_value("name", name, "a string, not empty");
  }
  Case c;
  c.name = name.get<std::string>();
  if (!names.insert(c.name).second) refuse("name " + in_quotes(c.name) + " is there twice");
  try {
    parse_fields(fields, c);
    check_case(c);
  } catch (const Error& error) {
    refuse("case " + in_quotes(c.name) + ": " + error.what());
  }
  return c;
}

/// Refuses what the JSON library lets pass: deep nesting and keys that repeat.
class StrictJson {
 public:
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxDepth) {
        refuse("the suite nests deeper than " + std::to_string(kMaxDepth) + " levels");
      }
      keys_.at(static_cast<std::size_t>(depth)).clear();
    }
    if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      // The key of an object at depth d is told at depth d + 1.
      if (!keys_.at(static_cast<std::size_t>(depth) - 1).insert(key).second) {
        refuse("field " + in_quotes(key) + " is there twice");
      }
    }
    return true;
  }

 private:
  std::array<std::set<std::string>, kMaxDepth> keys_;
};

}  // namespace

std::optional<DType> attention_dtype(std::string_view name) noexcept {
  for (const auto& [known, dtype] : kDTypes) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

std::string_view attention_dtype_name(DType dtype) noexcept {
  for (const auto& [name, known] : kDTypes) {
    if (known == dtype) return name;
  }
  return "?";
}

void check_case(const Case& c) {
  if (c.heads_q % c.heads_kv != 0) {
    refuse("heads_q is " + std::to_string(c.heads_q) +
           ", must be a multiple of heads_kv = " + std::to_string(c.heads_kv));
  }
  check_total("kv_lengths", c.kv_lengths);
  check_total("q_lengths", c.q_lengths);
  const auto batch = static_cast<std::int64_t>(c.kv_lengths.size());
  if (c.broadcast_q && c.q_length > kMaxRows / std::max<std::int64_t>(batch, 1)) {
    refuse("q_length is " + std::to_string(c.q_length) + ", must be at most " +
           std::to_string(kMaxRows) + " rows over all sequences");
  }
  if (!c.block_sparse) return;
  for (const std::int64_t block : {c.block_sparse->block_q, c.block_sparse->block_kv}) {
    if (block < 64 || block % 64 != 0) {
      refuse("block_sparse.block holds " + std::to_string(block) +
             ", must be positive multiples of 64");
    }
  }
}

std::vector<Case> parse_suite(std::string_view text) {
  json suite;
  try {
    suite = json::parse(text, StrictJson());
  } catch (const json::parse_error& error) {
    refuse("the suite is not valid JSON at byte " + std::to_string(error.byte));
  } catch (const json::out_of_range&) {
    refuse("the suite holds a number too large for any field");
  }
  if (!suite.is_array()) refuse_value("the suite", suite, "a list of cases");
  std::vector<Case> cases;
  std::set<std::string> names;
  for (const json& value : suite) {
    try {
      cases.push_back(parse_case(value, names));
    } catch (const Error& error) {
      refuse("entry " + std::to_string(cases.size()) + ": " + error.what());
    }
  }
  return cases;
}

std::vector<Case> read_suite(const std::string& path) {
  const std::string text = read_text(path, kMaxSuiteBytes);
  try {
    return parse_suite(text);
  } catch (const Error& error) {
    refuse(path + ": " + error.what());
  }
}

}  // namespace jfa
