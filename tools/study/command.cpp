// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "study/command.hpp"

#include <fstream>
#include <iostream>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "processes/interrupt.hpp"
#include "progress_bar.hpp"
#include "study/arguments.hpp"
#include "study/report.hpp"

namespace unisono::tools {
namespace {

bool write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (file.flush()) return true;
  std::cerr << "unisono study: cannot write " << path << "\n";
  return false;
}

Result<Scaling> follow(const ScalingSettings& settings) {
  ProgressBar bar(!settings.quiet);
  const auto show = [&](double done, const std::string& now) { bar.show(done, now); };
  if (settings.program.empty()) return simulate_scaling(settings, show);
  watch_for_interrupt();                // a program that runs is ended, and finished sizes are kept
  const auto launch = [&](const std::vector<std::string>& command) {
    return capture(command, settings.timeout_s, {}, Keep::end);
  };
  return measure_scaling(settings, launch, show);
}

}  // namespace

int study_command(std::vector<std::string> arguments) {
  const ScalingArguments parsed = parse_study_arguments(std::move(arguments));
  if (parsed.exit_code >= 0) return parsed.exit_code;
  const ScalingSettings& settings = parsed.settings;
  if (!settings.program.empty() && find_on_path(settings.program.front()).empty()) {
    std::cerr << "unisono study: " << settings.program.front()
              << " was not found or cannot be executed; give its path or check PATH\n";
    return kMachineLacks;
  }
  const Result<Scaling> scaling = follow(settings);
  if (!scaling.ok()) {
    if (interrupted() != 0) return kSignalBase + interrupted();
    std::cerr << "unisono study: " << scaling.status().message() << "\n";
    return scaling.status().code() == Code::invalid_argument ? kWrongUsage : kJobFailed;
  }
  const std::string json = scaling_json(settings, scaling.value());
  std::cout << (settings.json == "-" ? json : scaling_table(settings, scaling.value()))
            << std::flush;
  bool written = settings.json.empty() || settings.json == "-" || write_text(settings.json, json);
  if (!settings.plot.empty()) {
    written &= write_text(settings.plot, scaling_svg(settings, scaling.value()));
  }
  if (interrupted() != 0) {
    std::cerr << "unisono study: interrupted after " << scaling.value().points.size() << " of "
              << settings.ranks.size() << " sizes\n";
    return kSignalBase + interrupted();
  }
  return written ? kSuccess : kJobFailed;
}

}  // namespace unisono::tools
