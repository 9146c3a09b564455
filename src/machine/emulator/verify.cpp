#include "machine/emulator/verify.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

namespace jfa::emulator {
namespace {

std::string line_of(const CallSite& site) {
  std::ifstream file(site.file);
  std::string line;
  for (int number = 0; number < site.line && std::getline(file, line); ++number) continue;
  return file ? line : "";
}

std::string last_part(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool same(const Mutant& a, const Mutant& b) {
  return a.mutation == b.mutation && same_place(a.site, b.site);
}

bool contains(std::span<const Mutant> mutants, const Mutant& one) {
  return std::any_of(mutants.begin(), mutants.end(),
                     [&](const Mutant& other) { return same(one, other); });
}

struct Survivor {
  const Subject* subject;
  Mutant mutant;
};

// What the mutants of all subjects came to. Subjects share lines: instantiations of one kernel.
struct Tally {
  std::vector<Mutant> killed;
  std::vector<Survivor> survivors;  // of some subject
};

void try_mutants(const Subject& subject, const VerifyOptions& options, std::ostream& out,
                 Tally& tally) {
  const auto results = mutate(subject, kSchedules, options.seeds, tally.killed);
  std::size_t killed = 0;
  for (const auto& result : results) {
    if (result.killed()) {
      ++killed;
      tally.killed.push_back(result.mutant);
    } else {
      tally.survivors.push_back({&subject, result.mutant});
    }
  }
  out << "  " << killed << " of " << results.size() << " new mutants killed\n";
}

struct Verdict {
  int justified = 0;
  int problems = 0;
};

// Survivors that no subject has killed: each is justified by name, or a problem.
Verdict judge(const Tally& tally, const VerifyOptions& options, std::ostream& out) {
  Verdict verdict;
  std::vector<Mutant> judged = tally.killed;
  for (const auto& [subject, mutant] : tally.survivors) {
    if (contains(judged, mutant)) continue;
    judged.push_back(mutant);
    const std::string what =
        subject->name + ": " + to_string(mutant.site) + ", " + to_string(mutant.mutation);
    if (const Justified* known = find_justified(options.justified, *subject, mutant)) {
      ++verdict.justified;
      out << "survives, justified: " << what << ": " << known->why << '\n';
    } else {
      ++verdict.problems;
      out << "SURVIVES: " << what << '\n';
    }
  }
  return verdict;
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

SearchResult search(const Subject& subject, std::span<const Schedule> schedules, int seeds,
                    const std::optional<Mutant>& mutant) {
  SearchResult result;
  for (int seed = 0; seed < seeds; ++seed) {
    for (const Schedule schedule : schedules) {
      RunOptions options;
      options.schedule = schedule;
      options.seed = static_cast<std::uint64_t>(seed);
      options.mutant = mutant;
      result.outcome = subject.run(options);
      ++result.runs;
      if (!result.outcome.flagged()) continue;
      result.options = options;
      return result;
    }
  }
  return result;
}

std::vector<Mutant> mutants(const Subject& subject, std::span<const Schedule> schedules,
                            int seeds) {
  std::vector<Mutant> result;
  for (int seed = 0; seed < seeds; ++seed) {
    for (const Schedule schedule : schedules) {
      RunOptions options;
      options.schedule = schedule;
      options.seed = static_cast<std::uint64_t>(seed);
      for (const SyncSite& site : subject.run(options).result.sites) {
        for (const Mutation mutation : site.mutations) {
          const Mutant mutant{site.site, mutation};
          if (!contains(result, mutant)) result.push_back(mutant);
        }
      }
    }
  }
  return result;
}

std::vector<MutantResult> mutate(const Subject& subject, std::span<const Schedule> schedules,
                                 int seeds, std::span<const Mutant> except) {
  std::vector<MutantResult> results;
  for (const Mutant& mutant : mutants(subject, schedules, 1)) {
    if (!contains(except, mutant)) results.emplace_back().mutant = mutant;
  }
  tbb::parallel_for(std::size_t{0}, results.size(), [&](std::size_t i) {
    results[i].search = search(subject, schedules, seeds, results[i].mutant);
  });
  return results;
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
  Tally tally;
  int flagged = 0;
  std::uint64_t runs = 0;
  for (const auto& subject : subjects) {
    out << subject.name << '\n';
    const auto found = search(subject, kSchedules, options.seeds);
    runs += found.runs;
    if (found.options) {
      ++flagged;
      out << report(found.outcome.result.finding);
      if (!found.outcome.wrong.empty()) out << "  wrong: " << found.outcome.wrong << '\n';
      continue;
    }
    out << "  clean in " << found.runs << " runs\n" << std::flush;
    if (options.mutate) try_mutants(subject, options, out, tally);
  }
  const Verdict verdict = judge(tally, options, out);
  out << subjects.size() << " kernels, " << runs << " runs, " << flagged << " flagged; "
      << tally.killed.size() << " mutants killed, " << verdict.justified << " justified survivors, "
      << verdict.problems << " other survivors\n";
  return flagged + verdict.problems;
}

}  // namespace jfa::emulator
