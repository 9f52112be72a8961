// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The measurement: engines for each planner, warmed up, that take turns. Every rank runs it, and all
// of them do the same, since the number of steps follows from what rank 0 tells the others.
// Thread: one.
#pragma once

#include <functional>
#include <string>

#include "bench/ranks/lanes.hpp"
#include "bench/step/results.hpp"
#include "bench/step/settings.hpp"
#include "unisono/unisono.hpp"

namespace unisono::tools {

// done is the part of the work that is over, 0 to 1.
using StepProgress = std::function<void(double done, const std::string& now)>;

// `control` is an engine that is not measured: ranks meet and agree through it. Results are those of
// rank 0. The error names the planner; corrupted: a sum was wrong.
Result<StepResults> measure_steps(const StepSettings& settings, const Options& base, Engine& control,
                                  const OpenLane& open, const StepProgress& progress);

}  // namespace unisono::tools
