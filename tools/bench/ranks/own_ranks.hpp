// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// A command that starts itself as the ranks of a job. Rank 0 writes lines to the process that
// started it, which shows a bar and prints the report; under a launcher it reports itself. Thread:
// one.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "progress_bar.hpp"
#include "unisono/options.hpp"

namespace unisono::tools {

// What every engine is asked for: the environment's options, and those of the command line on top.
Result<Options> options_with(const std::vector<std::pair<std::string, std::string>>& given);

// "unisono bench step: message" on standard error. what: step.
void complain_about(const std::string& what, const std::string& message);
bool write_whole(const std::string& what, const std::string& path, const std::string& text);

// How far a rank is: as lines for another process, at most ten a second, or as a bar, or not at
// all.
class RankProgress {
 public:
  RankProgress(bool reports, bool lines, bool quiet)
      : reports_(reports), lines_(lines), bar_(reports && !lines && !quiet) {}
  void show(double done, const std::string& now);

 private:
  const bool reports_, lines_;
  ProgressBar bar_;
  std::chrono::steady_clock::time_point next_{};
};

// For rank 0, to the process that has started it.
void say_results(const nlohmann::json& results);

struct OwnRanks {
  int exit_code = 0;                         // of the command, when there are no results
  std::optional<nlohmann::json> results;
};
// Runs `unisono run -np RANKS unisono bench WHAT --lines ARGUMENTS`, with a bar unless quiet, and
// says what went wrong.
OwnRanks run_own_ranks(const std::string& what, int ranks, bool quiet,
                       const std::vector<std::string>& arguments);

}  // namespace unisono::tools
