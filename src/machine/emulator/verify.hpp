// Searches: a kernel under many schedules and seeds, and under every mutation of its
// synchronization.
#pragma once

#include <functional>
#include <iosfwd>
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
SearchResult search(const Subject& subject, std::span<const Schedule> schedules, int seeds);

// A mutant that may survive: matched by kernel, file, word, mutation and a piece of the source line
// it stands on.
struct Justified {
  std::string kernel;  // empty: any
  std::string file;    // last part of its path
  std::string word;
  std::string mutation;
  std::string source;
  std::string why;
};

// Reads a JSON list of such. Throws std::runtime_error when the file cannot be read or understood.
std::vector<Justified> load_justified(const std::string& path);
// The entry that justifies the mutant's survival, or null.
const Justified* find_justified(std::span<const Justified> list, const Subject& subject,
                                const Mutant& mutant);

struct VerifyOptions {
  int seeds = 8;
  bool mutate = false;
  std::vector<Justified> justified;
};

// Searches, and if asked mutates, every subject, spread over the host's cores; writes what it
// finds, and a summary as its last line. A mutant of a line that subjects share (instantiations of
// one kernel) is killed by any of them; one that is justified is not tried. Returns the number of
// problems: flagged subjects and survivors.
int verify(std::span<const Subject> subjects, const VerifyOptions& options, std::ostream& out);

}  // namespace jfa::emulator
