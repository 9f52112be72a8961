// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// hwloc describes the whole machine; what this process may not use is left out here.
#include "affinity/topology.hpp"

#if UNISONO_HAS_HWLOC

#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/data/text.hpp"

namespace unisono::affinity {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t machine) const { hwloc_topology_destroy(machine); }
};
using Machine = std::unique_ptr<hwloc_topology, Destroy>;

Machine load(const char* synthetic) {
  hwloc_topology_t machine = nullptr;
  if (hwloc_topology_init(&machine) != 0) return nullptr;
  Machine owned(machine);
  if (synthetic != nullptr && hwloc_topology_set_synthetic(machine, synthetic) != 0) return nullptr;
  return hwloc_topology_load(machine) == 0 ? std::move(owned) : nullptr;
}

// Removes the CPUs of the set from `left` and returns them. Two nodes may claim the same CPUs,
// where one of the nodes is memory of another kind; the first one gets them.
Cpus take(std::set<int>& left, hwloc_const_bitmap_t set) {
  Cpus cpus;
  for (auto it = left.begin(); it != left.end();) {
    const bool member = hwloc_bitmap_isset(set, static_cast<unsigned>(*it)) != 0;
    if (member) cpus.push_back(*it);
    it = member ? left.erase(it) : std::next(it);
  }
  return cpus;
}

std::vector<Cpus> take_cores(hwloc_topology_t machine, Cpus cpus) {
  std::set<int> left(cpus.begin(), cpus.end());
  std::vector<Cpus> cores;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_CORE, core)) != nullptr) {
    if (Cpus threads = take(left, core->cpuset); !threads.empty()) {
      cores.push_back(std::move(threads));
    }
  }
  // Some virtual machines do not report which CPUs form a core.
  for (const int cpu : left) cores.push_back({cpu});
  return cores;
}

std::int64_t cache_bytes(hwloc_topology_t machine, hwloc_obj_type_t type) {
  const hwloc_obj_t cache = hwloc_get_next_obj_by_type(machine, type, nullptr);
  return cache == nullptr ? 0 : static_cast<std::int64_t>(cache->attr->cache.size);
}

}  // namespace

std::optional<Topology> topology_from_hwloc(Cpus allowed, const char* synthetic) {
  const Machine machine = load(synthetic);
  if (machine == nullptr || allowed.empty()) return std::nullopt;
  Topology topology;
  std::set<int> left(allowed.begin(), allowed.end());
  const auto add_node = [&](int id, Cpus cpus) {
    if (!cpus.empty()) topology.nodes.push_back({id, take_cores(machine.get(), std::move(cpus))});
  };
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(machine.get(), HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    add_node(static_cast<int>(node->os_index), take(left, node->cpuset));
  }
  // This process may also use CPUs that no node claims.
  add_node(-1, Cpus(left.begin(), left.end()));
  topology.quota = static_cast<int>(allowed.size());
  topology.allowed = std::move(allowed);
  topology.l2_bytes = cache_bytes(machine.get(), HWLOC_OBJ_L2CACHE);
  for (const auto type : {HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    topology.llc_bytes = std::max(topology.llc_bytes, cache_bytes(machine.get(), type));
  }
  const unsigned api = hwloc_get_api_version();
  topology.source = cat("hwloc ", api >> 16, ".", (api >> 8) & 0xff);
  return topology;
}

}  // namespace unisono::affinity

#else

namespace unisono::affinity {

std::optional<Topology> topology_from_hwloc(Cpus, const char*) { return std::nullopt; }

}  // namespace unisono::affinity

#endif
