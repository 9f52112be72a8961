// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the buckets of one process set take, for whoever plans its iterations. Set by the runner of
// the set, read by its order; both on the same thread. Thread: the engine's driver.
#pragma once

#include <cstddef>
#include <memory>

#include "model/iteration/iteration_graph.hpp"
#include "run/move_times.hpp"
#include "run/select/selector.hpp"
#include "unisono/options.hpp"

namespace unisono::engine {

struct PlanCosts {
  run::MoveTimes times;
  const run::Selector* selector = nullptr;  // null: members share memory, or nothing was measured
};

// The planner of the options, for whole iterations; null where times must not decide. No bucket of
// it is larger than what the members can share, where they share memory.
std::shared_ptr<const IterationArranger> make_plan_arranger(const Options& options,
                                                            std::shared_ptr<const PlanCosts> costs,
                                                            std::size_t window_max);

}  // namespace unisono::engine
