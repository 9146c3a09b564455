// Sequence lengths drawn from a distribution.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace jfa::tool {

/// What draw_lengths takes, for help and messages.
inline constexpr const char* kDistributions =
    "fixed:N, list:A,B,..., uniform:MIN,MAX, zipf:MIN,MAX,EXPONENT or lognormal:MEDIAN,SIGMA,MAX";

/// `count` lengths from the distribution that the value of an option names; the same for equal
/// seeds.
///   fixed:N                     all N
///   list:A,B,...                these; their number must be `count`
///   uniform:MIN,MAX             MIN to MAX, all alike
///   zipf:MIN,MAX,EXPONENT       MIN to MAX, each as likely as its power to -EXPONENT; MIN >= 1
///   lognormal:MEDIAN,SIGMA,MAX  MEDIAN * exp(SIGMA * normal), rounded, at most MAX: a long tail
std::vector<std::int64_t> draw_lengths(const std::string& option, const std::string& text,
                                       std::int64_t count, std::uint64_t seed);

}  // namespace jfa::tool
