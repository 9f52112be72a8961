// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What bench/plot_test.cpp does not ask: linear axes and intervals.
#include "line_plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

LinePlot linear_plot() {
  LinePlot plot;
  plot.y_scale = PlotScale::linear;
  plot.lines = {{"one", {{1, 100, "at 1", 0, 0}, {8, 40, "at 8", 30, 50}}}};
  return plot;
}

TEST(LinePlot, ALinearAxisBeginsAtZeroAndHasRoundLevels) {
  const std::string svg = svg_text(linear_plot());
  for (const char* level : {">0<", ">20<", ">100<"}) EXPECT_THAT(svg, HasSubstr(level));
  EXPECT_THAT(svg, HasSubstr("cy=\"80.0\"")) << "the largest value is the highest level";
}

TEST(LinePlot, AnIntervalIsAStrokeThroughItsDot) {
  LinePlot plot = linear_plot();
  EXPECT_THAT(svg_text(plot), HasSubstr("stroke=\"#0072b2\"/>\n<circle"));
  plot.lines[0].points[1].low = plot.lines[0].points[1].high = 40;
  EXPECT_THAT(svg_text(plot), Not(HasSubstr("stroke=\"#0072b2\"/>\n<circle")));
}

TEST(LinePlot, OnePlaceAndNoHeightCanBeDrawn) {
  LinePlot plot = linear_plot();
  plot.lines = {{"flat", {{4, 0, "", 0, 0}}}};
  const std::string svg = svg_text(plot);
  EXPECT_THAT(svg, EndsWith("</svg>\n"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

}  // namespace
}  // namespace unisono::tools
