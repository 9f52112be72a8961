// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/measured_network.hpp"

#include <algorithm>
#include <string>

#include "base/data/text.hpp"
#include "doctor/costs.hpp"

namespace unisono::tools {
namespace {

constexpr std::string_view kMeasured = "measured";

sim::Network network_of(const MeasuredCosts& costs) {
  sim::Network network;
  // One connection's bandwidth is what a stream of a collective attains. A message costs either end
  // its share of the way; how much was not measured.
  const double way_us = costs.wire.round_trip_us / 2;
  network.overhead_us = std::min(3.0, way_us / 5);
  network.gap_us = network.overhead_us / 3;
  network.latency_us = way_us - 2 * network.overhead_us;
  network.hop_us = way_us;
  network.gb_per_s = std::max(costs.wire.gb_per_s, 1e-6);
  network.attained = 1;
  if (costs.copy_gb_per_s > 0) network.local_gb_per_s = costs.copy_gb_per_s;
  network.source = "measured by unisono doctor";
  return network;
}

}  // namespace

Result<sim::Network> network_named(std::string_view text, bool several_hosts) {
  if (!text.starts_with(kMeasured)) return sim::parse_network(text);
  std::string_view rest = text.substr(kMeasured.size());
  if (!rest.empty() && (rest.front() != ':' || rest.size() < 2)) return sim::parse_network(text);
  const std::string path = rest.empty() ? usual_costs_path() : std::string(rest.substr(1));
  auto costs = read_costs(path);
  if (!costs.ok()) {
    return Status(Code::invalid_argument, cat("--network ", text, ": ", costs.status().message()));
  }
  if (several_hosts && costs->wire.gb_per_s <= 0) {
    return Status(Code::invalid_argument,
                  cat("--network ", text, ": ", path, " has no way to another host, and these ",
                      "ranks are on several; measure one with unisono doctor -H HOST,... --costs"));
  }
  sim::Network network = network_of(costs.value());
  network.name = std::string(text);
  return network;
}

}  // namespace unisono::tools
