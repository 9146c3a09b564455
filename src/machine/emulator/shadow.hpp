// Shadow memory: who last wrote each 16-byte granule (or 2-byte cell of it), who read it since, and
// whether an access is ordered after them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "machine/emulator/call_site.hpp"
#include "machine/emulator/clock.hpp"

namespace jfa::emulator {

enum class AccessKind : std::uint8_t {
  Read,
  Write,
  Reduce,        // commutative addition (reduce-add, red): unordered with its like
  AtomicRead,    // acquire load
  AtomicWrite,   // release store
  AtomicUpdate,  // read-modify-write
};

const char* to_string(AccessKind kind);

// An access as it is remembered: who, when, where in the source, through which proxy.
struct Access {
  Epoch epoch;
  SiteId site = kNoSite;
  AccessKind kind = AccessKind::Read;
  bool async = false;
  bool operator==(const Access&) const = default;
};

// What the accessor knows. `self` is the accessing thread, whose own generic accesses precede by
// program order, those up to `fenced` in the async proxy too; an asynchronous operation has the
// knowledge of the thread that issues it.
struct Viewpoint {
  const ClockRef* generic = nullptr;
  const ClockRef* async = nullptr;
  std::optional<Agent> self;
  Time fenced = 0;
};

enum class Verdict : std::uint8_t {
  Ordered,
  Unordered,
  NoProxyFence,
  Uninitialized,
  WrittenTwice,
  Pedantic,
};

struct Conflict {
  Verdict verdict;
  Access earlier;
  std::uint64_t offset;
};

// Sets of readers (and reducers) since the last write, interned: cells hold a small number.
class ReaderTable {
 public:
  struct Entry {
    Agent agent;  // lane 0 stands for all lanes of `lanes`, kWholeRow for a tensor unit
    std::uint32_t lanes;
    Time time;
    SiteId site;
    AccessKind kind;
    bool async;
    bool operator==(const Entry&) const = default;
  };
  using Set = std::vector<Entry>;

  ReaderTable() { sets_.emplace_back(); }
  // The set with `access` added, and without what all viewpoints know to be earlier.
  std::uint32_t add(std::uint32_t set, const Access& access, std::span<const Viewpoint> views);
  const Set& operator[](std::uint32_t set) const { return sets_[set]; }
  std::size_t size() const { return sets_.size(); }
  std::uint32_t insert(const Set& set) { return intern(Set(set)); }
  void clear();

 private:
  static constexpr std::size_t kRemembered = 1024;
  struct Remembered {
    std::uint32_t set = 0;
    Access access;
    std::uint32_t result = 0;
  };

  std::uint32_t extended(std::uint32_t set, const Access& access, std::span<const Viewpoint> views);
  std::uint32_t intern(Set&& set);

  std::vector<Set> sets_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::array<Remembered, kRemembered> remembered_{};
};

class Shadow {
 public:
  static constexpr std::uint64_t kGranule = 16;
  static constexpr std::uint64_t kCell = 2;
  static constexpr std::uint64_t kCells = kGranule / kCell;

  // `initialized`: the memory holds values that everyone may read. `write_once`: a byte written
  // twice in one launch is a conflict.
  Shadow(std::uint64_t bytes, bool initialized, ReaderTable& readers, bool write_once = false);

  // Checks the access of `bytes` bytes at `offset` against what came before, and records it. The
  // first conflict is returned and ends the recording.
  std::optional<Conflict> touch(std::uint64_t offset, std::uint64_t bytes, const Access& access,
                                std::span<const Viewpoint> views);
  // The same for whole granules, given by their numbers.
  std::optional<Conflict> touch(std::span<const std::uint32_t> granules, const Access& access,
                                std::span<const Viewpoint> views);
  // The first generic read that is ordered before `access`, an async write, but not through a proxy
  // fence: correct on today's hardware, and reported as pedantic.
  std::optional<Conflict> take_pedantic() { return std::exchange(pedantic_, std::nullopt); }

  // Moves the sets of readers in use to `kept`, which takes the table's place.
  void move_readers(ReaderTable& kept);
  // Everything so far happened before a launch that now begins.
  void launch_boundary();

 private:
  struct Cell {
    Epoch writer;  // split: writer.time is the number of the cells
    std::uint32_t site : 24 = 0;
    std::uint32_t initialized : 1 = 0;
    std::uint32_t async : 1 = 0;
    std::uint32_t atomic : 1 = 0;
    std::uint32_t split : 1 = 0;
    std::uint32_t readers = 0;
    bool operator==(const Cell&) const = default;
  };
  using Split = std::array<Cell, kCells>;

  // One access under way, with the last cell it changed.
  struct Step {
    const Access& access;
    std::span<const Viewpoint> views;
    Cell before{}, after{};
    bool primed = false;
  };

  std::optional<Conflict> touch_granule(std::uint64_t granule, Step& step);
  std::optional<Conflict> touch_cells(std::uint64_t granule, std::uint64_t first,
                                      std::uint64_t count, Step& step);
  std::optional<Conflict> touch_cell(Cell& cell, std::uint64_t offset, Step& step);
  std::optional<Conflict> check(const Cell& cell, std::uint64_t offset, const Step& step);
  std::optional<Conflict> check_readers(const Cell& cell, std::uint64_t offset, const Step& step);
  Split& split(Cell& cell);
  void merge(Cell& cell);

  std::vector<Cell> cells_;
  std::vector<Split> splits_;
  std::vector<std::uint32_t> free_splits_;
  std::optional<Conflict> pedantic_;
  ReaderTable& readers_;
  bool write_once_;
};

}  // namespace jfa::emulator
