// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A step whose buckets were arranged beforehand by a planner of an iteration (plan/iteration):
// closed forms and a timeline. There are no events, so no agreement, no pacing, no threads, no
// noise and no faults: every rank has its tensors when the workload says, and knows the plan. The
// event engine plays the same planners where its order learns a plan, two-phase excepted.
// Pure: the same settings give the same figures. Thread: any.
#pragma once

#include <string_view>
#include <vector>

#include "sim/simulation.hpp"

namespace unisono::sim {

// The planners that can be compared: those of the table but the one that chooses among codecs,
// which the simulator does not model.
std::vector<std::string_view> timeline_planners();
// Whether a planner arranges whole iterations and fills rounds like threshold.
bool arranges_iterations(std::string_view planner);
// Whether such a planner can only be had on a timeline: no plan of allreduces can hold it.
bool only_on_timeline(std::string_view planner);

// Reads workload, network, ranks, ranks_per_host, planner, fusion_bytes and groups. A step ends
// when the next one can begin: when all has arrived; with two-phase and priority, so early that no
// tensor arrives later than the next forward pass comes to its layer. With priority tensors are
// handed over in parts and joined as the engine joins them (arranger.hpp). Of the result, what
// events would give is 0.
Result<SimResult> timeline_step(const SimSettings& settings);

}  // namespace unisono::sim
