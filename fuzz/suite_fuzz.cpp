// Any text as a suite: an Error or cases that check_case accepts, nothing else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "batch/suite.hpp"
#include "jfa/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    for (const jfa::Case& c :
         jfa::parse_suite(std::string_view(reinterpret_cast<const char*>(data), size))) {
      jfa::check_case(c);
      if (c.name.empty() || c.head_dim < 1 || c.head_dim > 256) std::abort();
    }
  } catch (const jfa::Error&) {
    // Refused.
  }
  return 0;
}
