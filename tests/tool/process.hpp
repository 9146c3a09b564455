// Runs programs as a shell does and keeps what they print.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace jfa {

struct Finished {
  int code = -1;  ///< exit status; 128 + signal where a signal ended it, as in a shell
  std::string out;
  std::string err;
};

/// Runs `command`, the program's path first, with standard output and error going to files in
/// `folder`.
Finished run_process(const std::vector<std::string>& command, const std::filesystem::path& folder);

}  // namespace jfa
