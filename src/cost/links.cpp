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

double along_the_line(const Points& points, std::size_t i) {
  const auto bytes = [](std::size_t at) { return static_cast<double>(kPointBytes[at]); };
  const double slope = (points[i - 1] - points[i - 2]) / (bytes(i - 1) - bytes(i - 2));
  return points[i - 1] + slope * (bytes(i) - bytes(i - 1));
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

double LinkCost::in_turn(double messages, double bytes_each) const {
  if (messages <= 0) return 0;
  const double as_one = (messages - 1) * latency() + seconds(messages * bytes_each);
  return std::max(messages * seconds(bytes_each), as_one);
}

double LinkCost::per_byte() const {
  const std::size_t last = points.size() - 1;
  return (points[last] - points[last - 1]) /
         static_cast<double>(kPointBytes[last] - kPointBytes[last - 1]);
}

void Costs::refine_steps(LinkClass link, double step_s) {
  Points& points = links[static_cast<std::size_t>(link)].points;
  const double more = std::max(step_s - points.front(), 0.0);
  for (double& seconds : points) seconds += more;
}

Costs typical_costs() {
  Costs costs;
  costs.links[0] = {{2e-6, 4e-6, 20e-6, 70e-6, 270e-6}};
  costs.links[1] = {{10e-6, 14e-6, 40e-6, 120e-6, 440e-6}};
  costs.links[2] = {{30e-6, 66e-6, 590e-6, 2270e-6, 8990e-6}};  // 1 Gbit/s
  costs.reduce_per_byte = 1e-10;
  costs.merge_per_pair = 7e-9;
  return costs;
}

std::vector<std::byte> encode_measurement(const Measurement& measurement) {
  ByteWriter out;
  for (const Points& points : measurement.seconds) {
    for (const double seconds : points) out.put(seconds);
  }
  out.put(measurement.reduce_per_byte);
  out.put(measurement.merge_per_pair);
  return out.take();
}

std::optional<Measurement> decode_measurement(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  Measurement measurement;
  for (Points& points : measurement.seconds) {
    for (double& seconds : points) seconds = in.get<double>();
  }
  measurement.reduce_per_byte = in.get<double>();
  measurement.merge_per_pair = in.get<double>();
  if (!in.finished()) return std::nullopt;
  return measurement;
}

Costs agreed_costs(std::span<const Measurement> measurements) {
  Costs costs = typical_costs();
  for (std::size_t link = 0; link < kLinkClasses; ++link) {
    Points& points = costs.links[link].points;
    std::size_t measured = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::vector<double> found;
      for (const Measurement& each : measurements) found.push_back(each.seconds[link][i]);
      const double along = i > 1 && measured > 1 ? along_the_line(points, i) : points[i];
      const double median = median_or(std::move(found), 0);
      points[i] = median > 0 ? median : along;
      if (median > 0) ++measured;
      if (i > 0) points[i] = std::max(points[i], points[i - 1]);
    }
  }
  std::vector<double> reduced, merged;
  for (const Measurement& each : measurements) {
    reduced.push_back(each.reduce_per_byte);
    merged.push_back(each.merge_per_pair);
  }
  costs.reduce_per_byte = median_or(std::move(reduced), costs.reduce_per_byte);
  costs.merge_per_pair = median_or(std::move(merged), costs.merge_per_pair);
  return costs;
}

}  // namespace unisono::cost
