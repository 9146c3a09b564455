#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <utility>

#include "arguments.hpp"
#include "commit.hpp"
#include "cpu/team.hpp"
#include "cuda/card.hpp"
#include "files/files.hpp"
#include "machine.hpp"

namespace jfa::tool {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%Y-%m-%dT%H:%M:%SZ");
  return text.str();
}

std::string stream_text(double value, int digits, std::ios_base& (*format)(std::ios_base&)) {
  std::ostringstream text;
  text << format << std::setprecision(digits) << value;
  return text.str();
}

}  // namespace

Table::Table(std::ostream& stream, std::vector<Column> columns)
    : stream_(stream), columns_(std::move(columns)) {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  row(titles);
}

void Table::row(const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    stream_ << (i == 0 ? "" : "  ") << (i == 0 ? std::left : std::right)
            << std::setw(columns_.at(i).width) << cells[i];
  }
  stream_ << std::right << std::endl;
}

std::string fixed(double value, int digits) { return stream_text(value, digits, std::fixed); }

std::string significant(double value, int digits) {
  return stream_text(value, digits, std::defaultfloat);
}

std::string scientific(double value, int digits) {
  return stream_text(value, digits, std::scientific);
}

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::ostream& text_stream(const std::string& json_path) {
  return json_path == "-" ? std::cerr : std::cout;
}

void require_json_writable(const std::string& path) {
  if (!path.empty() && path != "-") require_writable(path);
}

void write_json(const std::string& path, const nlohmann::ordered_json& value) {
  if (path.empty()) return;
  const std::string text = value.dump(1) + "\n";
  if (path == "-") {
    std::cout << text;
    return;
  }
  OutputFile file(path);
  file.append(text);
  file.commit();
}

nlohmann::ordered_json result_header(const Execution& execution) {
  nlohmann::ordered_json header{
      {"version", version()},  {"commit", kCommit},
      {"date", utc_now()},     {"device", device_name(execution.device)},
      {"card", cpu_model()},   {"compiler", compiler()},
      {"simd", simd_target()}, {"threads", cpu::thread_count(execution.threads)}};
  if (execution.device == Device::kCuda) {
    const std::vector<cuda::Card> cards = cuda::all_cards();
    if (!cards.empty()) header["card"] = cards.front().name;
    header["driver"] = cuda::driver_version();
  }
  return header;
}

}  // namespace jfa::tool
