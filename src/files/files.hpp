// Files read by exact ranges and written whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace jfa {

/// A regular file opened for reading. Every failure is an Error that begins with the path.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }  ///< bytes, when opened

  /// Reads exactly `bytes` bytes from `offset`; fails where the file ends before.
  void read(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// The text of a file of at most `max_bytes`.
std::string read_text(const std::string& path, std::uint64_t max_bytes);

/// A file that appears under its path only when it is complete: it is written beside it, under
/// another name, and renamed by commit(). Without commit() nothing is left behind. A path that
/// names a device or a pipe is written directly.
class OutputFile {
 public:
  /// Fails where the file cannot be made.
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void append(const void* data, std::size_t bytes);
  void append(std::string_view text) { append(text.data(), text.size()); }
  void commit();

 private:
  [[noreturn]] void fail(const char* action) const;
  bool direct() const noexcept { return temporary_.empty(); }

  std::string path_;       ///< as given, for messages
  std::string target_;     ///< what commit() replaces, links resolved
  std::string temporary_;  ///< empty: written directly
  int descriptor_ = -1;
};

/// Fails where no file can be made at `path`: to be told before long work, not after it.
void require_writable(const std::string& path);

/// `name` between quotes on one line, whatever it holds: bytes from a file, made safe to print.
std::string in_quotes(std::string_view name);

}  // namespace jfa
