#include "plan/index_fault.hpp"

#include <iterator>
#include <string>

namespace jfa {
namespace {

constexpr const char* kArrays[] = {"kv_offsets",
                                   "kv_lengths",
                                   "q_offsets",
                                   "q_lengths",
                                   "mask.block_sparse.row_offsets",
                                   "mask.block_sparse.columns"};

}  // namespace

Status status_of(std::uint64_t word) {
  if (word == 0) return {};
  const std::uint64_t array = word >> 40;
  const auto fault = static_cast<IndexFault>(word >> 32 & 0xFF);
  if (fault == IndexFault::kStale) {
    return invalid_argument(
        "plan was made for other offsets or lengths, must be made for those of the call");
  }
  if (array >= std::size(kArrays)) {
    return invalid_argument("check is " + std::to_string(word) +
                            ", must be a value that a call wrote");
  }
  std::string at = kArrays[array];
  at.append("[").append(std::to_string(static_cast<std::uint32_t>(word))).append("]");
  switch (fault) {
    case IndexFault::kFirst:
      return invalid_argument(at + " is not 0, must be 0");
    case IndexFault::kFalls:
      return invalid_argument(at + " is less than the offset before it, must be at least that");
    case IndexFault::kPastRows:
      return invalid_argument(at + " is past the tensor's rows, must be at most their number");
    case IndexFault::kLength:
      return invalid_argument(at +
                              " is below 0 or over the rows of its sequence, must be 0 to "
                              "those");
    case IndexFault::kFewRows:
      return invalid_argument(std::string(kArrays[array]) +
                              " has too few entries a head, must have n + 1 for the n query blocks "
                              "of all sequences; they run out in sequence " +
                              std::to_string(static_cast<std::uint32_t>(word)));
    case IndexFault::kPastColumns:
      return invalid_argument(at + " is past the end of columns, must be at most their number");
    case IndexFault::kColumn:
      return invalid_argument(at +
                              " is not above the one before it or no key block of its "
                              "sequence, must be the sequence's key blocks in rising order");
    case IndexFault::kNone:
    case IndexFault::kStale:
      break;
  }
  return invalid_argument("check is " + std::to_string(word) +
                          ", must be a value that a call wrote");
}

}  // namespace jfa
