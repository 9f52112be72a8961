// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who has left the job, or is about to, and who did so first: the one that all survivors name when
// something cannot be done any more. Every leaver says whom it knew to leave before it; out of these
// accounts all survivors make the same order. Pure. Thread: the engine's driver.
#pragma once

#include <vector>

#include "model/members.hpp"

namespace unisono::engine {

class Leavers {
 public:
  explicit Leavers(std::size_t ranks) : told_(ranks, false), before_(ranks) {}

  // A rank is known to leave; once more does no harm, nor does one that does not exist.
  void note(Rank rank);
  // It has said what it leaves behind, and whom it knew to leave before it.
  void tell(Rank rank, std::vector<Rank> before);
  bool has_told(Rank rank) const { return told_[static_cast<std::size_t>(rank)]; }

  // Those of these members that are known to leave, each after those that left before it; not more
  // than the first few, which are those to blame.
  std::vector<Rank> in_order(const Members& members) const;
  // -1 when none of them leaves.
  Rank first_of(const Members& members) const;

 private:
  bool preceded(Rank rank, const std::vector<Rank>& among) const;

  std::vector<Rank> known_;                 // in the order in which this rank heard of them
  std::vector<bool> told_;
  std::vector<std::vector<Rank>> before_;   // by rank
};

}  // namespace unisono::engine
