// Reading and writing of whole files.
#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "jfa/error.hpp"
#include "safetensors/dtype_names.hpp"
#include "safetensors/safetensors.hpp"

namespace jfa::safetensors {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are copied as they lie");

constexpr std::uint64_t kLengthBytes = 8;
/// A header of some hundred thousand tensors; more is taken for a hostile file.
constexpr std::uint64_t kMaxHeaderBytes = std::uint64_t{1} << 24;

using NamedTensor = std::pair<std::string, const HostTensor*>;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return nlohmann::json(shape).dump();
}

/// Wide elements first, so that every tensor lies aligned to its own element size.
std::vector<NamedTensor> in_file_order(const Tensors& tensors) {
  std::vector<NamedTensor> sorted(tensors.begin(), tensors.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return element_size(a.second->dtype()) > element_size(b.second->dtype());
  });
  return sorted;
}

std::string header_of(const std::vector<NamedTensor>& tensors) {
  auto header = nlohmann::ordered_json::object();
  std::uint64_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t end = begin + tensor->bytes();
    header[name] = {{"dtype", dtype_name(tensor->dtype())},
                    {"shape", tensor->shape()},
                    {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  return text;
}

}  // namespace

File::File(const std::string& path) : file_(path) {
  if (file_.size() < kLengthBytes) {
    refuse("has " + std::to_string(file_.size()) + " bytes, a safetensors file has at least 8");
  }
  std::uint64_t length = 0;
  file_.read(0, &length, sizeof(length));
  const std::uint64_t allowed = std::min(file_.size() - kLengthBytes, kMaxHeaderBytes);
  if (length > allowed) {
    refuse("safetensors header length is " + std::to_string(length) + ", must be at most " +
           std::to_string(allowed) + " here");
  }
  std::string header(length, '\0');
  file_.read(kLengthBytes, header.data(), header.size());
  data_begin_ = kLengthBytes + length;
  try {
    entries_ = parse_header(header, file_.size() - data_begin_);
  } catch (const Error& error) {
    refuse(error.what());
  }
}

void File::refuse(const std::string& message) const {
  throw Error(ErrorCode::kInvalidArgument, file_.path() + ": " + message);
}

HostTensor File::read(std::string_view name, std::size_t min_rank, std::size_t max_rank) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) refuse("has no tensor " + in_quotes(name));
  const Entry& entry = found->second;
  const std::optional<DType> dtype = dtype_from_name(entry.dtype);
  if (!dtype) {
    refuse("tensor " + in_quotes(name) + " has dtype " + in_quotes(entry.dtype) +
           ", must be BF16, F16, F32, I32 or I64");
  }
  if (entry.shape.size() < min_rank || entry.shape.size() > max_rank) {
    refuse("tensor " + in_quotes(name) + " has shape " + shape_text(entry.shape) + ", must have " +
           std::to_string(min_rank) +
           (max_rank > min_rank ? " to " + std::to_string(max_rank) : "") + " dimensions");
  }
  HostTensor tensor(*dtype, entry.shape);
  file_.read(data_begin_ + entry.begin, tensor.data(), tensor.bytes());
  return tensor;
}

void write(const std::string& path, const Tensors& tensors) {
  const std::vector<NamedTensor> sorted = in_file_order(tensors);
  const std::string header = header_of(sorted);
  const std::uint64_t length = header.size();
  OutputFile file(path);
  file.append(&length, sizeof(length));
  file.append(header);
  for (const auto& [name, tensor] : sorted) file.append(tensor->data(), tensor->bytes());
  file.commit();
}

}  // namespace jfa::safetensors
