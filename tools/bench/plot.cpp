// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/data/text.hpp"
#include "bench/report.hpp"
#include "model/options/option_values.hpp"

namespace unisono::tools {
namespace {

constexpr double kWidth = 960, kHeight = 600, kLeft = 90, kRight = 210, kTop = 80, kBottom = 70;
// Colours that people with colour blindness can tell apart; on paper the order in the legend helps.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9",
                                    "#e69f00", "#6a3d9a", "#555555", "#b15928", "#117733"};

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // bytes, µs
};

struct Axis {
  double low, high, from, to;                // logarithms; places in the picture

  double at(double value) const {
    return from + (std::log10(value) - low) / (high - low) * (to - from);
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

std::vector<Series> series_of(const BenchSettings& settings, const std::vector<Row>& rows) {
  std::vector<Series> all;
  for (const Row& row : rows) {
    std::string name = row.label.heading();
    if (settings.dtypes.size() > 1) name += cat(" ", bench_name(row.dtype));
    auto at = std::find_if(all.begin(), all.end(), [&](const Series& s) { return s.name == name; });
    if (at == all.end()) at = all.insert(all.end(), {name, {}});
    at->points.emplace_back(static_cast<double>(row.bytes), row.median_us);
  }
  return all;
}

std::string grid(const std::vector<Series>& all, const Axis& x, const Axis& y) {
  std::string out;
  for (double power = y.low; power <= y.high + 0.5; power += 1) {
    const double value = std::pow(10, power);
    out += stroke(x.from, y.at(value), x.to, y.at(value), "#dddddd");
    out += words(x.from - 8, y.at(value) + 5, "end", cat(value));
  }
  std::vector<double> sizes;
  for (const Series& series : all) {
    for (const auto& point : series.points) sizes.push_back(point.first);
  }
  std::sort(sizes.begin(), sizes.end());
  double last = -1e9;
  for (const double bytes : sizes) {
    if (x.at(bytes) - last < 52) continue;
    last = x.at(bytes);
    out += stroke(last, y.from, last, y.to, "#eeeeee");
    out += words(last, y.from + 22, "middle", format_bytes(static_cast<std::int64_t>(bytes)), 12);
  }
  return out;
}

}  // namespace

std::string plot_svg(const BenchSettings& settings, const Machine& machine,
                     const Measurement& measured) {
  const std::vector<Series> all = series_of(settings, measured.rows);
  double least = 1e300, most = 0, smallest = 1e300, largest = 1;
  for (const Row& row : measured.rows) {
    least = std::min(least, row.median_us);
    most = std::max(most, row.median_us);
    smallest = std::min(smallest, static_cast<double>(row.bytes));
    largest = std::max(largest, static_cast<double>(row.bytes));
  }
  least = std::max(std::min(least, most), 1e-3);
  smallest = std::min(smallest, largest);
  const Axis x{std::log10(smallest) - 0.1, std::log10(largest) + 0.1, kLeft, kWidth - kRight};
  const double low = std::floor(std::log10(least));
  const double high = std::max(low + 1, std::ceil(std::log10(std::max(most, least))));
  const Axis y{low, high, kHeight - kBottom, kTop};
  std::string out = cat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "width=\"", kWidth, "\" height=\"", kHeight, "\" viewBox=\"0 0 ", kWidth, " ", kHeight,
      "\" font-family=\"Helvetica, Arial, DejaVu Sans, sans-serif\" fill=\"#222222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
  out += words(kLeft, 34, "start", cat(name_of(settings.collective), ", ", settings.ranks,
                                       " ranks, ", bench_name(settings.dtypes.front()),
                                       settings.dtypes.size() > 1 ? " and others" : ""), 20);
  out += words(kLeft, 58, "start", describe(machine), 13);
  out += grid(all, x, y);
  out += words((x.from + x.to) / 2, kHeight - 18, "middle", "bytes per rank");
  out += cat("<text transform=\"translate(24 ", place((y.from + y.to) / 2),
             ") rotate(-90)\" text-anchor=\"middle\" font-size=\"14\">median time, µs</text>\n");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const char* colour = kColours[i % std::size(kColours)];
    std::string points, dots;
    for (const auto& [bytes, us] : all[i].points) {
      points += cat(place(x.at(bytes)), ",", place(y.at(std::max(us, least))), " ");
      dots += cat("<circle cx=\"", place(x.at(bytes)), "\" cy=\"",
                  place(y.at(std::max(us, least))), "\" r=\"3.5\" fill=\"", colour,
                  "\"><title>", escaped(all[i].name), ", ",
                  format_bytes(static_cast<std::int64_t>(bytes)), ": ", short_number(us),
                  " µs</title></circle>\n");
    }
    out += cat("<polyline fill=\"none\" stroke-width=\"2\" stroke=\"", colour, "\"",
               all[i].name == "limit" ? " stroke-dasharray=\"6 4\"" : "", " points=\"", points,
               "\"/>\n", dots);
    const double line = kTop + 12 + 24 * static_cast<double>(i);
    out += cat("<rect x=\"", kWidth - kRight + 16, "\" y=\"", place(line - 6),
               "\" width=\"18\" height=\"5\" fill=\"", colour, "\"/>\n");
    out += words(kWidth - kRight + 42, line + 2, "start", all[i].name);
  }
  return out + "</svg>\n";
}

}  // namespace unisono::tools
