// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who is slow: once per heartbeat, while something moves, every rank tells rank 0 how long its
// tensors waited for the others; rank 0 judges and tells all. Pure; the loop sends what this says.
// Thread: the engine's driver.
#pragma once

#include <optional>
#include <vector>

#include "observe/straggler.hpp"

namespace unisono::engine {

class StragglerReport {
 public:
  explicit StragglerReport(std::size_t ranks) : waits_(ranks), earlier_(ranks) {}

  // Rank 0: what another rank told.
  void heard(Rank from, const observe::RankWait& wait) {
    waits_[static_cast<std::size_t>(from)] = wait;
  }
  // Rank 0, at its own beat: the verdict to tell everybody; nothing when nothing moved here.
  std::optional<observe::SlowRank> judge(const observe::RankWait& own);
  // Takes a verdict; returns whether it names another rank than the last one did.
  bool is_news(const observe::SlowRank& verdict);

 private:
  std::vector<observe::RankWait> waits_;    // what the ranks told since the last beat
  std::vector<observe::RankWait> earlier_;  // the same of the beat before
  Rank named_ = -1;
};

}  // namespace unisono::engine
