// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono study` was asked for. A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/settings.hpp"

namespace unisono::tools {

enum class ScalingKind { weak, strong, time_to_solution };

struct ScalingSettings {
  ScalingKind kind = ScalingKind::weak;
  std::vector<int> ranks{1, 2, 4, 8};
  int runs = 5;                         // seeds of a simulation, or repetitions of a program
  SimulateSettings simulated;           // one order, pacing and planner; unless there is a program
  std::vector<std::string> program;     // with its arguments; empty: simulate
  std::string pattern;                  // what the program prints, with the figure in parentheses
  double timeout_s = 3600;              // of one run of it
  std::int64_t global_batch = 0;
  double samples = 0;                   // to a solution with small batches
  double critical_batch = 0;            // at which twice as many are needed; 0: never more
  std::string json, plot, command;
  bool quiet = false;
};

inline bool is_time(const ScalingSettings& settings) {
  return settings.kind == ScalingKind::time_to_solution;
}

}  // namespace unisono::tools
