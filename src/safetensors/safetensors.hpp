// The safetensors format: named tensors in one file.
//
// Eight bytes, little-endian, give the length of a JSON header that follows them,
// `{"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [begin, end]}, ...}`; the tensors'
// bytes follow the header, packed and little-endian, without gaps, offsets counted from its end.
// https://github.com/huggingface/safetensors#format
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "batch/batch.hpp"
#include "files/files.hpp"

namespace jfa::safetensors {

/// One tensor as the header tells it.
struct Entry {
  std::string dtype;  ///< the format's name; may be one that is not read here
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< bytes from the end of the header
  std::uint64_t end = 0;
};
using Entries = std::map<std::string, Entry, std::less<>>;

/// Parses and checks a header over `data_bytes` bytes of data: offsets in range and without gaps
/// or overlaps, shapes that agree with them. Throws Error.
Entries parse_header(std::string_view header, std::uint64_t data_bytes);

/// A file opened for reading. Every failure is an Error that begins with the path.
class File {
 public:
  explicit File(const std::string& path);

  const Entries& entries() const noexcept { return entries_; }
  bool contains(std::string_view name) const { return entries_.contains(name); }

  /// Copies a tensor out of the file. Its dtype must be BF16, F16, F32, I32 or I64 and its rank
  /// between `min_rank` and `max_rank`.
  HostTensor read(std::string_view name, std::size_t min_rank, std::size_t max_rank) const;

 private:
  [[noreturn]] void refuse(const std::string& message) const;

  InputFile file_;
  Entries entries_;
  std::uint64_t data_begin_ = 0;
};

using Tensors = std::map<std::string, const HostTensor*>;

/// Writes the tensors to `path`, whole or not at all.
void write(const std::string& path, const Tensors& tensors);

}  // namespace jfa::safetensors
