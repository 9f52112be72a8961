// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command starts itself as the ranks of a job, unless a launcher has done so. Rank 0 then reports:
// to people, or in lines to the process that started it, which shows a bar and prints the report.
#include "bench/step/command.hpp"

#include <sys/prctl.h>

#include <iostream>
#include <optional>

#include "base/data/text.hpp"
#include "bench/ranks/lanes.hpp"
#include "bench/ranks/own_ranks.hpp"
#include "bench/step/arguments.hpp"
#include "bench/step/report.hpp"
#include "bench/step/turns.hpp"
#include "exit_codes.hpp"

namespace unisono::tools {
namespace {

constexpr int kRanksHere = 2;

void complain(const std::string& message) { complain_about("step", message); }

int deliver_steps(const StepSettings& settings, const StepResults& results) {
  const Machine machine = this_machine();
  bool written = true;
  const std::string json = settings.json.empty() ? "" : step_json(settings, machine, results);
  if (settings.json == "-") {
    std::cout << json << std::flush;
  } else {
    std::cout << step_table(settings, machine, results) << std::flush;
    if (!json.empty()) written = write_whole("step", settings.json, json);
  }
  if (!settings.write_profile.empty()) {
    written =
        write_whole("step", settings.write_profile, profile_json(settings.profile)) && written;
  }
  if (!settings.plot.empty()) {
    written = write_whole("step", settings.plot, step_svg(settings, machine, results)) && written;
  }
  return written ? kSuccess : kJobFailed;
}

// Ok unless the engine has none of the planners asked for; then its words about the first.
Status all_refused(const StepSettings& settings) {
  Status first;
  for (const std::string& planner : settings.planners) {
    const Status refused = Options().set("planner", planner);
    if (refused.ok()) return {};
    if (first.ok()) first = refused;
  }
  return first;
}

int serve_as_rank(const StepSettings& settings) {
  // The kernel may otherwise let a sleeper sleep 50 µs longer, to save energy.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  auto base = options_with(settings.options);
  if (!base) {
    complain(base.status().message());
    return kWrongUsage;
  }
  auto own = Options::from_environment();
  auto control = own ? Engine::join(*own) : Result<Engine>(own.status());
  if (!control) {
    complain(control.status().to_string());
    return kJobFailed;
  }
  if (settings.ranks > 0 && settings.ranks != control->size()) {
    if (control->rank() == 0) {
      complain(cat("--ranks ", settings.ranks, ", but the launcher has started ", control->size(),
                   "; leave --ranks out"));
    }
    return kWrongUsage;
  }
  const bool reports = control->rank() == 0;
  std::optional<StepResults> results;
  {
    RankProgress shown(reports, settings.lines, settings.quiet);
    const StepProgress progress = [&](double done, const std::string& now) { shown.show(done, now); };
    auto measured = measure_steps(settings, *base, *control, lanes_of_job(*control), progress);
    if (!measured) {
      complain(measured.status().to_string());
      return kJobFailed;
    }
    results = std::move(*measured);
  }
  if (!reports) return kSuccess;
  if (!settings.lines) return deliver_steps(settings, *results);
  say_results(*results);
  return kSuccess;
}

int start_ranks(const StepSettings& settings, const std::vector<std::string>& arguments) {
  if (auto options = options_with(settings.options); !options) {
    complain(options.status().message());
    return kWrongUsage;
  }
  if (const Status refused = all_refused(settings); !refused.ok()) {
    complain(refused.message());
    return kWrongUsage;
  }
  const int ranks = settings.ranks > 0 ? settings.ranks : kRanksHere;
  const OwnRanks done = run_own_ranks("step", ranks, settings.quiet, arguments);
  if (!done.results) return done.exit_code;
  return deliver_steps(settings, done.results->get<StepResults>());
}

}  // namespace

int bench_step_command(std::vector<std::string> arguments) {
  const StepArguments parsed = parse_step_arguments(arguments);
  if (parsed.exit_code >= 0) return parsed.exit_code;
  auto rank = started_as_rank();
  if (!rank) {
    complain(rank.status().message());
    return kWrongUsage;
  }
  try {
    return *rank ? serve_as_rank(parsed.settings) : start_ranks(parsed.settings, arguments);
  } catch (const std::bad_alloc&) {
    complain(cat("not enough memory for two copies of ", parsed.settings.profile.bytes(),
                 " bytes of gradients on each rank; give --scale"));
    return kMachineLacks;
  }
}

}  // namespace unisono::tools
