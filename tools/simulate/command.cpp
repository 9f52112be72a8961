// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "progress_bar.hpp"
#include "simulate/arguments.hpp"
#include "simulate/play.hpp"
#include "simulate/plot.hpp"
#include "simulate/report.hpp"
#include "simulate/rows/side_by_side.hpp"
#include "simulate/rows/wide_heap.hpp"
#include "simulate/sensitivity.hpp"

namespace unisono::tools {
namespace {

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (file.flush()) return true;
  std::cerr << "unisono simulate: cannot write " << path << "\n";
  return false;
}

int deliver(const SimulateSettings& settings, const std::string& text, const std::string& json,
            bool failed) {
  std::cout << (settings.json == "-" ? json : text) << std::flush;
  if (!settings.json.empty() && settings.json != "-") failed |= !write_file(settings.json, json);
  return failed ? kJobFailed : kSuccess;
}

int simulate_study(const SimulateSettings& settings) {
  widen_heap();                         // some have 24,576 ranks
  Result<SeededStudy> study = [&] {
    ProgressBar bar(!settings.quiet);
    return play_study(settings,
                      [&](double done, const std::string& now) { bar.show(done, now); });
  }();
  if (!study.ok()) {
    std::cerr << "unisono simulate: " << study.status().message() << "\n";
    return study.status().code() == Code::invalid_argument ? kWrongUsage : kJobFailed;
  }
  return deliver(settings, study_text(settings, study.value()),
                 study_json(settings, study.value()), false);
}

std::vector<SimulatedRow> asked_for(const SimulateSettings& settings) {
  std::vector<SimulatedRow> rows;
  for (const int ranks : settings.ranks) {
    if (settings.engine == SimulateEngine::timeline) {
      for (const std::string& planner : settings.planners) {
        rows.push_back({ranks, "-", "-", planner, {}});
      }
      continue;
    }
    for (const std::string& order : settings.orders) {
      for (const std::string& pacing : settings.pacings) {
        for (const std::string& planner : settings.planners) {
          rows.push_back({ranks, order, pacing, planner, {}});
        }
      }
    }
  }
  return rows;
}

std::string label_of(const SimulatedRow& row) {
  return row.order == "-" ? cat(row.planner, ", ", row.ranks, " ranks")
                          : cat(row.order, ", ", row.pacing, ", ", row.ranks, " ranks");
}

int show_sensitivity(const SimulateSettings& settings) {
  Result<Sensitivity> found = [&] {
    ProgressBar bar(!settings.quiet);
    return find_sensitivity(settings, asked_for(settings),
                            [&](double done, const std::string& now) { bar.show(done, now); });
  }();
  if (!found.ok()) {
    std::cerr << "unisono simulate: " << found.status().message() << "\n";
    return found.status().code() == Code::invalid_argument ? kWrongUsage : kJobFailed;
  }
  return deliver(settings, sensitivity_text(settings, found.value()),
                 sensitivity_json(settings, found.value()), false);
}

int simulate_rows(const SimulateSettings& settings) {
  std::vector<SimulatedRow> rows = asked_for(settings);
  bool failed = false;
  ProgressBar bar(!settings.quiet);
  const auto show = [&](double done, const SimulatedRow& row) { bar.show(done, label_of(row)); };
  const Status bad = play_all(settings, rows, show);
  bar.clear();
  if (!bad.ok()) {
    std::cerr << "unisono simulate: " << bad.message() << "\n";
    return bad.code() == Code::invalid_argument ? kWrongUsage : kJobFailed;
  }
  for (const SimulatedRow& row : rows) failed |= !row.result.failure.ok();
  if (!settings.plot.empty()) failed |= !write_file(settings.plot, steps_svg(settings, rows));
  return deliver(settings, table_text(settings, rows), json_text(settings, rows), failed);
}

}  // namespace

int simulate_command(std::vector<std::string> arguments) {
  const SimulateArguments parsed = parse_simulate_arguments(std::move(arguments));
  if (parsed.exit_code >= 0) return parsed.exit_code;
  const SimulateSettings& settings = parsed.settings;
  if (settings.list) {
    std::cout << list_text();
    return kSuccess;
  }
  if (settings.sensitivity) return show_sensitivity(settings);
  return settings.study.empty() ? simulate_rows(settings) : simulate_study(settings);
}

}  // namespace unisono::tools
