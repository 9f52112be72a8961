// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/plot.hpp"

#include <algorithm>

#include "base/data/text.hpp"
#include "bench/report.hpp"
#include "line_plot.hpp"
#include "model/options/option_values.hpp"

namespace unisono::tools {
namespace {

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::int64_t>(bytes)); }

std::vector<PlotLine> lines_of(const BenchSettings& settings, const std::vector<Row>& rows) {
  std::vector<PlotLine> all;
  for (const Row& row : rows) {
    std::string name = row.label.heading();
    if (settings.dtypes.size() > 1) name += cat(" ", bench_name(row.dtype));
    auto at = std::find_if(all.begin(), all.end(),
                           [&](const PlotLine& line) { return line.name == name; });
    if (at == all.end()) at = all.insert(all.end(), {name, {}, name == "limit"});
    const auto bytes = static_cast<double>(row.bytes);
    at->points.push_back({bytes, row.median_us,
                          cat(bytes_text(bytes), ": ", short_number(row.median_us), " µs"), 0, 0});
  }
  return all;
}

}  // namespace

std::string plot_svg(const BenchSettings& settings, const Machine& machine,
                     const Measurement& measured) {
  LinePlot plot;
  plot.title = cat(name_of(settings.collective), ", ", settings.ranks, " ranks, ",
                   bench_name(settings.dtypes.front()),
                   settings.dtypes.size() > 1 ? " and others" : "");
  plot.subtitle = describe(machine);
  plot.x_label = "bytes per rank";
  plot.y_label = "median time, µs";
  plot.x_text = bytes_text;
  plot.lines = lines_of(settings, measured.rows);
  return svg_text(plot);
}

}  // namespace unisono::tools
