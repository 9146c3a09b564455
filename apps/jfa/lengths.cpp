#include "lengths.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <string_view>
#include <utility>

#include "arguments.hpp"

namespace jfa::tool {
namespace {

constexpr std::int64_t kMaxLength = std::int64_t{1} << 31;
/// A Zipf distribution is drawn through a table of this many entries at most.
constexpr std::int64_t kMaxZipf = std::int64_t{1} << 24;

using Draw = std::function<std::int64_t()>;

/// Uniform in (0, 1). The generator's bits are the same everywhere; the standard library's
/// distributions are not.
double uniform(std::mt19937_64& bits) {
  return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53;
}

double normal(std::mt19937_64& bits) {
  const double radius = std::sqrt(-2 * std::log(uniform(bits)));
  return radius * std::cos(2 * std::numbers::pi * uniform(bits));
}

/// A distribution's arguments, checked.
class Arguments {
 public:
  Arguments(std::string option, const std::string& text) : option_(std::move(option)), text_(text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) refuse(kDistributions);
    name_ = text.substr(0, colon);
    std::string_view rest = std::string_view(text).substr(colon + 1);
    while (true) {
      const std::size_t comma = rest.find(',');
      values_.push_back(number(rest.substr(0, comma)));
      if (comma == std::string_view::npos) return;
      rest.remove_prefix(comma + 1);
    }
  }

  const std::string& name() const noexcept { return name_; }
  std::size_t size() const noexcept { return values_.size(); }

  void require_count(std::size_t count) const {
    if (values_.size() != count) refuse(kDistributions);
  }

  std::int64_t length(std::size_t i, std::int64_t min, std::int64_t max) const {
    const double value = values_.at(i);
    if (value != std::floor(value) || value < static_cast<double>(min) ||
        value > static_cast<double>(max)) {
      refuse("lengths from " + std::to_string(min) + " to " + std::to_string(max) +
             ", not decreasing");
    }
    return static_cast<std::int64_t>(value);
  }

  double positive(std::size_t i) const {
    const double value = values_.at(i);
    if (!(value > 0)) refuse("a distribution with positive parameters");
    return value;
  }

  [[noreturn]] void refuse(const std::string& allowed) const {
    refuse_argument(option_, text_, allowed);
  }

 private:
  double number(std::string_view digits) const {
    double value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || stop != digits.data() + digits.size() || !std::isfinite(value)) {
      refuse(kDistributions);
    }
    return value;
  }

  std::string option_;
  std::string text_;
  std::string name_;
  std::vector<double> values_;
};

Draw draw_uniform(const Arguments& arguments, std::mt19937_64& bits) {
  arguments.require_count(2);
  const std::int64_t min = arguments.length(0, 0, kMaxLength);
  const std::int64_t max = arguments.length(1, min, kMaxLength);
  return [min, max, &bits] {
    return min + static_cast<std::int64_t>(uniform(bits) * static_cast<double>(max - min + 1));
  };
}

Draw draw_zipf(const Arguments& arguments, std::mt19937_64& bits) {
  arguments.require_count(3);
  const std::int64_t min = arguments.length(0, 1, kMaxZipf);
  const std::int64_t max = arguments.length(1, min, kMaxZipf);
  const double exponent = arguments.positive(2);
  std::vector<double> cumulative;
  double total = 0;
  for (std::int64_t length = min; length <= max; ++length) {
    // Relative to the smallest length: one weight at least is then not zero.
    total += std::pow(static_cast<double>(length) / static_cast<double>(min), -exponent);
    cumulative.push_back(total);
  }
  return [min, total, cumulative = std::move(cumulative), &bits] {
    const auto at =
        std::upper_bound(cumulative.begin(), cumulative.end() - 1, uniform(bits) * total);
    return min + (at - cumulative.begin());
  };
}

Draw draw_lognormal(const Arguments& arguments, std::mt19937_64& bits) {
  arguments.require_count(3);
  const double median = arguments.positive(0);
  const double sigma = arguments.positive(1);
  const auto max = static_cast<double>(arguments.length(2, 0, kMaxLength));
  return [median, sigma, max, &bits] {
    const double length = std::round(median * std::exp(sigma * normal(bits)));
    return static_cast<std::int64_t>(std::min(length, max));
  };
}

Draw draw_list(const Arguments& arguments, std::int64_t count) {
  if (static_cast<std::int64_t>(arguments.size()) != count) {
    arguments.refuse("a list of --batch = " + std::to_string(count) + " lengths");
  }
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    lengths.push_back(arguments.length(i, 0, kMaxLength));
  }
  return [lengths = std::move(lengths), next = std::size_t{0}]() mutable {
    return lengths.at(next++);
  };
}

}  // namespace

std::vector<std::int64_t> draw_lengths(const std::string& option, const std::string& text,
                                       std::int64_t count, std::uint64_t seed) {
  const Arguments arguments(option, text);
  std::mt19937_64 bits(seed);
  Draw draw;
  if (arguments.name() == "fixed") {
    arguments.require_count(1);
    draw = [length = arguments.length(0, 0, kMaxLength)] { return length; };
  } else if (arguments.name() == "list") {
    draw = draw_list(arguments, count);
  } else if (arguments.name() == "uniform") {
    draw = draw_uniform(arguments, bits);
  } else if (arguments.name() == "zipf") {
    draw = draw_zipf(arguments, bits);
  } else if (arguments.name() == "lognormal") {
    draw = draw_lognormal(arguments, bits);
  } else {
    arguments.refuse(kDistributions);
  }
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(count));
  std::generate(lengths.begin(), lengths.end(), draw);
  return lengths;
}

}  // namespace jfa::tool
