#include "machine/emulator/call_site.hpp"

#include <cstring>

namespace jfa::emulator {

std::string to_string(const CallSite& site) {
  if (site.line == 0) return site.word;
  const char* slash = std::strrchr(site.file, '/');
  std::string text = slash != nullptr ? slash + 1 : site.file;
  text += ':' + std::to_string(site.line);
  if (site.column != 0) text += ':' + std::to_string(site.column);
  return text + ' ' + site.word;
}

bool same_place(const CallSite& a, const CallSite& b) {
  return a.line == b.line && a.column == b.column && std::strcmp(a.word, b.word) == 0 &&
         std::strcmp(a.file, b.file) == 0;
}

std::size_t SiteTable::Hash::operator()(const Key& key) const {
  std::size_t hash = key.place * 0x9e3779b97f4a7c15u;
  hash ^=
      reinterpret_cast<std::uintptr_t>(key.file) * 31 + reinterpret_cast<std::uintptr_t>(key.word);
  return hash ^ (hash >> 29);
}

SiteTable::SiteTable() { sites_.push_back({"", 0, 0, "(start of the launch)"}); }

SiteId SiteTable::id(const CallSite& site) {
  const Key key{
      site.file, site.word,
      static_cast<std::uint64_t>(site.line) << 32 | static_cast<std::uint32_t>(site.column)};
  const auto [place, fresh] = ids_.try_emplace(key, static_cast<SiteId>(sites_.size()));
  if (fresh) sites_.push_back(site);
  return place->second;
}

}  // namespace jfa::emulator
