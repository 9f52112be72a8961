// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "line_plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

constexpr double kWidth = 960, kHeight = 600, kLeft = 90, kRight = 210, kTop = 80, kBottom = 70;
constexpr double kSmallest = 1e-3;           // of what a logarithmic axis can show
// Colours that people with colour blindness can tell apart; on paper the order in the legend helps.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9",
                                    "#e69f00", "#6a3d9a", "#555555", "#b15928", "#117733"};

struct Axis {
  PlotScale scale;
  double low, high, from, to;                // logarithms where it is logarithmic; places

  double at(double value) const {
    const double of = scale == PlotScale::linear ? value : std::log10(std::max(value, kSmallest));
    return from + (std::max(of, low) - low) / (high - low) * (to - from);
  }
};

// What the lines span.
struct Span {
  double least = 1e300, most = 0, left = 1e300, right = 1;

  explicit Span(const std::vector<PlotLine>& lines) {
    for (const PlotLine& line : lines) {
      for (const PlotPoint& point : line.points) {
        const bool interval = point.low < point.high;
        least = std::min(least, interval ? std::min(point.low, point.y) : point.y);
        most = std::max(most, interval ? std::max(point.high, point.y) : point.y);
        left = std::min(left, point.x);
        right = std::max(right, point.x);
      }
    }
    least = std::max(std::min(least, most), kSmallest);
    left = std::min(left, right);
  }
};

std::string place(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else out.push_back(c);
  }
  return out;
}

std::string words(double x, double y, const char* anchor, const std::string& text, int size = 14) {
  return cat("<text x=\"", place(x), "\" y=\"", place(y), "\" text-anchor=\"", anchor,
             "\" font-size=\"", size, "\">", escaped(text), "</text>\n");
}

std::string stroke(double x1, double y1, double x2, double y2, const char* colour) {
  return cat("<line x1=\"", place(x1), "\" y1=\"", place(y1), "\" x2=\"", place(x2), "\" y2=\"",
             place(y2), "\" stroke=\"", colour, "\"/>\n");
}

// Round steps, so that at most ten of them reach `most`.
double round_step(double most) {
  const double power = std::pow(10, std::floor(std::log10(std::max(most, 1e-12) / 10)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (most / (power * times) <= 10) return power * times;
  }
  return 10 * power;
}

Axis upright(PlotScale scale, const Span& span) {
  constexpr double kFrom = kHeight - kBottom, kTo = kTop;
  if (scale == PlotScale::linear) {
    const double most = span.most > 0 ? span.most : 1;
    const double step = round_step(most);
    return {scale, 0, step * std::ceil(most / step), kFrom, kTo};
  }
  const double low = std::floor(std::log10(span.least));
  const double high = std::ceil(std::log10(std::max(span.most, span.least)));
  return {scale, low, std::max(low + 1, high), kFrom, kTo};
}

std::string level(const Axis& x, const Axis& y, double value) {
  return stroke(x.from, y.at(value), x.to, y.at(value), "#dddddd") +
         words(x.from - 8, y.at(value) + 5, "end", cat(value));
}

std::string grid(const LinePlot& plot, const Axis& x, const Axis& y) {
  std::string out;
  if (y.scale == PlotScale::linear) {
    const double step = round_step(y.high);
    const auto steps = static_cast<int>(std::lround(y.high / step));
    for (int i = 0; i <= steps; ++i) out += level(x, y, i * step);
  } else {
    for (double power = y.low; power <= y.high + 0.5; power += 1) {
      out += level(x, y, std::pow(10, power));
    }
  }
  std::vector<double> places;
  for (const PlotLine& line : plot.lines) {
    for (const PlotPoint& point : line.points) places.push_back(point.x);
  }
  std::sort(places.begin(), places.end());
  double last = -1e9;
  for (const double value : places) {
    if (x.at(value) - last < 52) continue;
    last = x.at(value);
    out += stroke(last, y.from, last, y.to, "#eeeeee");
    out += words(last, y.from + 22, "middle", plot.x_text ? plot.x_text(value) : cat(value), 12);
  }
  return out;
}

std::string drawn(const PlotLine& line, const char* colour, const Axis& x, const Axis& y) {
  std::string points, dots;
  for (const PlotPoint& point : line.points) {
    const double across = x.at(point.x);
    points += cat(place(across), ",", place(y.at(point.y)), " ");
    if (point.low < point.high) {
      dots += stroke(across, y.at(point.low), across, y.at(point.high), colour);
    }
    dots += cat("<circle cx=\"", place(across), "\" cy=\"", place(y.at(point.y)),
                "\" r=\"3.5\" fill=\"", colour, "\"><title>", escaped(line.name), ", ",
                escaped(point.about), "</title></circle>\n");
  }
  return cat("<polyline fill=\"none\" stroke-width=\"2\" stroke=\"", colour, "\"",
             line.dashed ? " stroke-dasharray=\"6 4\"" : "", " points=\"", points, "\"/>\n", dots);
}

}  // namespace

std::string svg_text(const LinePlot& plot) {
  const Span span(plot.lines);
  const Axis x{PlotScale::logarithmic, std::log10(span.left) - 0.1, std::log10(span.right) + 0.1,
               kLeft, kWidth - kRight};
  const Axis y = upright(plot.y_scale, span);
  std::string out = cat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "width=\"", kWidth, "\" height=\"", kHeight, "\" viewBox=\"0 0 ", kWidth, " ", kHeight,
      "\" font-family=\"Helvetica, Arial, DejaVu Sans, sans-serif\" fill=\"#222222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
  out += words(kLeft, 34, "start", plot.title, 20);
  out += words(kLeft, 58, "start", plot.subtitle, 13);
  out += grid(plot, x, y);
  out += words((x.from + x.to) / 2, kHeight - 18, "middle", plot.x_label);
  out += cat("<text transform=\"translate(24 ", place((y.from + y.to) / 2),
             ") rotate(-90)\" text-anchor=\"middle\" font-size=\"14\">", escaped(plot.y_label),
             "</text>\n");
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    out += drawn(plot.lines[i], colour, x, y);
    const double line = kTop + 12 + 24 * static_cast<double>(i);
    out += cat("<rect x=\"", kWidth - kRight + 16, "\" y=\"", place(line - 6),
               "\" width=\"18\" height=\"5\" fill=\"", colour, "\"/>\n");
    out += words(kWidth - kRight + 42, line + 2, "start", plot.lines[i].name);
  }
  return out + "</svg>\n";
}

}  // namespace unisono::tools
