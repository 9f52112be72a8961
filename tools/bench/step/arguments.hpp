// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The command line of `unisono bench step`, checked before anything is started.
#pragma once

#include <string>
#include <vector>

#include "bench/step/settings.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct StepArguments {
  StepSettings settings;
  int exit_code = -1;                        // >= 0: nothing is left to do, exit with this
};

StepArguments parse_step_arguments(std::vector<std::string> arguments);

// The same step with times and sizes multiplied; sizes stay whole floats, of which each tensor keeps
// at least one.
sim::Workload scaled(sim::Workload profile, double factor);
// What --planner all means: every planner of an iteration, and those that the engine has beside them.
std::vector<std::string> known_planners();

}  // namespace unisono::tools
