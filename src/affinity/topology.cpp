// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "affinity/topology.hpp"

#include <utility>

#include "base/os/cpu.hpp"
#include "base/data/text.hpp"
#include "model/options/option_values.hpp"
#include "affinity/bind.hpp"

namespace unisono::affinity {

int Topology::cores() const {
  std::size_t count = 0;
  for (const NumaNode& node : nodes) count += node.cores.size();
  return static_cast<int>(count);
}

std::string Topology::to_string() const {
  const auto cache = [](std::int64_t bytes) {
    return bytes == 0 ? "unknown" : format_bytes(bytes);
  };
  return cat("NUMA nodes: ", nodes.size(), ", cores: ", cores(), ", CPUs: ", allowed.size(),
             ", quota: ", quota, ", L2: ", cache(l2_bytes), ", last cache: ", cache(llc_bytes),
             " (", source, ")");
}

Topology topology_from_mask(Cpus allowed) {
  Topology topology;
  topology.quota = static_cast<int>(allowed.size());
  if (!allowed.empty()) topology.nodes.emplace_back();
  for (const int cpu : allowed) topology.nodes[0].cores.push_back({cpu});
  topology.allowed = std::move(allowed);
  topology.source = "affinity mask alone, without hwloc";
  return topology;
}

Topology read_topology() {
  Cpus allowed = bound_cpus();
  auto known = topology_from_hwloc(allowed);
  Topology topology = known ? std::move(*known) : topology_from_mask(std::move(allowed));
  topology.quota = usable_cores();
  return topology;
}

}  // namespace unisono::affinity
