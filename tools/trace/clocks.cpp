// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "trace/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace unisono::tools {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// Within a stretch clocks are taken to run alike: 10 s at 20 millionths make 200 µs at the most.
constexpr double kStretch_us = 10e6;
// Stretches in which ranks exchanged little say less than their neighbours.
constexpr double kWorthless = 4;

// When the first rank of a clock had moved a bucket, and the last had begun it.
struct Edge {
  double last_begun = -kInfinite, first_moved = kInfinite;
};
using Edges = std::map<std::pair<std::uint32_t, std::uint64_t>, Edge>;

struct Bounds {
  double least = -kInfinite, most = kInfinite;
  double begin = kInfinite, end = -kInfinite;

  bool usable() const { return std::isfinite(least) && std::isfinite(most); }
  double middle() const { return least + (most - least) / 2; }
  // Bounds that cross tell of drift within the stretch.
  double uncertain() const { return std::abs(most - least) / 2; }
};

std::map<std::string, Edges> edges_of(const std::map<int, RankClock>& ranks) {
  std::map<std::string, Edges> all;
  for (const auto& [rank, one] : ranks) {
    Edges& edges = all[one.clock];
    for (const Exchange& exchange : one.exchanges) {
      Edge& edge = edges[{exchange.set, exchange.bucket}];
      edge.last_begun = std::max(edge.last_begun, exchange.begun_us);
      edge.first_moved = std::min(edge.first_moved, exchange.moved_us);
    }
  }
  return all;
}

std::optional<ClockOffset> by_traffic(const Edges& reference, const Edges& other) {
  // From the first exchange on, so that a short run is one stretch.
  double first = kInfinite;
  for (const auto& [key, edge] : other) first = std::min(first, edge.last_begun);
  std::map<std::int64_t, Bounds> stretches;
  for (const auto& [key, edge] : other) {
    const auto found = reference.find(key);
    if (found == reference.end()) continue;
    Bounds& bounds =
        stretches[static_cast<std::int64_t>((edge.last_begun - first) / kStretch_us)];
    bounds.least = std::max(bounds.least, edge.last_begun - found->second.first_moved);
    bounds.most = std::min(bounds.most, edge.first_moved - found->second.last_begun);
    bounds.begin = std::min(bounds.begin, edge.last_begun);
    bounds.end = std::max(bounds.end, edge.last_begun);
  }
  double narrowest = kInfinite;
  for (const auto& [index, bounds] : stretches) {
    if (bounds.usable()) narrowest = std::min(narrowest, bounds.uncertain());
  }
  if (!std::isfinite(narrowest)) return std::nullopt;
  ClockOffset offset{.by = "traffic"};
  for (const auto& [index, bounds] : stretches) {
    if (!bounds.usable() || bounds.uncertain() > kWorthless * std::max(narrowest, 1.0)) continue;
    offset.points.emplace_back((bounds.begin + bounds.end) / 2, bounds.middle());
    offset.uncertain_us = std::max(offset.uncertain_us, bounds.uncertain());
  }
  return offset;
}

}  // namespace

double ClockOffset::at(double us) const {
  if (points.empty()) return 0;
  const auto after = std::upper_bound(points.begin(), points.end(), us,
                                      [](double t, const auto& point) { return t < point.first; });
  if (after == points.begin()) return points.front().second;
  if (after == points.end()) return points.back().second;
  const auto before = after - 1;
  const double share = (us - before->first) / (after->first - before->first);
  return before->second + share * (after->second - before->second);
}

std::map<int, ClockOffset> align_clocks(const std::map<int, RankClock>& ranks) {
  std::map<int, ClockOffset> offsets;
  if (ranks.empty()) return offsets;
  const RankClock& first = ranks.begin()->second;
  const auto edges = edges_of(ranks);
  std::map<std::string, std::optional<ClockOffset>> found;
  for (const auto& [clock, other] : edges) {
    if (clock != first.clock) found[clock] = by_traffic(edges.at(first.clock), other);
  }
  for (const auto& [rank, one] : ranks) {
    ClockOffset& offset = offsets[rank];
    if (one.clock == first.clock) {
      offset.by = "the same clock";
    } else if (const auto& traffic = found.at(one.clock); traffic) {
      offset = *traffic;
    } else {
      offset.by = "wall clock";
      offset.uncertain_us = -1;
      offset.points = {{one.steady_us, (one.steady_us - one.wall_us) -
                                           (first.steady_us - first.wall_us)}};
    }
  }
  return offsets;
}

}  // namespace unisono::tools
