// Searches: a kernel under many schedules and seeds, and under every mutation of its
// synchronization.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "machine/emulator/options.hpp"

namespace jfa::emulator {

// What one run gave. `wrong` is empty or says which value is wrong.
struct Outcome {
  RunResult result;
  std::string wrong;

  bool flagged() const { return result.finding.found() || !wrong.empty(); }
};

// A kernel with a problem for it. `run` makes its own buffers, and may run on several host threads
// at once.
struct Subject {
  std::string name;
  std::function<Outcome(const RunOptions&)> run;
};

struct SearchResult {
  std::uint64_t runs = 0;
  std::optional<RunOptions> options;  // of the first run that was flagged
  Outcome outcome;                    // of that run, or of the last
};

// Seeds 0 to `seeds` - 1 of each schedule, until a run is flagged.
SearchResult search(const Subject& subject, std::span<const Schedule> schedules, int seeds,
                    const std::optional<Mutant>& mutant = std::nullopt);

// Every mutation of every site that orders something in the subject, by recording runs.
std::vector<Mutant> mutants(const Subject& subject, std::span<const Schedule> schedules, int seeds);

struct MutantResult {
  Mutant mutant;
  SearchResult search;
  bool killed() const { return search.options.has_value(); }
};

// All mutants of a subject, spread over the host's cores.
std::vector<MutantResult> mutate(const Subject& subject, std::span<const Schedule> schedules,
                                 int seeds);

}  // namespace jfa::emulator
