// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Static partitioning of a host's cores: every rank gets its own share, by NUMA node first, and
// within it the engine's threads, the input pipeline and the compute get sets that do not overlap.
// Whole cores only: hyper-threads of one core are never in two sets. Pure except for place_rank();
// ranks of a host that see the same topology get disjoint shares without communicating.
#pragma once

#include <string_view>

#include "model/options/cpu_request.hpp"
#include "affinity/topology.hpp"
#include "unisono/unisono.hpp"

namespace unisono::affinity {

// The cores of one rank of a host; none when there are fewer cores than ranks.
std::vector<Cpus> cores_of_rank(const Topology& topology, int local_rank, int local_size);

// When a fraction would leave compute less than a core, returns empty sets and the reason. Lists
// are used as they are; a CPU that is not allowed is an error.
Result<Placement> plan_cpu_sets(const Topology& topology, int local_rank, int local_size,
                                const CpuRequest& request);

// The same for the calling thread's topology and the text of the option cpu_sets.
Result<Placement> place_rank(std::string_view cpu_sets, int local_rank, int local_size);

}  // namespace unisono::affinity
