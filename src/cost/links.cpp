// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "cost/links.hpp"

#include <algorithm>
#include <cmath>

#include "base/data/bytes.hpp"

namespace unisono::cost {
namespace {

// Seconds beyond this are no measurement of a message.
constexpr double kSecondsMax = 1.0;

bool counts(double figure) { return std::isfinite(figure) && figure > 0 && figure < kSecondsMax; }

double median_or(std::vector<double> figures, double otherwise) {
  std::erase_if(figures, [](double figure) { return !counts(figure); });
  if (figures.empty()) return otherwise;
  std::sort(figures.begin(), figures.end());
  return figures[(figures.size() - 1) / 2];
}

}  // namespace

std::string_view link_name(LinkClass link) {
  constexpr std::string_view kNames[kLinkClasses] = {"memory", "loopback", "wire"};
  return kNames[static_cast<std::size_t>(link)];
}

double LinkCost::seconds(double bytes) const {
  if (bytes <= static_cast<double>(kPointBytes.front())) return points.front();
  std::size_t right = 1;
  while (right + 1 < points.size() && bytes > static_cast<double>(kPointBytes[right])) ++right;
  const auto from = static_cast<double>(kPointBytes[right - 1]);
  const auto to = static_cast<double>(kPointBytes[right]);
  return points[right - 1] + (points[right] - points[right - 1]) * ((bytes - from) / (to - from));
}

double LinkCost::per_byte() const {
  const std::size_t last = points.size() - 1;
  return (points[last] - points[last - 1]) /
         static_cast<double>(kPointBytes[last] - kPointBytes[last - 1]);
}

Costs typical_costs() {
  Costs costs;
  costs.links[0] = {{2e-6, 4e-6, 20e-6, 70e-6}};
  costs.links[1] = {{10e-6, 14e-6, 40e-6, 120e-6}};
  costs.links[2] = {{30e-6, 66e-6, 590e-6, 2270e-6}};  // 1 Gbit/s
  costs.reduce_per_byte = 1e-10;
  return costs;
}

std::vector<std::byte> encode_measurement(const Measurement& measurement) {
  ByteWriter out;
  for (const Points& points : measurement.seconds) {
    for (const double seconds : points) out.put(seconds);
  }
  out.put(measurement.reduce_per_byte);
  return out.take();
}

std::optional<Measurement> decode_measurement(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  Measurement measurement;
  for (Points& points : measurement.seconds) {
    for (double& seconds : points) seconds = in.get<double>();
  }
  measurement.reduce_per_byte = in.get<double>();
  if (!in.finished()) return std::nullopt;
  return measurement;
}

Costs agreed_costs(std::span<const Measurement> measurements) {
  Costs costs = typical_costs();
  for (std::size_t link = 0; link < kLinkClasses; ++link) {
    Points& points = costs.links[link].points;
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::vector<double> found;
      for (const Measurement& each : measurements) found.push_back(each.seconds[link][i]);
      points[i] = median_or(std::move(found), points[i]);
      if (i > 0) points[i] = std::max(points[i], points[i - 1]);
    }
  }
  std::vector<double> found;
  for (const Measurement& each : measurements) found.push_back(each.reduce_per_byte);
  costs.reduce_per_byte = median_or(std::move(found), costs.reduce_per_byte);
  return costs;
}

}  // namespace unisono::cost
