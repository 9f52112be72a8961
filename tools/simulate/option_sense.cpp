// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/option_sense.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "order/pacing/pacing.hpp"
#include "sim/study/study.hpp"

namespace unisono::tools {
namespace {

Status senseless(std::string message) {
  return Status(Code::invalid_argument, std::move(message));
}

bool given(const CLI::App& app, std::string_view name) {
  return app.get_option(std::string(name))->count() > 0;
}

bool any_given(const CLI::App& app, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return given(app, name); });
}

bool any_of_pacings(const SimulateSettings& s, bool (*is)(std::string_view)) {
  return std::any_of(s.pacings.begin(), s.pacings.end(),
                     [&](const std::string& name) { return is(name); });
}

// What a study understands beside its name; a list understands none of it.
constexpr std::string_view kOfStudies[] = {"--study", "--study-scale", "--seed", "--seeds",
                                           "--iterations", "--sensitivity", "--json", "--quiet",
                                           "--detail"};

// An option that counts only beside one of others.
struct Needs {
  std::string_view option;
  std::initializer_list<std::string_view> any;
};
const Needs kNeeds[] = {
    {"--oversubscription", {"--hosts-per-switch"}},
    {"--spine-us", {"--hosts-per-switch"}},
    {"--fixed-share", {"--global-batch"}},
    {"--stall-ms", {"--stall-probability", "--displaced-per-ms"}},
    {"--stall-probability", {"--stall-ms"}},
    {"--displaced-per-ms", {"--stall-ms"}},
    {"--oversleep-ms", {"--oversleep-probability"}},
    {"--oversleep-probability", {"--oversleep-ms"}},
    {"--delay-ms", {"--delay", "--reorder"}},
    {"--codec-ns", {"--plan-codecs"}},
};

// What is about compute and its threads, of which ranks that share cores have none.
constexpr std::string_view kOfCompute[] = {
    "--jitter", "--stall-probability", "--stall-ms", "--displaced-per-ms", "--straggler",
    "--oversleep-probability", "--oversleep-ms", "--scp", "--busy-threads", "--cores-per-rank",
    "--compute-ms", "--at-end", "--data-queue", "--plan-codecs"};

// What happens to a thread that spins.
constexpr std::string_view kOfSpinning[] = {"--scp", "--busy-threads", "--cores-per-rank",
                                            "--displaced-per-ms", "--oversleep-probability"};

Status check_events(const CLI::App& app, const SimulateSettings& s) {
  const bool cycles = any_of_pacings(s, [](std::string_view name) { return name != "event"; });
  if (given(app, "--cycle-ms") && !cycles) {
    return senseless("--cycle-ms: pacing event has no cycle; give --pacing cycle, gs or nbcs");
  }
  if (s.base.host.shared_cores > 0) {
    for (const std::string_view name : kOfCompute) {
      if (!given(app, name)) continue;
      return senseless(cat(name, " means nothing with --shared-cores, which has no compute"));
    }
    return {};
  }
  const bool spins = any_of_pacings(s, [](std::string_view name) {
    const auto* row = order::find_pacing(name);
    return row != nullptr && row->spins;
  });
  for (const std::string_view name : kOfSpinning) {
    if (spins || !given(app, name)) continue;
    return senseless(cat(name, " is about threads that spin, which they do with --pacing cycle or ",
                         "gs, not with ", join_text(s.pacings)));
  }
  return {};
}

// What a study does not let be chosen.
Status check_study(const CLI::App& app, const SimulateSettings& s) {
  const auto rows = sim::study_table();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const sim::StudyTable& row) { return row.name == s.study; });
  if (found == rows.end()) return {};   // said later, with the list
  for (const char* name : {"--seed", "--seeds"}) {
    if (found->noisy || !given(app, name)) continue;
    return senseless(cat(name, " means nothing to study ", s.study, ", which draws nothing"));
  }
  for (const char* name : {"--iterations", "--study-scale"}) {
    if (found->scales || !given(app, name)) continue;
    return senseless(cat(name, " means nothing to study ", s.study, ", which has its own"));
  }
  return given(app, "--detail")
             ? senseless("--detail means nothing beside --study, which always shows its runs")
             : Status{};
}

}  // namespace

Status check_place(const CLI::App& app, const SimulateSettings& s) {
  if (s.study.empty() && !s.list) {
    if (!given(app, "--study-scale")) return {};
    return senseless("--study-scale is a share of a study's ranks: give --study NAME");
  }
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "--list") continue;
    if (s.list) {
      if (name == "--quiet") continue;
      return senseless(cat(name, " means nothing beside --list"));
    }
    const bool known = std::find(std::begin(kOfStudies), std::end(kOfStudies), name) !=
                       std::end(kOfStudies);
    if (known) continue;
    return senseless(name == "--plot" ? "--plot: a study is a table"
                                      : cat(name, " means nothing beside --study ", s.study,
                                            ", which has settings of its own"));
  }
  return s.list ? Status{} : check_study(app, s);
}

Status check_sense(const CLI::App& app, const SimulateSettings& s) {
  if (!s.study.empty() || s.list) return {};
  if (s.sensitivity && !s.plot.empty()) return senseless("--plot: --sensitivity is a table");
  if (s.sensitivity && s.detail) return senseless("--detail: --sensitivity has no rows of steps");
  if (s.sensitivity && s.jobs > 0) return senseless("--jobs: --sensitivity plays a row at a time");
  if (s.engine == SimulateEngine::timeline && s.jobs > 0) {
    return senseless("--jobs means nothing on a timeline, where a row takes no time");
  }
  if (given(app, "--hosts") && given(app, "--ranks")) {
    return senseless("give one of --hosts and --ranks");
  }
  for (const Needs& each : kNeeds) {
    if (!given(app, each.option) || any_given(app, each.any)) continue;
    return senseless(cat(each.option, " means nothing without ",
                         join_text(std::vector<std::string_view>(each.any), " or ")));
  }
  const auto fuses = [](const std::string& planner) {
    return planner != "wfbp" && planner != "single";
  };
  if (given(app, "--fusion-bytes") && std::none_of(s.planners.begin(), s.planners.end(), fuses)) {
    return senseless(cat("--fusion-bytes means nothing to ", join_text(s.planners)));
  }
  return s.engine == SimulateEngine::events ? check_events(app, s) : Status{};
}

}  // namespace unisono::tools
