// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono bench step` was asked for. A value.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/workload/workload.hpp"

namespace unisono::tools {

struct StepSettings {
  sim::Workload profile;                     // already scaled
  double scale = 1;
  std::vector<std::string> planners;
  // What every engine is asked for beside its planner, by the names of the option table.
  std::vector<std::pair<std::string, std::string>> options;
  int ranks = 0;                             // 0: two, or as many as the launcher has started
  int groups = 0;                            // of the planner groups; 0: every tensor alone
  int steps = 3;                             // in one turn of a planner
  int repeat = 5;                            // turns
  int warmup = 12, warmup_most = 48;         // steps of each planner
  bool forward_waits = false;
  double spin_us = -1;                       // before each gradient; < 0: by the cores of this host
  std::string json, plot;                    // paths; - is standard output
  std::string write_profile;                 // a path
  bool quiet = false;
  bool lines = false;                        // rank 0 writes for another process, not for people
  std::string command;                       // the line as typed, for the report
};

}  // namespace unisono::tools
