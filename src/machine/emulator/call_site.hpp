// Where a word stands in the kernel's source: the unit of reports and of mutation.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace jfa::emulator {

// One word at one place. `file` and `word` are literals.
struct CallSite {
  const char* file = "";
  int line = 0;
  int column = 0;
  const char* word = "";
};

// "ring.hpp:41:7 mbarrier_wait"; the path is cut to its last part.
std::string to_string(const CallSite& site);
// True when both name the same word at the same place, whatever literals hold them.
bool same_place(const CallSite& a, const CallSite& b);

using SiteId = std::uint32_t;
inline constexpr SiteId kNoSite = 0;

// Gives each site seen in a run a small number.
class SiteTable {
 public:
  SiteTable();
  SiteId id(const CallSite& site);
  const CallSite& operator[](SiteId id) const { return sites_[id]; }
  std::size_t size() const { return sites_.size(); }

 private:
  struct Key {
    const char* file;
    const char* word;
    std::uint64_t place;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  std::vector<CallSite> sites_;
  std::unordered_map<Key, SiteId, Hash> ids_;
};

}  // namespace jfa::emulator
