#include "machine/emulator/verify.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <stdexcept>
#include <utility>

namespace jfa::emulator {
namespace {

// A path that ccache has made relative to the build folder ("../../src/...") is one below the
// sources.
std::filesystem::path path_of(const CallSite& site) {
  std::filesystem::path path = site.file;
  if (path.is_absolute()) return path;
  const auto inside = std::find_if(path.begin(), path.end(),
                                   [](const auto& part) { return part != "." && part != ".."; });
  return std::accumulate(inside, path.end(), std::filesystem::path(JFA_SOURCE_DIR),
                         std::divides<>());
}

std::string line_of(const CallSite& site) {
  std::ifstream file(path_of(site));
  std::string line;
  for (int number = 0; number < site.line && std::getline(file, line); ++number) continue;
  return file ? line : "";
}

std::string last_part(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool same(const Mutant& a, const Mutant& b) {
  return a.mutation == b.mutation && same_place(a.site, b.site);
}

std::vector<RunOptions> options_of(std::span<const Schedule> schedules, int seeds) {
  std::vector<RunOptions> all;
  for (int seed = 0; seed < seeds; ++seed) {
    for (const Schedule schedule : schedules) {
      RunOptions& options = all.emplace_back();
      options.schedule = schedule;
      options.seed = static_cast<std::uint64_t>(seed);
    }
  }
  return all;
}

// A subject that nothing disturbs, under each of `all`: what was flagged first, the sites that
// order something, and how much there is to do.
struct Survey {
  std::optional<Outcome> flagged;
  std::vector<SyncSite> sites;
  std::uint64_t events = 0;
};

Survey survey(const Subject& subject, const std::vector<RunOptions>& all) {
  std::vector<Survey> runs(all.size());
  tbb::parallel_for(std::size_t{0}, all.size(), [&](std::size_t i) {
    Outcome outcome = subject.run(all[i]);
    runs[i].sites = std::move(outcome.result.sites);
    runs[i].events = outcome.result.events;
    if (outcome.flagged()) runs[i].flagged = std::move(outcome);
  });
  Survey result;
  for (Survey& run : runs) {
    result.events += run.events;
    if (!result.flagged) result.flagged = std::move(run.flagged);
    std::move(run.sites.begin(), run.sites.end(), std::back_inserter(result.sites));
  }
  return result;
}

// A mutant, and the subjects that come to its place. Subjects share lines: instantiations of one
// kernel.
struct Candidate {
  Mutant mutant;
  std::vector<const Subject*> subjects;
};

void add_candidates(const Subject& subject, const std::vector<SyncSite>& sites,
                    std::vector<Candidate>& candidates) {
  for (const SyncSite& site : sites) {
    for (const Mutation mutation : site.mutations) {
      const Mutant mutant{site.site, mutation};
      auto known = std::find_if(candidates.begin(), candidates.end(),
                                [&](const Candidate& other) { return same(mutant, other.mutant); });
      if (known == candidates.end()) known = candidates.insert(known, {mutant, {}});
      if (known->subjects.empty() || known->subjects.back() != &subject) {
        known->subjects.push_back(&subject);
      }
    }
  }
}

// One schedule over all subjects before the next: most mutants fall at the first, where they fall.
bool is_killed(const Candidate& candidate, const std::vector<RunOptions>& all) {
  for (RunOptions options : all) {
    options.mutant = candidate.mutant;
    for (const Subject* subject : candidate.subjects) {
      if (subject->run(options).flagged()) return true;
    }
  }
  return false;
}

const Justified* justification(const Candidate& candidate, std::span<const Justified> list) {
  for (const Subject* subject : candidate.subjects) {
    if (const Justified* known = find_justified(list, *subject, candidate.mutant)) return known;
  }
  return nullptr;
}

struct Tally {
  int killed = 0;
  int justified = 0;
  int survivors = 0;
};

// Tries all mutants but those that may survive.
Tally try_mutants(const std::vector<Candidate>& candidates, const std::vector<RunOptions>& all,
                  std::span<const Justified> justified, std::ostream& out) {
  std::vector<const Justified*> known(candidates.size());
  std::vector<char> killed(candidates.size());
  tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t i) {
    known[i] = justification(candidates[i], justified);
    if (known[i] == nullptr && is_killed(candidates[i], all)) killed[i] = 1;
  });
  Tally tally;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [mutant, subjects] = candidates[i];
    const std::string what =
        subjects[0]->name + ": " + to_string(mutant.site) + ", " + to_string(mutant.mutation);
    if (known[i] != nullptr) {
      ++tally.justified;
      out << "not tried, justified: " << what << ": " << known[i]->why << '\n';
    } else if (killed[i]) {
      ++tally.killed;
    } else {
      ++tally.survivors;
      out << "SURVIVES: " << what << '\n';
    }
  }
  return tally;
}

}  // namespace

