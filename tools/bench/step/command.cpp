// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command starts itself as the ranks of a job, unless a launcher has done so. Rank 0 then reports:
// to people, or in lines to the process that started it, which shows a bar and prints the report.
#include "bench/step/command.hpp"

#include <sys/prctl.h>
#include <signal.h>

#include <fstream>
#include <iostream>
#include <optional>

#include "base/data/text.hpp"
#include "bench/step/arguments.hpp"
#include "bench/step/lanes.hpp"
#include "bench/step/report.hpp"
#include "bench/step/turns.hpp"
#include "exit_codes.hpp"
#include "processes/capture.hpp"
#include "processes/child.hpp"
#include "processes/interrupt.hpp"
#include "progress_bar.hpp"

namespace unisono::tools {
namespace {

constexpr int kRanksHere = 2;

void complain(const std::string& message) {
  std::cerr << "unisono bench step: " << message << "\n";
}

bool write_whole(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (file.flush()) return true;
  complain(cat("cannot write ", path));
  return false;
}

int deliver_steps(const StepSettings& settings, const StepResults& results) {
  const Machine machine = this_machine();
  bool written = true;
  const std::string json = settings.json.empty() ? "" : step_json(settings, machine, results);
  if (settings.json == "-") {
    std::cout << json << std::flush;
  } else {
    std::cout << step_table(settings, machine, results) << std::flush;
    if (!json.empty()) written = write_whole(settings.json, json);
  }
  if (!settings.write_profile.empty()) {
    written = write_whole(settings.write_profile, profile_json(settings.profile)) && written;
  }
  if (!settings.plot.empty()) {
    written = write_whole(settings.plot, step_svg(settings, machine, results)) && written;
  }
  return written ? kSuccess : kJobFailed;
}

Result<Options> options_for(const StepSettings& settings) {
  auto options = Options::from_environment();
  if (!options) return options.status();
  for (const auto& [key, value] : settings.options) {
    if (Status bad = options->set(key, value); !bad.ok()) return bad;
  }
  if (Status bad = options->validate(); !bad.ok()) return bad;
  return options;
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

void say_line(const nlohmann::json& line) {
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  std::cout << line.dump(-1, ' ', false, kReplace) << "\n" << std::flush;
}

// Limits how often a rank speaks of its progress to another process.
class ProgressLines {
 public:
  void show(double done, const std::string& now) {
    const auto time = std::chrono::steady_clock::now();
    if (time < next_) return;
    next_ = time + std::chrono::milliseconds(100);
    say_line({{"done", done}, {"now", now}});
  }

 private:
  std::chrono::steady_clock::time_point next_{};
};

int serve_as_rank(const StepSettings& settings) {
  // The kernel may otherwise let a sleeper sleep 50 µs longer, to save energy.
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  auto base = options_for(settings);
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
    ProgressBar bar(!settings.quiet && reports && !settings.lines);
    ProgressLines lines;
    const StepProgress progress = [&](double done, const std::string& now) {
      if (!reports) return;
      settings.lines ? lines.show(done, now) : bar.show(done, now);
    };
    auto measured = measure_steps(settings, *base, *control, lanes_of_job(*control), progress);
    if (!measured) {
      complain(measured.status().to_string());
      return kJobFailed;
    }
    results = std::move(*measured);
  }
  if (!reports) return kSuccess;
  if (!settings.lines) return deliver_steps(settings, *results);
  say_line({{"results", *results}});
  return kSuccess;
}

// Starts the ranks and listens to the first of them.
int start_ranks(StepSettings settings, const std::vector<std::string>& arguments) {
  if (auto options = options_for(settings); !options) {
    complain(options.status().message());
    return kWrongUsage;
  }
  if (const Status refused = all_refused(settings); !refused.ok()) {
    complain(refused.message());
    return kWrongUsage;
  }
  const int ranks = settings.ranks > 0 ? settings.ranks : kRanksHere;
  const std::string self = own_path();
  std::vector<std::string> command{self, "run", "-np", std::to_string(ranks), "--no-prefix",
                                   self, "bench", "step", "--lines"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ::signal(SIGPIPE, SIG_IGN);
  watch_for_interrupt();
  ProgressBar bar(!settings.quiet);
  auto child = Child::run(command);
  if (!child) {
    complain(child.status().message());
    return kMachineLacks;
  }
  child->close_input();
  std::optional<StepResults> results;
  const auto read_lines = [&] {
    while (auto text = child->take_line()) {
      const auto line = nlohmann::json::parse(*text, nullptr, false);
      try {
        if (line.is_object() && line.contains("results")) {
          results = line.at("results").get<StepResults>();
        } else if (line.is_object() && line.contains("done")) {
          bar.show(line.at("done").get<double>(), line.value("now", ""));
        }
      } catch (const nlohmann::json::exception&) {
        // A line that is none of ours.
      }
    }
  };
  Child* const children[] = {&*child};
  pump_until(children, kNever, [&] { return child->ended(); }, read_lines);
  read_lines();
  bar.clear();
  if (interrupted() != 0) return kSignalBase + interrupted();
  std::cerr << child->err() << std::flush;
  if (child->exit_code() != 0 || !results) {
    if (child->exit_code() == 0) complain("the ranks ended without a result");
    return child->exit_code() == kWrongUsage ? kWrongUsage : kJobFailed;
  }
  return deliver_steps(settings, *results);
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
