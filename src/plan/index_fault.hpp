// What is wrong with offsets, lengths or a plan in device memory, in the one word that a check
// leaves.
#pragma once

#include <cstdint>

#include "problem/status.hpp"

namespace jfa {

/// Arrays, in the order in which they are checked.
enum class CheckedArray : std::int32_t {
  kKvOffsets,
  kKvLengths,
  kQOffsets,
  kQLengths,
  kRowOffsets,
  kColumns,
  kPlan
};

enum class IndexFault : std::int32_t {
  kNone,
  kFirst,        ///< offset 0 is not 0
  kFalls,        ///< an offset is below the one before it
  kPastRows,     ///< an offset is past the tensor's rows
  kLength,       ///< a length is below 0 or over its sequence's rows
  kFewRows,      ///< a head's row offsets run out in the sequence `index`
  kPastColumns,  ///< a row offset is past the columns
  kColumn,       ///< a column is not above the one before it, or no key block of its sequence
  kStale         ///< the plan was made for other offsets or lengths
};

/// Index in bits 0 to 31, fault from bit 32, array from bit 40; 0: nothing is wrong.
constexpr std::uint64_t fault_word(IndexFault fault, CheckedArray array, std::int32_t index) {
  if (fault == IndexFault::kNone) return 0;
  return static_cast<std::uint64_t>(array) << 40 | static_cast<std::uint64_t>(fault) << 32 |
         static_cast<std::uint32_t>(index);
}

/// A failure that names the array and the index, or success.
Status status_of(std::uint64_t word);

}  // namespace jfa
