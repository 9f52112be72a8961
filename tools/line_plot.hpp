// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Lines with dots as a picture, over a logarithmic axis from left to right. Pure; the text is a
// complete SVG document.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace unisono::tools {

struct PlotPoint {
  double x = 1, y = 0;
  std::string about;                    // shown by viewers that can, behind the line's name
  double low = 0, high = 0;             // of an interval; equal: none is drawn
};

struct PlotLine {
  std::string name;
  std::vector<PlotPoint> points;
  bool dashed = false;
};

enum class PlotScale { logarithmic, linear };  // linear begins at 0

struct LinePlot {
  std::string title, subtitle, x_label, y_label;
  PlotScale y_scale = PlotScale::logarithmic;
  std::function<std::string(double)> x_text;  // of a place on the x axis
  std::vector<PlotLine> lines;
};

std::string svg_text(const LinePlot& plot);

}  // namespace unisono::tools
