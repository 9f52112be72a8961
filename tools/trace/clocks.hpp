// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Aligns the clocks of hosts by what they did together. Nobody ends an allreduce before everybody
// has begun it, so each one bounds the offset between two clocks from both sides, as a ping and its
// answer do; the bounds of all of them hold at once. No message is sent for this, and the answer
// comes with how far it can be wrong. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace unisono::tools {

// One rank's part in an exchange that all members take part in from the first to the last.
struct Exchange {
  std::uint32_t set = 0;
  std::uint64_t bucket = 0;
  double begun_us = 0, moved_us = 0;        // by the rank's own clock
};

struct RankClock {
  std::string clock;                        // ranks with the same text share one
  double steady_us = 0, wall_us = 0;        // at the same moment
  std::vector<Exchange> exchanges;
};

// What to take off the times of a clock to get those of the reference.
struct ClockOffset {
  std::string by;                           // "the same clock", "traffic" or "wall clock"
  double uncertain_us = 0;                  // at most so far off; < 0: nobody knows
  // Clocks drift, so there is one for each stretch of time: own time and offset, ascending.
  std::vector<std::pair<double, double>> points;

  double at(double us) const;
};

// The reference is the clock of the lowest rank.
std::map<int, ClockOffset> align_clocks(const std::map<int, RankClock>& ranks);

}  // namespace unisono::tools
