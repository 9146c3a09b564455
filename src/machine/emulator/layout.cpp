#include "machine/emulator/layout.hpp"

#include <algorithm>
#include <unordered_map>

namespace jfa::emulator {
namespace {

// https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-shared-memory-layout-matrix-descriptor
// https://docs.nvidia.com/cuda/parallel-thread-execution/#tcgen05-shared-memory-descriptor
// The swizzle has two bits for wgmma and three for tcgen05, whose lowest is 0 in the modes used
// here.
struct Descriptor {
  std::uint32_t start, leading, stride;  // bytes
  std::uint32_t base_offset;
  int swizzle_span;
};

Descriptor decode(std::uint64_t bits) {
  constexpr std::array<int, 4> kSpans = {0, 128, 64, 32};
  const auto field = [&](int shift) {
    return static_cast<std::uint32_t>(bits >> shift & 0x3fff) << 4;
  };
  return {field(0), field(16), field(32), static_cast<std::uint32_t>(bits >> 49 & 7),
          kSpans[bits >> 62 & 3]};
}

// The address of 8 elements along the depth of row `row`, before the swizzle.
std::uint32_t k_major(const Descriptor& d, std::uint32_t row, std::uint32_t half) {
  const std::uint32_t pitch = d.swizzle_span == 0 ? 16 : static_cast<std::uint32_t>(d.swizzle_span);
  const std::uint32_t along_k = d.swizzle_span == 0 ? d.leading : 16;
  return d.start + row % 8 * pitch + row / 8 * d.stride + half * along_k;
}

// The address of 8 rows at depth `k`, before the swizzle.
std::uint32_t mn_major(const Descriptor& d, std::uint32_t group, std::uint32_t k) {
  if (d.swizzle_span == 0) {
    return d.start + k % 8 * 16 + group * d.stride + k / 8 * d.leading;
  }
  const auto span = static_cast<std::uint32_t>(d.swizzle_span);
  const std::uint32_t groups = span / 16;  // of 8 rows, contiguous in the pattern
  return d.start + group % groups * 16 + group / groups * d.leading + k % 8 * span +
         k / 8 * d.stride;
}

std::vector<std::uint32_t> make_chunks(const OperandLayout& layout) {
  const Descriptor d = decode(layout.descriptor);
  const auto rows = static_cast<std::uint32_t>(layout.rows);
  std::vector<std::uint32_t> result;
  result.reserve(std::size_t{2} * rows);
  const auto add = [&](std::uint32_t address) {
    result.push_back(swizzle(address, d.swizzle_span) - kSharedBase);
  };
  if (layout.mn_major) {
    for (std::uint32_t group = 0; group < rows / 8; ++group) {
      for (std::uint32_t k = 0; k < 16; ++k) add(mn_major(d, group, k));
    }
  } else {
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (std::uint32_t half = 0; half < 2; ++half) add(k_major(d, row, half));
    }
  }
  return result;
}

struct Decoded {
  std::vector<std::uint32_t> chunks, granules;
};

struct LayoutHash {
  std::size_t operator()(const OperandLayout& layout) const {
    return layout.descriptor * 0x9e3779b97f4a7c15u + static_cast<std::size_t>(layout.rows) * 2 +
           layout.mn_major;
  }
};

const Decoded& decoded(const OperandLayout& layout) {
  thread_local std::unordered_map<OperandLayout, Decoded, LayoutHash> known;
  const auto [place, fresh] = known.try_emplace(layout);
  if (fresh) {
    Decoded& made = place->second;
    made.chunks = make_chunks(layout);
    for (const auto offset : made.chunks) made.granules.push_back(offset / 16);
    std::sort(made.granules.begin(), made.granules.end());
    const auto last = std::unique(made.granules.begin(), made.granules.end());
    made.granules.erase(last, made.granules.end());
  }
  return place->second;
}

std::string limit(const std::string& what, std::uint64_t value, const std::string& allowed) {
  return what + " is " + std::to_string(value) + "; allowed: " + allowed;
}

std::string indexed(const char* name, std::size_t index) {
  std::string text = name;
  text += '[';
  text += std::to_string(index);
  text += ']';
  return text;
}

}  // namespace

int bytes_of(ElementType type) {
  switch (type) {
    case ElementType::Byte:
      return 1;
    case ElementType::Bf16:
    case ElementType::Fp16:
      return 2;
    case ElementType::Fp32:
    case ElementType::Int32:
      return 4;
  }
  return 0;
}

std::uint32_t TensorMap::row_bytes() const {
  return box[0] * static_cast<std::uint32_t>(bytes_of(type));
}

