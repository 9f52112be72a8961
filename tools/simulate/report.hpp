// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What was simulated, as a table for people and as JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "sim/study/study.hpp"
#include "simulate/settings.hpp"
#include "spread.hpp"

namespace unisono::tools {

struct SimulatedRow {
  int ranks = 0;
  std::string order, pacing, planner;   // on a timeline the first two are "-"
  sim::SimResult result;                // of several seeds, the one whose step is the median
  Spread step_ms{}, efficiency{};       // over the seeds; nothing where the job failed
  std::vector<double> step_each_ms{};   // of each seed
  double batch = 0;                     // samples of a rank; 0: not known
};

// A study under several seeds: its rows have medians, its runs are those of the first seed.
struct SeededStudy {
  sim::Study study;
  std::vector<Spread> simulated;        // of each row
};

std::string table_text(const SimulateSettings& settings, const std::vector<SimulatedRow>& rows);
std::string json_text(const SimulateSettings& settings, const std::vector<SimulatedRow>& rows);
std::string study_text(const SimulateSettings& settings, const SeededStudy& seeded);
std::string study_json(const SimulateSettings& settings, const SeededStudy& seeded);
std::string list_text();

}  // namespace unisono::tools
