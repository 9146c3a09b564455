#include "machine/emulator/verify.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>

namespace jfa::emulator {

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

}  // namespace jfa::emulator
