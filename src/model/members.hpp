// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The ranks of one process set, in ascending order, seen from one of them.
#pragma once

#include <algorithm>
#include <vector>

#include "unisono/types.hpp"

namespace unisono {

struct Members {
  std::vector<Rank> ranks;
  int me = 0;                           // my index in ranks; -1 when this rank is outside

  int count() const { return static_cast<int>(ranks.size()); }
  Rank rank_of(int index) const { return ranks[static_cast<std::size_t>(index)]; }
  int index_of(Rank rank) const {
    const auto it = std::lower_bound(ranks.begin(), ranks.end(), rank);
    return it != ranks.end() && *it == rank ? static_cast<int>(it - ranks.begin()) : -1;
  }
  static Members of(std::vector<Rank> ranks, Rank self) {
    Members members{std::move(ranks), 0};
    members.me = members.index_of(self);
    return members;
  }
};

}  // namespace unisono
