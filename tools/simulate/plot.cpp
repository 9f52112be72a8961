// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/plot.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "line_plot.hpp"
#include "text_table.hpp"

namespace unisono::tools {
namespace {

// What rows differ in: order and pacing only where there are several.
std::string strategy_of(const SimulateSettings& settings, const SimulatedRow& row) {
  std::string name;
  if (settings.engine == SimulateEngine::events) {
    name = row.order;
    if (settings.pacings.size() > 1) name += cat(", ", row.pacing);
    if (settings.planners.size() == 1) return name;
    name += ", ";
  }
  return name + row.planner;
}

}  // namespace

std::string steps_svg(const SimulateSettings& settings, const std::vector<SimulatedRow>& rows) {
  const sim::SimSettings& base = settings.base;
  LinePlot plot;
  plot.title = cat(base.workload.name, ", ", base.network.name);
  plot.subtitle = cat(fixed(static_cast<double>(base.workload.bytes()) / 1e6, 1), " MB in ",
                      base.workload.tensors.size(), " tensors, ", base.host.ranks_per_host,
                      " ranks per host; simulated",
                      settings.engine == SimulateEngine::timeline
                          ? " on a timeline"
                          : cat(", ", base.iterations, " iterations, seed ", base.seed));
  plot.x_label = "ranks";
  plot.y_label = "step, ms";
  plot.y_scale = PlotScale::linear;
  PlotLine compute{"compute alone", {}, true};
  for (const SimulatedRow& row : rows) {
    if (row.result.steps == 0) continue;
    const double ms = row.result.step_ms * row.result.efficiency;
    const bool first = compute.points.empty() || compute.points.back().x != row.ranks;
    if (first) {
      compute.points.push_back({static_cast<double>(row.ranks), ms, fixed(ms, 1) + " ms", 0, 0});
    }
    const std::string name = strategy_of(settings, row);
    auto at = std::find_if(plot.lines.begin(), plot.lines.end(),
                           [&](const PlotLine& line) { return line.name == name; });
    if (at == plot.lines.end()) at = plot.lines.insert(plot.lines.end(), {name, {}, false});
    const bool middle = settings.seeds > 1 && row.result.failure.ok();
    const double step_ms = middle ? row.step_ms.median : row.result.step_ms;
    at->points.push_back({static_cast<double>(row.ranks), step_ms,
                          cat(row.ranks, " ranks: ", fixed(step_ms, 2), " ms"),
                          middle ? row.step_ms.low : 0, middle ? row.step_ms.high : 0});
  }
  plot.lines.push_back(std::move(compute));
  return svg_text(plot);
}

}  // namespace unisono::tools
