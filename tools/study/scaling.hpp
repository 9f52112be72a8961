// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// One figure at several numbers of ranks, and how much of the ideal it is. Simulated, or read from
// what a program prints. Thread: one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "processes/capture.hpp"
#include "spread.hpp"
#include "study/settings.hpp"
#include "unisono/status.hpp"

namespace unisono::tools {

struct ScalingPoint {
  int ranks = 0;
  double batch = 0;                     // of all ranks together; 0: not known
  std::vector<double> values;           // samples per second, or seconds to a solution
  Spread value;
  // Of what the first point promises for this many ranks; its interval is that of the values.
  Spread efficiency;
};

struct Scaling {
  std::string unit;                     // of the values
  std::vector<ScalingPoint> points;
};

using ScalingProgress = std::function<void(double done, const std::string& now)>;
// Runs a command line to its end; what tests replace.
using Launch = std::function<Captured(const std::vector<std::string>& command)>;

Result<Scaling> simulate_scaling(const ScalingSettings& settings, const ScalingProgress& progress);
// Starts `unisono run -np N PROGRAM`, with {ranks} and {batch} in its arguments replaced.
Result<Scaling> measure_scaling(const ScalingSettings& settings, const Launch& launch,
                                const ScalingProgress& progress);

// Samples to a solution with a global batch: as many again when it is the critical one.
double samples_needed(const ScalingSettings& settings, double batch);
// The last line in which the pattern is found, whose first parentheses must hold a number.
Result<double> figure_in(const std::string& output, const std::string& pattern);

}  // namespace unisono::tools
