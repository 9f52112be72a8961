// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What `unisono simulate` was asked for. A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/simulation.hpp"

namespace unisono::tools {

// What a step is played by: real orders and pacings under events, or planners of a whole iteration
// on a timeline, which have neither.
enum class SimulateEngine { events, timeline };

struct SimulateSettings {
  sim::SimSettings base;                // everything that is the same in all rows
  SimulateEngine engine = SimulateEngine::events;
  std::vector<int> ranks{8};
  std::vector<std::string> orders{"cache"}, pacings{"event"}, planners{"threshold"};
  int jobs = 0;                         // rows played at a time; 0: as many as is worth it
  int seeds = 1;                        // from base.seed on, for each row
  std::int64_t global_batch = 0;        // samples of a step, of all ranks; 0: each has its own
  double fixed_share = sim::kFixedShare;  // of a step's compute, however few samples there are
  std::string study;
  double study_scale = 1;
  std::string json;                     // a path, or - for standard output
  std::string plot;                     // a path
  std::string note;                     // on what was left out of an "all"; empty: nothing
  std::string command;
  bool list = false, quiet = false, detail = false;
  bool sensitivity = false;             // of every answer to every assumed parameter
};

}  // namespace unisono::tools
