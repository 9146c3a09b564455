// Peers' figures for the cases of a suite.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace jfa::tool {

/// What peers need for one case and direction; 0 where that is not known.
struct Target {
  double best_ms = 0;
  std::string best;  ///< who
  double fa3_ms = 0;
};

/// Figures of one file, by case name and direction ("fwd", "bwd").
struct Targets {
  std::string card;  ///< what they were measured on
  std::map<std::pair<std::string, std::string>, Target> cases;

  const Target* find(const std::string& name, const std::string& direction) const;
};

/// Reads `{card, cases: [{name, direction, best_ms?, best?, fa3_ms?, ...}]}`. Throws Error.
Targets read_targets(const std::string& path);

/// A peer's relative Frobenius errors by case name and output ("out", "dq", "dk", "dv").
using PeerErrors = std::map<std::pair<std::string, std::string>, double>;

/// Reads `{cases: [{name, out?, dq?, dk?, dv?, ...}]}`; of several entries of one case, the
/// smallest error of each output counts. Throws Error.
PeerErrors read_peer_errors(const std::string& path);

}  // namespace jfa::tool
