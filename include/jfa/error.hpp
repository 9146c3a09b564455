// The one exception of the library.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "jfa/export.h"

namespace jfa {

/// Why a call was refused or failed. The values are those of the C ABI's jfa_status.
enum class ErrorCode : std::int32_t {
  kInvalidArgument = 1,  ///< an argument breaks the contract; the message names it
  kUnsupported = 2,      ///< within the contract, but not offered by the chosen engine
  kOutOfMemory = 3,
  kUnavailable = 4,  ///< the engine or device is not there
  kInternal = 5      ///< a defect of the library
};

/// Thrown by every function that fails. Outputs are untouched unless the code is kInternal.
/// The message names the argument, its value and what is allowed.
class JFA_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace jfa
