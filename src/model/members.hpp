// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The ranks of one process set, in ascending order, seen from one of them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "unisono/types.hpp"

namespace unisono {

// An immutable list that its copies share: 27,600 members of a simulated set in one process, or all
// sets of an engine that were made from one Members, hold it once.
class RankList {
 public:
  RankList() = default;
  RankList(std::initializer_list<Rank> ranks) : RankList(std::vector<Rank>(ranks)) {}
  RankList(std::vector<Rank> ranks)  // NOLINT: a list of ranks is what it stands for
      : ranks_(std::make_shared<const std::vector<Rank>>(std::move(ranks))) {}

  const std::vector<Rank>& get() const {
    static const std::vector<Rank> kNone;
    return ranks_ ? *ranks_ : kNone;
  }
  operator const std::vector<Rank>&() const { return get(); }  // NOLINT
  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  const Rank* data() const { return get().data(); }
  std::size_t size() const { return get().size(); }
  bool empty() const { return get().empty(); }
  Rank operator[](std::size_t index) const { return get()[index]; }
  friend bool operator==(const RankList& a, const RankList& b) { return a.get() == b.get(); }

 private:
  std::shared_ptr<const std::vector<Rank>> ranks_;
};

struct Members {
  RankList ranks;
  int me = 0;                           // my index in ranks; -1 when this rank is outside

  int count() const { return static_cast<int>(ranks.size()); }
  Rank rank_of(int index) const { return ranks[static_cast<std::size_t>(index)]; }
  int index_of(Rank rank) const {
    const auto it = std::lower_bound(ranks.begin(), ranks.end(), rank);
    return it != ranks.end() && *it == rank ? static_cast<int>(it - ranks.begin()) : -1;
  }
  static Members of(RankList ranks, Rank self) {
    Members members{std::move(ranks), 0};
    members.me = members.index_of(self);
    return members;
  }
};

}  // namespace unisono
