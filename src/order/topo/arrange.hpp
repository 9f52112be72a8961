// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Makes a plan of what was learned, or of a graph the framework knows. Pure.
//
// One linear extension is chosen: among the units whose predecessors are all placed, higher
// priority first, then the one answered earlier on average (in a graph: less deep, then earlier in
// the list), then by name. Neighbours in it share a bucket while no edge runs between them, one
// collective can carry them and their bytes fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "order/topo/iteration_learner.hpp"
#include "order/topo/plan.hpp"

namespace unisono::order {

// Edges run from a unit that must end to one that is submitted only then.
struct TopoGraph {
  std::vector<TopoUnit> units;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
};

// `positions` by iteration, by unit; `merged` is about the same units.
std::shared_ptr<const TopoPlan> arrange(const std::vector<TopoUnit>& units,
                                        const std::vector<std::vector<std::uint32_t>>& positions,
                                        const Lesson& merged, std::size_t bucket_bytes_max);
// Null when the graph has a cycle, an edge to nowhere, a name twice, or a unit that cannot be
// planned.
std::shared_ptr<const TopoPlan> arrange(const TopoGraph& graph, std::size_t bucket_bytes_max);

}  // namespace unisono::order
