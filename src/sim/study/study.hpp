// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Compares published figures with what the simulator gives for the same set-up. All rows of a study
// use one set of parameters; docs/SIMULATOR.md says where each comes from. Nothing is fitted per
// row.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/simulation.hpp"
#include "sim/study/parameters.hpp"

namespace unisono::sim {

struct StudyTable {
  std::string_view name;
  std::string_view about;
  bool noisy = true;                    // seeds make a difference
  bool scales = true;                   // the number of ranks and iterations can be chosen
};
std::span<const StudyTable> study_table();

struct StudyRow {
  std::string figure;                   // what is compared
  std::string unit;                     // "x", "%"
  double low = 0, high = 0;             // published; a single value twice
  double simulated = 0;
  std::string note;
  bool published = true;                // false: there is nothing to compare with
  bool fitted = false;                  // a parameter was fitted to this row, so it shows nothing

  // How far outside the published range the value is, relative to the nearer end; 0 within, and
  // where nothing is published.
  double error() const;
};

struct StudyRun {                       // one simulated configuration, for those who want detail
  std::string name;
  int ranks = 0;
  std::string order, pacing, planner;
  SimResult result;
};

struct Study {
  std::vector<StudyRow> rows;
  std::vector<StudyRun> runs;
};

struct StudyOptions {
  std::uint64_t seed = 1;
  int iterations = 5;
  double scale = 1;                     // of the number of ranks; below 1 for a quick look
  const Parameter* varied = nullptr;    // multiplied by the factor; null: none
  double factor = 1;
};
using StudyProgress = std::function<void(double done, const std::string& now)>;

Result<Study> run_study(std::string_view name, const StudyOptions& options,
                        const StudyProgress& progress = {});

// The machine of both papers.
SimSettings summit_settings();
// A machine whose ranks share two cores, and what bench_control submits on it.
SimSettings two_cores_settings(const char* order, int ranks);
// Two ranks, nothing noisy, and one thread that once wakes 10 ms late; cycle 5 ms.
SimSettings oversleep_settings(const char* order, const char* pacing);
// For the rounds after that one: the share in which the other rank waited for more than a tenth of
// a cycle, how many rounds passed until it no longer did, and the share of its time that it spent in
// rounds, waiting for the late one. Its thread spins then, but under nbcs.
struct OversleepVerdict {
  int rounds = 0, waited = 0, until_recovered = 0;
  double time_in_rounds = 0;
  double share() const { return rounds == 0 ? 0 : static_cast<double>(waited) / rounds; }
};
OversleepVerdict judge_oversleep(const SimResult& result);

}  // namespace unisono::sim
