// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "affinity/cpu_sets.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/data/text.hpp"

namespace unisono::affinity {
namespace {

using Cores = std::vector<Cpus>;

// Part i of n, as even as whole cores allow.
Cores part_of(const Cores& cores, std::size_t i, std::size_t n) {
  const auto at = [&](std::size_t k) {
    return cores.begin() + static_cast<std::ptrdiff_t>(cores.size() * k / n);
  };
  return {at(i), at(i + 1)};
}

Cpus cpus_of(const Cores& cores, std::size_t begin, std::size_t end) {
  Cpus cpus;
  for (std::size_t i = begin; i < end; ++i) {
    cpus.insert(cpus.end(), cores[i].begin(), cores[i].end());
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

std::string sets_text(const Placement& sets) {
  return cat("engine=", cpu_list_text(sets.engine), ";input=", cpu_list_text(sets.input),
             ";compute=", cpu_list_text(sets.compute));
}

Placement off(std::string why, const Topology& topology) {
  return {{}, {}, {}, cat("no CPU sets: ", why, "; ", topology.to_string())};
}

Placement plan_fraction(const Topology& topology, int local_rank, int local_size, double fraction) {
  // The quota limits time, not CPUs: if containers bound themselves to the same few CPUs of a
  // shared machine, they would queue there while the other CPUs are idle.
  if (topology.quota < static_cast<int>(topology.allowed.size())) {
    return off("the cgroup's quota is less than the CPUs it may run on, and other containers use "
               "those too; give this one CPUs of its own (cpuset), or list CPUs in cpu_sets",
               topology);
  }
  const Cores cores = cores_of_rank(topology, local_rank, local_size);
  const auto wanted = static_cast<std::size_t>(
      std::max(1L, std::lround(fraction * static_cast<double>(cores.size()))));
  if (cores.size() < wanted + 1) {
    return off(cat("local rank ", local_rank, " of ", local_size, " has ", cores.size(),
                   " cores, which leaves none to compute beside ", wanted,
                   " for engine and input; start fewer ranks or lower the fraction"),
               topology);
  }
  const std::size_t engine = (wanted + 1) / 2;
  Placement sets{cpus_of(cores, 0, engine), cpus_of(cores, engine, wanted),
                 cpus_of(cores, wanted, cores.size()), {}};
  sets.reason = cat(sets_text(sets), ", a fraction of ", fraction, " of local rank ", local_rank,
                    "'s cores; ", topology.to_string());
  return sets;
}

}  // namespace

std::vector<Cpus> cores_of_rank(const Topology& topology, int local_rank, int local_size) {
  const auto rank = static_cast<std::size_t>(local_rank);
  const auto ranks = static_cast<std::size_t>(local_size);
  const std::size_t nodes = topology.nodes.size();
  if (rank >= ranks || topology.cores() < local_size) return {};
  Cores all, mine;
  for (const NumaNode& node : topology.nodes) {
    all.insert(all.end(), node.cores.begin(), node.cores.end());
  }
  if (ranks <= nodes) {
    for (std::size_t node = 0; node < nodes; ++node) {
      if (node * ranks / nodes != rank) continue;
      std::ranges::copy(topology.nodes[node].cores, std::back_inserter(mine));
    }
    return mine;
  }
  // Node k has the ranks r with r * nodes / ranks == k: from first(k) to before first(k + 1).
  const auto first = [&](std::size_t k) { return (k * ranks + nodes - 1) / nodes; };
  for (std::size_t k = 0; k < nodes; ++k) {
    const std::size_t here = first(k + 1) - first(k);
    // A mask may leave a node fewer cores than ranks: then nodes are ignored.
    if (topology.nodes[k].cores.size() < here) return part_of(all, rank, ranks);
    if (rank >= first(k) && rank < first(k + 1)) {
      mine = part_of(topology.nodes[k].cores, rank - first(k), here);
    }
  }
  return mine;
}

Result<Placement> plan_cpu_sets(const Topology& topology, int local_rank, int local_size,
                                const CpuRequest& request) {
  if (request.off()) return Placement{{}, {}, {}, "cpu_sets is off"};
  if (request.engine.empty()) {
    return plan_fraction(topology, local_rank, local_size, request.fraction);
  }
  Placement sets{request.engine, request.input, request.compute, {}};
  for (const Cpus* list : {&sets.engine, &sets.input, &sets.compute}) {
    if (std::ranges::includes(topology.allowed, *list)) continue;
    return Status(Code::invalid_argument,
                  cat("cpu_sets: local rank ", local_rank, " may run on CPUs ",
                      cpu_list_text(topology.allowed), " only, which are not all of ",
                      cpu_list_text(*list), "; list others, or widen the mask (taskset, cpuset)"));
  }
  sets.reason = cat(sets_text(sets), ", as listed; ", topology.to_string());
  return sets;
}

Result<Placement> place_rank(std::string_view cpu_sets, int local_rank, int local_size) {
  const auto request = parse_cpu_request(cpu_sets);
  if (!request) {
    return Status(Code::invalid_argument, cat("cpu_sets: \"", cpu_sets, "\" cannot be read"));
  }
  // Reading the topology takes milliseconds, so it is not done when nothing is requested.
  return plan_cpu_sets(request->off() ? Topology{} : read_topology(), local_rank, local_size,
                       *request);
}

}  // namespace unisono::affinity
