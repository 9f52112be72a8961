// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Makes a plan of what was learned, or of a graph the framework knows. Pure.
//
// What shares a bucket is decided by the planner, where there is one and times are known. Without,
// one linear extension is chosen: among the units whose predecessors are all placed, higher priority
// first, then the one answered earlier on average (in a graph: less deep, then earlier in the list),
// then by name. Neighbours in it share a bucket while no edge runs between them, one collective can
// carry them and their bytes fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "order/topo/learn/iteration_learner.hpp"
#include "order/topo/learn/plan_drift.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {

// Edges run from a unit that must end to one that is submitted only then.
struct TopoGraph {
  std::vector<TopoUnit> units;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
};

// A plan, and how it came about where a planner made it.
struct Arranged {
  std::shared_ptr<const TopoPlan> plan;
  ArrangedIteration iteration;          // units in an order of their own
  std::vector<std::uint32_t> unit_of;   // by slot of the plan
  std::vector<std::string> reasons;     // by bucket: why it travels as it does; may be empty
};
struct ArrangeBy {
  std::shared_ptr<const IterationArranger> arranger;  // may be null
  std::size_t bucket_bytes_max = 0;     // without an arranger
  std::uint32_t channels = 1;           // of the set
  bool fuse_groups = false;             // whether a group may share a bucket with others
};
// `positions` by iteration, by unit; `merged` is about the same units.
Arranged arrange(const std::vector<TopoUnit>& units,
                 const std::vector<std::vector<std::uint32_t>>& positions, const Lesson& merged,
                 const ArrangeBy& by);
// Null when the graph has a cycle, an edge to nowhere, a name twice, or a unit that cannot be
// planned.
std::shared_ptr<const TopoPlan> arrange(const TopoGraph& graph, std::size_t bucket_bytes_max,
                                        std::uint32_t channels = 1, bool fuse_groups = false);

}  // namespace unisono::order
