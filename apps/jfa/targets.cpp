#include "targets.hpp"

#include <nlohmann/json.hpp>

#include "files/files.hpp"
#include "jfa/error.hpp"

namespace jfa::tool {

const Target* Targets::find(const std::string& name, const std::string& direction) const {
  const auto found = cases.find({name, direction});
  return found == cases.end() ? nullptr : &found->second;
}

Targets read_targets(const std::string& path) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 26;
  const std::string text = read_text(path, kMaxBytes);
  Targets targets;
  try {
    const nlohmann::json file = nlohmann::json::parse(text);
    targets.card = file.at("card").get<std::string>();
    for (const nlohmann::json& entry : file.at("cases")) {
      targets.cases[{entry.at("name"), entry.at("direction")}] = {
          entry.value("best_ms", 0.0), entry.value("best", ""), entry.value("fa3_ms", 0.0)};
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kInvalidArgument,
                path + ": not a file of peers' figures: " + error.what());
  }
  return targets;
}

}  // namespace jfa::tool
