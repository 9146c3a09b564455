// Parsing of the header, event by event: nothing is kept that the format does not name, so memory
// stays within a small multiple of the header's bytes, however it nests.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "jfa/error.hpp"
#include "safetensors/dtype_names.hpp"
#include "safetensors/safetensors.hpp"

namespace jfa::safetensors {
namespace {

/// Element counts and strides stay well inside 64 bits below this.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;

/// The JSON library calls these members; false ends the parse with `error` set.
class HeaderEvents {
 public:
  Entries entries;
  std::string error;

  bool null() { return unexpected("null"); }
  bool boolean(bool value) { return unexpected(value ? "true" : "false"); }
  bool number_integer(std::int64_t value) { return unexpected(std::to_string(value)); }
  bool number_float(double, const std::string& text) { return unexpected(text); }
  bool binary(std::vector<std::uint8_t>&) { return unexpected("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (place_ != Place::kArray) return unexpected(std::to_string(value));
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return unexpected(std::to_string(value));
    }
    numbers_.push_back(static_cast<std::int64_t>(value));
    return true;
  }

  bool string(std::string& value) {
    if (place_ == Place::kMetadata) return true;
    if (place_ != Place::kTensor || field_ != "dtype") return unexpected(in_quotes(value));
    entry_.dtype = value;
    return true;
  }

  bool start_object(std::size_t) {
    if (place_ == Place::kStart) {
      place_ = Place::kNames;
      return true;
    }
    if (place_ != Place::kNames) return unexpected("an object");
    place_ = name_ == "__metadata__" ? Place::kMetadata : Place::kTensor;
    entry_ = {};
    seen_.clear();
    return true;
  }

  bool key(std::string& value) {
    if (place_ == Place::kNames) {
      name_ = value;
      return names_.insert(value).second || fail(in_quotes(value) + " is there twice");
    }
    field_ = value;
    if (place_ == Place::kTensor && value != "dtype" && value != "shape" &&
        value != "data_offsets") {
      return fail(where() + " has a field " + in_quotes(value) +
                  ", must have dtype, shape and data_offsets");
    }
    return seen_.insert(value).second || fail(where() + " has " + in_quotes(value) + " twice");
  }

  bool end_object() {
    if (place_ == Place::kTensor) {
      if (seen_.size() != 3) return fail(where() + " lacks one of dtype, shape and data_offsets");
      entries.emplace(name_, std::move(entry_));
    }
    place_ = place_ == Place::kNames ? Place::kEnd : Place::kNames;
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ != Place::kTensor || field_ == "dtype") return unexpected("an array");
    place_ = Place::kArray;
    numbers_.clear();
    return true;
  }

  bool end_array() {
    place_ = Place::kTensor;
    if (field_ == "shape") {
      entry_.shape = numbers_;
      return true;
    }
    if (numbers_.size() != 2) {
      return fail(where() + " has " + std::to_string(numbers_.size()) +
                  " data_offsets, must have 2");
    }
    entry_.begin = static_cast<std::uint64_t>(numbers_[0]);
    entry_.end = static_cast<std::uint64_t>(numbers_[1]);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    return fail("it is not valid JSON at byte " + std::to_string(position));
  }

 private:
  /// What encloses the next event.
  enum class Place { kStart, kNames, kMetadata, kTensor, kArray, kEnd };

  std::string where() const { return "tensor " + in_quotes(name_); }

  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }

  bool unexpected(const std::string& what) {
    switch (place_) {
      case Place::kMetadata:
        return fail("__metadata__ holds " + what + ", must hold strings");
      case Place::kTensor:
      case Place::kArray:
        return fail(where() + " has " + what + " in its " + field_ +
                    ", must be a string in dtype and counts in shape and data_offsets");
      default:
        return fail("it holds " + what + ", must be an object of tensors");
    }
  }

  Place place_ = Place::kStart;
  std::string name_;
  std::string field_;
  Entry entry_;
  std::vector<std::int64_t> numbers_;
  std::set<std::string> names_;
  std::set<std::string> seen_;  ///< keys of the inner object
};

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, "malformed safetensors header: " + message);
}

std::string range_text(const Entry& entry) {
  return "data_offsets [" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]";
}

/// The shape's element count agrees with the bytes, where the dtype's size is known.
void check_shape(const std::string& name, const Entry& entry) {
  // Zero extents count as one here, so that no partial product overflows either.
  std::int64_t bound = 1;
  bool empty = false;
  for (const std::int64_t extent : entry.shape) {
    empty = empty || extent == 0;
    if (__builtin_mul_overflow(bound, std::max<std::int64_t>(extent, 1), &bound) ||
        bound > kMaxElements) {
      refuse("the shape of tensor " + in_quotes(name) + " exceeds 2^60 elements");
    }
  }
  const std::optional<DType> dtype = dtype_from_name(entry.dtype);
  if (!dtype) return;
  const auto bytes =
      empty ? 0U
            : static_cast<std::uint64_t>(bound) * static_cast<std::uint64_t>(element_size(*dtype));
  if (entry.end - entry.begin != bytes) {
    refuse("tensor " + in_quotes(name) + " has " + range_text(entry) +
           ", its shape and dtype need " + std::to_string(bytes) + " bytes");
  }
}

/// Sorted by place, the tensors cover the data from its first byte to its last.
void check_ranges(const Entries& entries, std::uint64_t data_bytes) {
  std::vector<Entries::const_iterator> sorted;
  for (auto i = entries.begin(); i != entries.end(); ++i) sorted.push_back(i);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t covered = 0;
  for (const auto& i : sorted) {
    const Entry& entry = i->second;
    if (entry.begin > entry.end) {
      refuse("tensor " + in_quotes(i->first) + " has " + range_text(entry) +
             ", must begin before it ends");
    }
    if (entry.end > data_bytes) {
      refuse("tensor " + in_quotes(i->first) + " has " + range_text(entry) + ", the file holds " +
             std::to_string(data_bytes) + " bytes of data");
    }
    if (entry.begin != covered) {
      refuse("tensor " + in_quotes(i->first) + " has " + range_text(entry) + ", must begin at " +
             std::to_string(covered) + ": no gaps and no overlaps");
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    refuse("its tensors end at byte " + std::to_string(covered) + " of the data, the file holds " +
           std::to_string(data_bytes));
  }
}

}  // namespace

Entries parse_header(std::string_view header, std::uint64_t data_bytes) {
  if (!header.starts_with('{')) refuse("it must begin with {");
  HeaderEvents events;
  if (!nlohmann::json::sax_parse(header, &events)) refuse(events.error);
  check_ranges(events.entries, data_bytes);
  for (const auto& [name, entry] : events.entries) check_shape(name, entry);
  return std::move(events.entries);
}

}  // namespace jfa::safetensors
