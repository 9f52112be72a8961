// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "study/scaling.hpp"

#include <cmath>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "base/data/text.hpp"
#include "processes/interrupt.hpp"
#include "simulate/play.hpp"

namespace unisono::tools {
namespace {

Status failed(std::string what) { return Status(Code::invalid_argument, std::move(what)); }

// Medians and efficiencies, from the values.
void judge(const ScalingSettings& settings, Scaling& scaling) {
  const ScalingPoint& first = scaling.points.front();
  const double base = spread_of(first.values).median;
  for (ScalingPoint& point : scaling.points) {
    point.value = spread_of(point.values);
    const double more = static_cast<double>(point.ranks) / first.ranks;
    const auto of = [&](double value) {
      return is_time(settings) ? base / (value * more) : value / (base * more);
    };
    point.efficiency = {of(point.value.median), of(point.value.low), of(point.value.high)};
    if (is_time(settings)) std::swap(point.efficiency.low, point.efficiency.high);
  }
}

double value_of(const ScalingSettings& settings, double batch, double ranks, double step_ms) {
  const double step_s = 1e-3 * step_ms;
  if (is_time(settings)) return samples_needed(settings, batch) / batch * step_s;
  return (batch > 0 ? batch : ranks) / step_s;
}

std::string replaced(std::string text, std::string_view mark, const std::string& by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    text.replace(at, mark.size(), by);
    at += by.size();
  }
  return text;
}

std::vector<std::string> command_for(const ScalingSettings& settings, int ranks) {
  std::vector<std::string> command{own_path(), "run", "-np", std::to_string(ranks), "--"};
  const std::int64_t each = (settings.global_batch + ranks - 1) / ranks;
  for (const std::string& word : settings.program) {
    command.push_back(replaced(replaced(word, "{ranks}", std::to_string(ranks)), "{batch}",
                               std::to_string(each)));
  }
  return command;
}

std::string last_lines(const std::string& text) {
  constexpr std::size_t kMost = 600;
  return text.size() <= kMost ? text : "..." + text.substr(text.size() - kMost);
}

// What was finished when Ctrl-C came.
Result<Scaling> as_far_as(const ScalingSettings& settings, Scaling scaling) {
  if (scaling.points.empty()) return Status(Code::shut_down, "interrupted");
  judge(settings, scaling);
  return scaling;
}

Result<double> run_once(const ScalingSettings& settings, const Launch& launch, int ranks) {
  const std::vector<std::string> command = command_for(settings, ranks);
  const Captured captured = launch(command);
  const std::string what = join_text(command, " ");
  if (!captured.in_time) {
    return Status(Code::timed_out, cat(what, ": not at its end after ", settings.timeout_s, " s"));
  }
  if (captured.exit_code != 0) {
    return Status(Code::internal, cat(what, ": failed with exit code ", captured.exit_code, "\n",
                                      last_lines(captured.err)));
  }
  auto value = figure_in(captured.out, settings.pattern);
  if (!value.ok()) return Status(Code::internal, cat(what, ": ", value.status().message()));
  return value;
}

}  // namespace

double samples_needed(const ScalingSettings& settings, double batch) {
  const double more = settings.critical_batch > 0 ? batch / settings.critical_batch : 0;
  return settings.samples * (1 + more);
}

Result<double> figure_in(const std::string& output, const std::string& pattern) {
  const std::regex expression(pattern);
  std::istringstream lines(output);
  std::string line, found;
  for (std::smatch match; std::getline(lines, line);) {
    if (!std::regex_search(line, match, expression) || match.size() < 2) continue;
    found = match[1].str();
    // "1,234" would be read as 1.
    const auto end = static_cast<std::size_t>(match.position(1) + match.length(1));
    const std::size_t digit = end + 1;
    if (digit < line.size() && line[end] == ',' && line[digit] >= '0' && line[digit] <= '9') {
      return failed(cat("\"", line, "\": print figures without commas in them"));
    }
  }
  if (found.empty()) {
    return failed(cat("it printed no line with \"", pattern, "\" and a number"));
  }
  char* end = nullptr;
  const double value = std::strtod(found.c_str(), &end);
  if (end == found.c_str() || *end != '\0' || !std::isfinite(value) || value <= 0) {
    return failed(cat("\"", found, "\" is no figure above 0"));
  }
  return value;
}

Result<Scaling> simulate_scaling(const ScalingSettings& settings, const ScalingProgress& progress) {
  const SimulateSettings& simulated = settings.simulated;
  const char* rate = simulated.base.workload.batch > 0 ? "samples/s" : "steps/s, of all ranks";
  Scaling scaling{is_time(settings) ? "s" : rate, {}};
  const auto sizes = static_cast<double>(settings.ranks.size());
  for (const int ranks : settings.ranks) {
    const bool events = simulated.engine == SimulateEngine::events;
    SimulatedRow row{ranks, events ? simulated.orders.front() : "-",
                     events ? simulated.pacings.front() : "-", simulated.planners.front(), {}};
    const Status bad = play(simulated, row, [&](double done) {
      progress((static_cast<double>(scaling.points.size()) + done) / sizes, cat(ranks, " ranks"));
    });
    if (!bad.ok()) return bad;
    if (!row.result.failure.ok()) return row.result.failure;
    ScalingPoint point{ranks, row.batch * ranks, {}, {}, {}};
    if (simulated.global_batch > 0) point.batch = static_cast<double>(simulated.global_batch);
    for (const double step_ms : row.step_each_ms) {
      point.values.push_back(value_of(settings, point.batch, ranks, step_ms));
    }
    scaling.points.push_back(std::move(point));
  }
  judge(settings, scaling);
  return scaling;
}

Result<Scaling> measure_scaling(const ScalingSettings& settings, const Launch& launch,
                                const ScalingProgress& progress) {
  Scaling scaling{is_time(settings) ? "s" : "per s", {}};
  const double all = static_cast<double>(settings.ranks.size()) * settings.runs;
  double done = 0;
  for (const int ranks : settings.ranks) {
    ScalingPoint point{ranks, static_cast<double>(settings.global_batch), {}, {}, {}};
    for (int i = 0; i < settings.runs; ++i) {
      progress(done++ / all, cat(ranks, " ranks, run ", i + 1, " of ", settings.runs));
      auto value = run_once(settings, launch, ranks);
      if (interrupted() != 0) return as_far_as(settings, std::move(scaling));
      if (!value.ok()) return value.status();
      point.values.push_back(value.value());
    }
    scaling.points.push_back(std::move(point));
  }
  judge(settings, scaling);
  return scaling;
}

}  // namespace unisono::tools
