// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The CPUs a process may use, with cores, nodes and caches. A value: read once, or made by hand.
// Any thread; the mask is the calling thread's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace unisono::affinity {

using Cpus = std::vector<int>;              // the kernel's numbers, ascending

struct NumaNode {
  int id = 0;
  std::vector<Cpus> cores;                  // each with its hyper-threads
};

// Every allowed CPU is in exactly one core, every core in exactly one node; no node is empty.
struct Topology {
  Cpus allowed;                             // by the affinity mask
  int quota = 0;                            // CPU time the cgroup grants, in CPUs; at most allowed
  std::vector<NumaNode> nodes;
  std::int64_t l2_bytes = 0;                // of one core; 0 = not known
  std::int64_t llc_bytes = 0;               // the largest cache that a CPU reaches; 0 = not known
  std::string source;                       // where it comes from, for people

  int cores() const;
  std::string to_string() const;
};

// From hwloc where it is built in and succeeds, else from the affinity mask alone.
Topology read_topology();

// One node, with every CPU as a core.
Topology topology_from_mask(Cpus allowed);
// Returns nullopt when hwloc is not built in or fails. In tests a synthetic description ("node:2
// core:4 pu:2") replaces the machine.
std::optional<Topology> topology_from_hwloc(Cpus allowed, const char* synthetic = nullptr);

}  // namespace unisono::affinity
