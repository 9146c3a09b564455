// What the tool prints: tables for people, JSON for programs.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jfa/attention.hpp"

namespace jfa::tool {

/// A table printed row by row, as results come: columns of fixed width, the first to the left.
class Table {
 public:
  struct Column {
    std::string title;
    int width;
  };
  Table(std::ostream& stream, std::vector<Column> columns);  ///< prints the titles
  void row(const std::vector<std::string>& cells);

 private:
  std::ostream& stream_;
  std::vector<Column> columns_;
};

/// `digits` after the point; `digits` significant ones in all; in scientific notation.
std::string fixed(double value, int digits);
std::string significant(double value, int digits);
std::string scientific(double value, int digits);

/// A count with its noun: "1 row", "2 rows".
std::string counted(std::int64_t count, const std::string& noun);

/// Where text for people goes: standard output, unless JSON goes there.
std::ostream& text_stream(const std::string& json_path);

/// Fails where write_json would: to be told before long work.
void require_json_writable(const std::string& path);

/// Writes to the file, or to standard output for "-"; does nothing for "".
void write_json(const std::string& path, const nlohmann::ordered_json& value);

/// What a result was computed with: commit, date, card, compiler, threads.
nlohmann::ordered_json result_header(const Execution& execution);

}  // namespace jfa::tool
