# Writes a header with the commit of a source tree: cmake -D source=DIR -D output=FILE -P this
execute_process(
  COMMAND git -C ${source} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${output} CONTENT [=[
#pragma once

namespace jfa::tool {

inline constexpr const char* kCommit = "@commit@";

}  // namespace jfa::tool
]=] @ONLY)
