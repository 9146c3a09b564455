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

struct Tally {
  std::size_t mutants = 0;
  std::size_t justified = 0;
  int problems = 0;
};

void verify_mutants(const Subject& subject, const VerifyOptions& options, std::ostream& out,
                    Tally& tally) {
  const auto results = mutate(subject, kSchedules, options.seeds);
  std::size_t killed = 0;
  for (const auto& result : results) {
    ++tally.mutants;
    if (result.killed()) {
      ++killed;
      continue;
    }
    const std::string what =
        to_string(result.mutant.site) + ", " + to_string(result.mutant.mutation);
    if (const Justified* known = find_justified(options.justified, subject, result.mutant)) {
      ++tally.justified;
      out << "  survives, justified: " << what << ": " << known->why << '\n';
    } else {
      ++tally.problems;
      out << "  SURVIVES: " << what << '\n';
    }
  }
  out << "  " << killed << " of " << results.size() << " mutants killed\n";
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
  const auto listed = [&](const CallSite& site, Mutation mutation) {
    return std::any_of(result.begin(), result.end(), [&](const Mutant& known) {
      return known.mutation == mutation && same_place(known.site, site);
    });
  };
  for (int seed = 0; seed < seeds; ++seed) {
    for (const Schedule schedule : schedules) {
      RunOptions options;
      options.schedule = schedule;
      options.seed = static_cast<std::uint64_t>(seed);
      for (const SyncSite& site : subject.run(options).result.sites) {
        for (const Mutation mutation : site.mutations) {
          if (!listed(site.site, mutation)) result.push_back({site.site, mutation});
        }
      }
    }
  }
  return result;
}

std::vector<MutantResult> mutate(const Subject& subject, std::span<const Schedule> schedules,
                                 int seeds) {
  std::vector<MutantResult> results;
  for (const Mutant& mutant : mutants(subject, schedules, 1)) {
    results.emplace_back().mutant = mutant;
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
  std::uint64_t runs = 0;
  for (const auto& subject : subjects) {
    out << subject.name << '\n';
    const auto found = search(subject, kSchedules, options.seeds);
    runs += found.runs;
    if (found.options) {
      ++tally.problems;
      out << report(found.outcome.result.finding);
      if (!found.outcome.wrong.empty()) out << "  wrong: " << found.outcome.wrong << '\n';
      continue;
    }
    out << "  clean in " << found.runs << " runs\n";
    if (options.mutate) verify_mutants(subject, options, out, tally);
  }
  out << subjects.size() << " kernels, " << runs << " clean runs, " << tally.mutants << " mutants, "
      << tally.justified << " justified survivors, " << tally.problems << " problems\n";
  return tally.problems;
}

}  // namespace jfa::emulator
