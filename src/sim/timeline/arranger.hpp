// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The engine's own planners of an iteration, with what collectives cost here in place of what a job
// has measured. Both engines of the simulator ask them: events hand them to the orders that plan,
// as a live engine does, and a timeline arranges by them itself.
// Thread: any; values and pure functions.
#pragma once

#include <functional>
#include <memory>

#include "model/iteration/iteration_graph.hpp"
#include "plan/iteration/costs.hpp"
#include "sim/network/collective_cost.hpp"
#include "sim/simulation.hpp"

namespace unisono::sim {

using PriceOf = std::function<MoveCost(const Network&, std::int64_t bytes, int ranks,
                                       int ranks_per_host)>;

// A cost that is asked for many times, as points between which it is straight: eight to a doubling,
// up to all bytes of the workload. Among `ranks`, which may be more than the settings have.
plan::PointsCost sampled_cost(const SimSettings& settings, int ranks, const PriceOf& price);

// What `order/` asks for every plan that it makes; null for planners that arrange no allreduces of a
// whole iteration.
std::shared_ptr<const IterationArranger> make_sim_arranger(const SimSettings& settings, int ranks);

// The tensors as a program hands them over. With planner priority they come in parts of
// partition_bytes, the more urgent the sooner the next forward pass needs them, as torch's schedule
// of that name sends them; with others they are as they are.
Workload as_submitted(const Workload& workload, std::string_view planner);

}  // namespace unisono::sim
