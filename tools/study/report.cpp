// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "study/report.hpp"

#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "line_plot.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

using nlohmann::ordered_json;

std::string figure(double value) { return fixed(value, value < 10 ? 3 : value < 1000 ? 1 : 0); }

std::string what_runs(const ScalingSettings& settings) {
  if (!settings.program.empty()) return cat("unisono run ", join_text(settings.program, " "));
  const SimulateSettings& s = settings.simulated;
  const bool events = s.engine == SimulateEngine::events;
  return cat(s.base.workload.name, " simulated on ", s.base.network.name, ", ",
             s.base.host.ranks_per_host, " ranks per host, ",
             events ? cat("order ", s.orders.front(), ", pacing ", s.pacings.front(), ", ") : "",
             "planner ", s.planners.front(), events ? "" : ", on a timeline");
}

std::string_view heading(const ScalingSettings& settings) {
  return is_time(settings) ? "time to solution" : "throughput";
}

// What was assumed, in a sentence each.
std::string assumed(const ScalingSettings& settings) {
  std::string out;
  if (settings.program.empty() && settings.global_batch > 0) {
    out += cat("Assumed: ", fixed(100 * settings.simulated.fixed_share, 0), " % of the compute of ",
               "a step does not shrink with the batch of a rank.\n");
  }
  if (settings.program.empty() && is_time(settings)) {
    out += settings.critical_batch > 0
               ? cat("Assumed: ", figure(settings.samples), " samples x (1 + batch / ",
                     figure(settings.critical_batch), ") to the solution.\n")
               : cat("Assumed: ", figure(settings.samples),
                     " samples to the solution, whatever the batch: large ones need more ",
                     "(--critical-batch).\n");
  }
  return out;
}

}  // namespace

std::string_view kind_name(ScalingKind kind) {
  switch (kind) {
    case ScalingKind::weak: return "weak";
    case ScalingKind::strong: return "strong";
    case ScalingKind::time_to_solution: return "time-to-solution";
  }
  return "";
}

std::string scaling_table(const ScalingSettings& settings, const Scaling& scaling) {
  TextTable grid{{"ranks", "batch", cat(heading(settings), ", ", scaling.unit), "68 %",
                  "efficiency", "68 %"}};
  std::size_t runs = 1;
  for (const ScalingPoint& point : scaling.points) {
    runs = point.values.size();
    grid.push_back({cat(point.ranks), point.batch > 0 ? fixed(point.batch, 0) : "-",
                    figure(point.value.median),
                    cat(figure(point.value.low), "-", figure(point.value.high)),
                    fixed(point.efficiency.median, 3),
                    cat(fixed(point.efficiency.low, 3), "-", fixed(point.efficiency.high, 3))});
  }
  const bool noise = !settings.program.empty() ||
                     settings.simulated.engine == SimulateEngine::events;
  const std::string of =
      noise ? cat("the median of ", runs, settings.program.empty() ? " seeds" : " runs",
                  ", and the interval of their central 68 %")
            : "one run: a timeline has no noise";
  const int base = scaling.points.front().ranks;
  return cat("study ", kind_name(settings.kind), ": ", what_runs(settings), "\n\n",
             aligned(grid, FirstColumn::figures), "\nFigures: ", of,
             "; efficiency: the share of what ", base,
             base == 1 ? " rank promises" : " ranks promise", ".\n", assumed(settings));
}

std::string scaling_json(const ScalingSettings& settings, const Scaling& scaling) {
  const auto spread = [](const Spread& of) {
    return ordered_json{{"median", of.median}, {"low", of.low}, {"high", of.high}};
  };
  const char* value = is_time(settings) ? "time_to_solution_s" : "throughput";
  ordered_json points = ordered_json::array();
  for (const ScalingPoint& point : scaling.points) {
    points.push_back({{"ranks", point.ranks},
                      {"batch", point.batch > 0 ? ordered_json(point.batch) : ordered_json()},
                      {value, spread(point.value)},
                      {"efficiency", spread(point.efficiency)},
                      {"values", point.values}});
  }
  const ordered_json document{{"command", settings.command},
                              {"study", kind_name(settings.kind)},
                              {"of", what_runs(settings)},
                              {"simulated", settings.program.empty()},
                              {"unit", scaling.unit},
                              {"results", points}};
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string scaling_svg(const ScalingSettings& settings, const Scaling& scaling) {
  LinePlot plot;
  plot.title = cat("Scaling, ", kind_name(settings.kind));
  plot.subtitle = what_runs(settings);
  plot.x_label = "ranks";
  plot.y_label = cat(heading(settings), ", ", scaling.unit);
  PlotLine found{settings.program.empty() ? "simulated" : "measured", {}, false};
  PlotLine ideal{"ideal", {}, true};
  const ScalingPoint& first = scaling.points.front();
  for (const ScalingPoint& point : scaling.points) {
    const double ranks = point.ranks, more = ranks / first.ranks;
    found.points.push_back({ranks, point.value.median,
                            cat(point.ranks, " ranks: ", figure(point.value.median), " ",
                                scaling.unit),
                            point.value.low, point.value.high});
    const double promised =
        is_time(settings) ? first.value.median / more : first.value.median * more;
    ideal.points.push_back({ranks, promised, figure(promised), 0, 0});
  }
  plot.lines = {std::move(found), std::move(ideal)};
  return svg_text(plot);
}

}  // namespace unisono::tools
