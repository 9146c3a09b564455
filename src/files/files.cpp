#include "files/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "jfa/error.hpp"

namespace jfa {
namespace {

[[noreturn]] void fail_with_errno(const std::string& path, const std::string& action) {
  throw Error(ErrorCode::kUnavailable, path + ": " + action + ": " + std::strerror(errno));
}

/// One read or write moves at most this much; Linux stops short of 2 GiB anyway.
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;

/// Where output to `path` goes.
struct Target {
  std::filesystem::path path;  ///< links resolved
  bool direct = false;         ///< a device or a pipe, which is written and not replaced
};

Target target_of(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status)) return {path};
  if (!std::filesystem::is_regular_file(status)) return {path, true};
  return {std::filesystem::canonical(path)};
}

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // A pipe would block here until somebody writes; without blocking it is told and refused.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) fail_with_errno(path_, "cannot open");
  struct stat status = {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw Error(ErrorCode::kInvalidArgument, path_ + ": is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(std::uint64_t offset, void* to, std::size_t bytes) const {
  auto* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got =
        ::pread(descriptor_, next, std::min(bytes, kMaxTransfer), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno(path_, "cannot read");
    if (got == 0) throw Error(ErrorCode::kInvalidArgument, path_ + ": ends too early");
    next += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
}

std::string read_text(const std::string& path, std::uint64_t max_bytes) {
  const InputFile file(path);
  if (file.size() > max_bytes) {
    throw Error(ErrorCode::kInvalidArgument, path + ": has " + std::to_string(file.size()) +
                                                 " bytes, must have at most " +
                                                 std::to_string(max_bytes));
  }
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  const Target target = target_of(path);
  target_ = target.path.string();
  if (target.direct) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot open");
    return;
  }
  temporary_ = target_ + ".XXXXXX";
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail("cannot create");
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail(const char* action) const { fail_with_errno(path_, action); }

void OutputFile::append(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = ::write(descriptor_, next, std::min(bytes, kMaxTransfer));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("cannot write");
    next += put;
    bytes -= static_cast<std::size_t>(put);
  }
}

void OutputFile::commit() {
  if (!direct()) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(descriptor_, 0666 & ~mask) != 0) fail("cannot set the mode of");
    // Some file systems tell only now that the disk is full.
    if (::fsync(descriptor_) != 0) fail("cannot write");
  }
  const int closed = ::close(std::exchange(descriptor_, -1));
  if (closed != 0) fail("cannot write");
  if (direct()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot create");
  temporary_.clear();
}

void require_writable(const std::string& path) {
  const Target target = target_of(path);
  const std::filesystem::path place =
      target.direct ? target.path : std::filesystem::absolute(target.path).parent_path();
  if (::access(place.c_str(), W_OK) != 0) fail_with_errno(path, "cannot create");
}

std::string in_quotes(std::string_view name) {
  return nlohmann::json(name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace jfa
