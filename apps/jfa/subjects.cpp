#include "subjects.hpp"

#include <stdexcept>

#include "emulated/kernel_subjects.hpp"
#include "jfa/error.hpp"
#include "kernels/samples/emulated_samples.hpp"

namespace jfa::tool {
namespace {

std::vector<emulator::Subject> all_subjects() {
  std::vector<emulator::Subject> all = sample_subjects();
  for (emulator::Subject& subject : kernel_subjects()) all.push_back(std::move(subject));
  return all;
}

std::string names_of(const std::vector<emulator::Subject>& subjects) {
  std::string names;
  for (const emulator::Subject& subject : subjects) {
    names += (names.empty() ? "" : ", ") + subject.name;
  }
  return names;
}

emulator::Subject only_subject(const std::string& part) {
  const std::vector<emulator::Subject> subjects = select_subjects(part);
  for (const emulator::Subject& subject : subjects) {
    if (subject.name == part) return subject;
  }
  if (subjects.size() == 1) return subjects.front();
  throw Error(ErrorCode::kInvalidArgument,
              "kernel \"" + part + "\" is not one kernel, must be one of " + names_of(subjects));
}

emulator::Schedule schedule_of(const std::string& name) {
  std::string known;
  for (const emulator::Schedule schedule : emulator::kSchedules) {
    if (emulator::to_string(schedule) == name) return schedule;
    known += (known.empty() ? "" : ", ") + std::string(emulator::to_string(schedule));
  }
  throw Error(ErrorCode::kInvalidArgument, "schedule is " + name + ", must be one of " + known);
}

}  // namespace

std::vector<emulator::Subject> select_subjects(const std::string& part) {
  const std::vector<emulator::Subject> all = all_subjects();
  std::vector<emulator::Subject> selected;
  for (const emulator::Subject& subject : all) {
    if (subject.name.find(part) != std::string::npos) selected.push_back(subject);
  }
  if (selected.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "kernel is " + part + ", must be part of one of " + names_of(all));
  }
  return selected;
}

void add_run_arguments(CLI::App& command, RunArguments& arguments) {
  command.add_option("kernel", arguments.kernel, "Name of the kernel, or an unambiguous part")
      ->required();
  command.add_option("--schedule", arguments.schedule, "In what order threads and copies move")
      ->capture_default_str();
  command.add_option("--seed", arguments.seed, "Of the schedule's choices")->capture_default_str();
}

emulator::Trace traced_run(const RunArguments& arguments) {
  emulator::RunOptions options;
  options.schedule = schedule_of(arguments.schedule);
  options.seed = arguments.seed;
  options.trace = true;
  emulator::Outcome outcome = only_subject(arguments.kernel).run(options);
  if (outcome.result.finding.found()) throw std::runtime_error(report(outcome.result.finding));
  if (!outcome.wrong.empty()) throw std::runtime_error("wrong result: " + outcome.wrong);
  return std::move(outcome.result.trace);
}

}  // namespace jfa::tool
