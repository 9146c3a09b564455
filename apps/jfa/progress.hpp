// How far long work is: one line rewritten on a terminal, plain lines otherwise, both on stderr.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace jfa::tool {

class Progress {
 public:
  /// `total_work`: the sum of what finish() will be told, in any unit.
  Progress(std::size_t items, double total_work);

  void start(const std::string& item);
  /// Ends the item; on a terminal its line is cleared, so that a row of a table may be printed.
  void finish(double work);

 private:
  std::string status() const;

  std::size_t items_;
  std::size_t done_ = 0;
  double total_work_;
  double work_ = 0;
  bool terminal_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace jfa::tool