const char* to_string(Mutation mutation) {
  switch (mutation) {
    case Mutation::Drop:
      return "drop";
    case Mutation::Twice:
      return "twice";
    case Mutation::Weaken:
      return "weaken";
    case Mutation::MoreBytes:
      return "more-bytes";
    case Mutation::LessBytes:
      return "less-bytes";
  }
  return "";
}

SearchResult search(const Subject& subject, std::span<const Schedule> schedules, int seeds) {
  SearchResult result;
  for (const RunOptions& options : options_of(schedules, seeds)) {
    result.outcome = subject.run(options);
    ++result.runs;
    if (!result.outcome.flagged()) continue;
    result.options = options;
    break;
  }
  return result;
}

std::vector<Justified> load_justified(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Justified> result;
  try {
    for (const auto& entry : nlohmann::json::parse(file)) {
      result.push_back({entry.value("kernel", ""), entry.at("file"), entry.at("word"),
                        entry.at("mutation"), entry.at("source"), entry.at("why")});
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
  return result;
}

const Justified* find_justified(std::span<const Justified> list, const Subject& subject,
                                const Mutant& mutant) {
  const std::string line = line_of(mutant.site);
  for (const auto& entry : list) {
    if (!entry.kernel.empty() && entry.kernel != subject.name) continue;
    if (entry.file == last_part(mutant.site.file) && entry.word == mutant.site.word &&
        entry.mutation == to_string(mutant.mutation) &&
        line.find(entry.source) != std::string::npos) {
      return &entry;
    }
  }
  return nullptr;
}

int verify(std::span<const Subject> subjects, const VerifyOptions& options, std::ostream& out) {
  const std::vector<RunOptions> all = options_of(kSchedules, options.seeds);
  std::vector<std::pair<const Subject*, Survey>> clean;
  int flagged = 0;
  for (const auto& subject : subjects) {
    out << subject.name << '\n';
    Survey found = survey(subject, all);
    if (found.flagged) {
      ++flagged;
      out << report(found.flagged->result.finding);
      if (!found.flagged->wrong.empty()) out << "  wrong: " << found.flagged->wrong << '\n';
      continue;
    }
    out << "  clean in " << all.size() << " runs\n" << std::flush;
    clean.emplace_back(&subject, std::move(found));
  }
  Tally tally;
  if (options.mutate) {
    std::stable_sort(clean.begin(), clean.end(), [](const auto& a, const auto& b) {
      return a.second.events < b.second.events;  // a mutant is tried where it costs least
    });
    std::vector<Candidate> candidates;
    for (const auto& [subject, found] : clean) add_candidates(*subject, found.sites, candidates);
    tally = try_mutants(candidates, all, options.justified, out);
  }
  out << subjects.size() << " kernels, " << subjects.size() * all.size() << " runs, " << flagged
      << " flagged; " << tally.killed << " mutants killed, " << tally.justified << " justified, "
      << tally.survivors << " survivors\n";
  return flagged + tally.survivors;
}

}  // namespace jfa::emulator
