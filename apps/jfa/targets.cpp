#include "targets.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "files/files.hpp"
#include "jfa/error.hpp"

namespace jfa::tool {
namespace {

/// Parses the file and has `take(json)` pick what it wants.
template <typename Take>
void read_figures(const std::string& path, Take take) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 26;
  const std::string text = read_text(path, kMaxBytes);
  try {
    take(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kInvalidArgument,
                path + ": not a file of peers' figures: " + error.what());
  }
}

}  // namespace

const Target* Targets::find(const std::string& name, const std::string& direction) const {
  const auto found = cases.find({name, direction});
  return found == cases.end() ? nullptr : &found->second;
}

Targets read_targets(const std::string& path) {
  Targets targets;
  read_figures(path, [&](const nlohmann::json& file) {
    targets.card = file.at("card").get<std::string>();
    for (const nlohmann::json& entry : file.at("cases")) {
      targets.cases[{entry.at("name"), entry.at("direction")}] = {
          entry.value("best_ms", 0.0), entry.value("best", ""), entry.value("fa3_ms", 0.0)};
    }
  });
  return targets;
}

PeerErrors read_peer_errors(const std::string& path) {
  PeerErrors errors;
  read_figures(path, [&](const nlohmann::json& file) {
    for (const nlohmann::json& entry : file.at("cases")) {
      for (const char* output : {"out", "dq", "dk", "dv"}) {
        if (!entry.contains(output)) continue;
        const double error = entry.at(output);
        const auto [found, is_new] = errors.try_emplace({entry.at("name"), output}, error);
        if (!is_new) found->second = std::min(found->second, error);
      }
    }
  });
  return errors;
}

}  // namespace jfa::tool
