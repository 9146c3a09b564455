// Where in a kernel a word was called, as the emulator reports it.
#pragma once

#ifndef __clang__
#include <source_location>
#endif

namespace jfa {
inline namespace emulated {

struct Site {
  const char* file;
  int line;
  int column;

#ifdef __clang__
  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                             int column = __builtin_COLUMN()) {
    return {file, line, column};
  }
#else
  static constexpr Site here(std::source_location at = std::source_location::current()) {
    return {at.file_name(), static_cast<int>(at.line()), static_cast<int>(at.column())};
  }
#endif
};

}  // namespace emulated
}  // namespace jfa