std::uint32_t TensorMap::box_bytes() const {
  std::uint32_t bytes = row_bytes();
  for (std::size_t d = 1; d < static_cast<std::size_t>(rank); ++d) bytes *= box[d];
  return bytes;
}

std::string TensorMap::error() const {
  if (rank < 1 || rank > 5) {
    return limit("rank", static_cast<std::uint64_t>(rank), "1 to 5");
  }
  if (reinterpret_cast<std::uintptr_t>(base) % 16 != 0) return "base is not a multiple of 16 bytes";
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    if (dims[d] < 1 || dims[d] > std::uint64_t{1} << 32) {
      return limit(indexed("dims", d), dims[d], "1 to 2^32");
    }
    if (box[d] < 1 || box[d] > 256) return limit(indexed("box", d), box[d], "1 to 256");
  }
  for (std::size_t d = 0; d + 1 < static_cast<std::size_t>(rank); ++d) {
    if (strides[d] % 16 != 0 || strides[d] >= std::uint64_t{1} << 40) {
      return limit(indexed("strides", d), strides[d], "multiples of 16 bytes below 2^40");
    }
  }
  if (row_bytes() % 16 != 0) {
    return limit("bytes of the box's first dimension", row_bytes(), "multiples of 16");
  }
  if (swizzle_span != 0 && row_bytes() != static_cast<std::uint32_t>(swizzle_span)) {
    return limit("bytes of the box's first dimension", row_bytes(),
                 "the swizzle's " + std::to_string(swizzle_span));
  }
  return "";
}

std::vector<BoxRow> box_rows(const TensorMap& map, std::span<const int> coordinates) {
  const auto rank = static_cast<std::size_t>(map.rank);
  const std::int64_t element = bytes_of(map.type);
  const std::int64_t first = coordinates[0];
  const auto limit_of = [&](std::size_t d) { return static_cast<std::int64_t>(map.dims[d]); };
  const std::int64_t low = std::max<std::int64_t>(first, 0);
  const std::int64_t high = std::min(first + static_cast<std::int64_t>(map.box[0]), limit_of(0));

  std::vector<BoxRow> rows;
  std::array<std::uint32_t, 5> at{};
  std::uint32_t shared = 0;
  while (true) {
    auto address = reinterpret_cast<std::uint64_t>(map.base);
    bool inside = high > low;
    for (std::size_t d = 1; d < rank; ++d) {
      const std::int64_t c = std::int64_t{coordinates[d]} + at[d];
      inside = inside && c >= 0 && c < limit_of(d);
      address += static_cast<std::uint64_t>(c) * map.strides[d - 1];
    }
    BoxRow row{nullptr, shared, 0, 0};
    if (inside) {
      address += static_cast<std::uint64_t>(low * element);
      row.global = reinterpret_cast<std::byte*>(address);
      row.skip = static_cast<std::uint32_t>((low - first) * element);
      row.valid = static_cast<std::uint32_t>((high - low) * element);
    }
    rows.push_back(row);
    shared += map.row_bytes();
    std::size_t d = 1;
    while (d < rank && ++at[d] == map.box[d]) at[d++] = 0;
    if (d >= rank) return rows;
  }
}

const std::vector<std::uint32_t>& chunks(const OperandLayout& layout) {
  return decoded(layout).chunks;
}

const std::vector<std::uint32_t>& granules(const OperandLayout& layout) {
  return decoded(layout).granules;
}

std::string descriptor_error(const OperandLayout& layout, std::size_t bytes) {
  const Descriptor d = decode(layout.descriptor);
  if (d.start < kSharedBase) return "the matrix descriptor's start address is below shared memory";
  if (d.base_offset != 0) {
    return limit("the matrix descriptor's base offset", d.base_offset,
                 "0 (patterns start at multiples of 1024 bytes)");
  }
  const auto& used = granules(layout);
  if (!used.empty() && (used.back() + std::size_t{1}) * 16 > bytes) {
    return "the matrix descriptor reaches byte " + std::to_string((used.back() + 1) * 16) +
           " of shared memory of " + std::to_string(bytes) + " bytes";
  }
  return "";
}

std::string tensor_descriptor_error(const OperandLayout& layout) {
  const auto field = [&](int shift, std::uint64_t mask) {
    return layout.descriptor >> shift & mask;
  };
  if (field(46, 7) != 1) {
    return limit("bits 46 to 48 of the matrix descriptor", field(46, 7), "1");
  }
  if (field(52, 0x1ff) != 0) {
    return limit("bits 52 to 60 of the matrix descriptor", field(52, 0x1ff), "0");
  }
  if (field(61, 1) != 0) {
    return limit("the matrix descriptor's swizzling mode", field(61, 7), "0, 2, 4, 6");
  }
  return "";
}

}  // namespace jfa::emulator
