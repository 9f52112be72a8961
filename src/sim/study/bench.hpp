// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What the studies are made of: runs configurations one after another and remembers them and the
// rows that follow from them. Thread: one.
#pragma once

#include <string>

#include "sim/study/study.hpp"

namespace unisono::sim {

class StudyBench {
 public:
  StudyBench(const StudyOptions& options, const StudyProgress& progress, int runs)
      : options_(options), progress_(progress), runs_(runs) {}

  // With the number of ranks and iterations that the options say. A copy: a reference would not
  // outlive the next run.
  // `more` times as many iterations: few ranks take little time and see little of what is rare.
  SimResult run(const std::string& name, SimSettings settings, int more = 1);
  // The same, where fewer ranks stand for all. Not for coordinators, whose work is that of all.
  SimResult run_thinned(const std::string& name, SimSettings settings, int more = 1);
  // With the settings' own number of ranks and iterations.
  SimResult run_as_is(const std::string& name, SimSettings settings);
  // What the options halve or double; the same, and the seed.
  void vary_parameter(SimSettings& settings) const;
  void vary(SimSettings& settings) const;

  void row(std::string figure, std::string unit, double low, double high, double simulated,
           std::string note = {});
  void unpublished(std::string figure, std::string unit, double simulated, std::string note = {});
  // A row that a parameter was fitted to: shown, and no evidence.
  void fitted(std::string figure, std::string unit, double published, double simulated,
              std::string note);
  const StudyOptions& options() const { return options_; }

  Study study;
  Status status;

 private:
  const StudyOptions& options_;
  const StudyProgress& progress_;
  const int runs_;
};

SimSettings with_order(SimSettings settings, const char* order, const char* pacing);
SimSettings with_groups(SimSettings settings, int groups);
// Threads that need a core: paper 000 trains on generated data, 001 reads and decodes images.
inline constexpr double kSyntheticInput = 2, kImagePipeline = 7;

void study_paper000(StudyBench& bench);
void study_paper000_further(StudyBench& bench);
void study_paper001(StudyBench& bench);
void study_paper001_models(StudyBench& bench);
void study_paper001_strong(StudyBench& bench);
void study_paper002(StudyBench& bench);
void study_paper003(StudyBench& bench);

}  // namespace unisono::sim
