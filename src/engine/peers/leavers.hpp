// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Who has left the job, or is about to, and who did so first: the one that all survivors name when
// something cannot be done any more. Every leaver says whom it knew to leave before it; from these
// accounts all survivors make the same order. Pure. Thread: the engine's driver.
#pragma once

#include <vector>

#include "model/members.hpp"

namespace unisono::engine {

class Leavers {
 public:
  explicit Leavers(std::size_t ranks) : noted_(ranks), told_(ranks), before_(ranks) {}

  // A rank is known to leave. Repeats do no harm, nor does a rank that does not exist.
  void note(Rank rank);
  // The rank has said what it leaves behind, and whom it knew to leave before it.
  void tell(Rank rank, const std::vector<Rank>& before);
  bool has_told(Rank rank) const { return told_[static_cast<std::size_t>(rank)]; }

  // Returns those of these members that are known to leave, each after those that left before it;
  // only the first few, which are those to blame.
  std::vector<Rank> in_order(const Members& members) const;
  // -1 when none of them leaves.
  Rank first_of(const Members& members) const;

 private:
  bool exists(Rank rank) const {
    return rank >= 0 && static_cast<std::size_t>(rank) < told_.size();
  }

  std::vector<Rank> known_;                 // in the order in which this rank heard of them
  std::vector<bool> noted_, told_;          // by rank
  std::vector<std::vector<Rank>> before_;   // by rank
};

}  // namespace unisono::engine
