#include "progress.hpp"

#include <unistd.h>

#include <iostream>
#include <sstream>

#include "report.hpp"

namespace jfa::tool {

Progress::Progress(std::size_t items, double total_work)
    : items_(items),
      total_work_(total_work),
      terminal_(isatty(STDERR_FILENO) == 1),
      begin_(std::chrono::steady_clock::now()) {}

std::string Progress::status() const {
  const double elapsed =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  std::ostringstream text;
  text << '[' << done_ << '/' << items_ << "] " << fixed(elapsed, 0) << " s gone";
  if (work_ > 0 && done_ < items_) {
    text << ", about " << fixed(elapsed * (total_work_ - work_) / work_, 0) << " s left";
  }
  return text.str();
}

void Progress::start(const std::string& item) {
  if (terminal_) {
    std::cerr << "\r\x1b[K" << status() << ": " << item << std::flush;
  } else {
    std::cerr << status() << ": " << item << std::endl;
  }
}

void Progress::finish(double work) {
  ++done_;
  work_ += work;
  if (terminal_) std::cerr << "\r\x1b[K" << std::flush;
}

}  // namespace jfa::tool
