// The result of a step that can fail, inside the library (exceptions are for its C++ boundary).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "jfa/error.hpp"

namespace jfa {

class [[nodiscard]] Status {
 public:
  Status() = default;  ///< success, which is cheap to hand on
  Status(ErrorCode code, std::string message)
      : failure_(std::make_shared<const Failure>(Failure{code, std::move(message)})) {}

  bool ok() const noexcept { return failure_ == nullptr; }
  ErrorCode code() const { return failure_->code; }
  const std::string& message() const { return failure_->message; }

 private:
  struct Failure {
    ErrorCode code;
    std::string message;
  };
  std::shared_ptr<const Failure> failure_;
};

inline Status invalid_argument(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}

/// Turns a failure into the exception of the public API.
inline void throw_if_failed(const Status& status) {
  if (!status.ok()) throw Error(status.code(), status.message());
}

}  // namespace jfa

/// Returns the Status of `expression` from the enclosing function unless it is a success.
#define JFA_RETURN_IF_ERROR(expression)                        \
  do {                                                         \
    if (::jfa::Status status_ = (expression); !status_.ok()) { \
      return status_;                                          \
    }                                                          \
  } while (false)
