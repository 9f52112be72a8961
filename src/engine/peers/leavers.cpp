// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/peers/leavers.hpp"

#include <algorithm>
#include <utility>

namespace unisono::engine {
namespace {

// A job of thousands that ends need not list them all.
constexpr std::size_t kLeaversMax = 16;

bool is_among(Rank rank, const std::vector<Rank>& ranks) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

void Leavers::note(Rank rank) {
  const bool exists = rank >= 0 && static_cast<std::size_t>(rank) < told_.size();
  if (exists && !is_among(rank, known_)) known_.push_back(rank);
}

void Leavers::tell(Rank rank, std::vector<Rank> before) {
  told_[static_cast<std::size_t>(rank)] = true;
  before_[static_cast<std::size_t>(rank)] = std::move(before);
}

// Whether somebody among these came before this one, in anybody's account.
bool Leavers::preceded(Rank rank, const std::vector<Rank>& among) const {
  for (const Rank teller : known_) {
    std::vector<Rank> account = before_[static_cast<std::size_t>(teller)];
    account.push_back(teller);
    const auto at = std::find(account.begin(), account.end(), rank);
    if (at == account.end()) continue;
    if (std::any_of(account.begin(), at, [&](Rank earlier) { return is_among(earlier, among); })) {
      return true;
    }
  }
  return false;
}

// A leaver says whom it knew, in this order, so whoever has not heard of the first one itself learns
// of it from any later one.
std::vector<Rank> Leavers::in_order(const Members& members) const {
  std::vector<Rank> left;
  const auto add = [&](const std::vector<Rank>& ranks) {
    for (const Rank rank : ranks) {
      if (members.index_of(rank) >= 0 && !is_among(rank, left)) left.push_back(rank);
    }
  };
  add(known_);
  for (std::size_t i = 0; i < left.size(); ++i) add(before_[static_cast<std::size_t>(left[i])]);
  std::vector<Rank> order;
  while (!left.empty() && order.size() < kLeaversMax) {
    // Of those that nobody preceded, the lowest whose account is here, since all survivors choose it;
    // without an account the one heard of first, which may be why the others left.
    auto next = left.end();
    for (auto it = left.begin(); it != left.end(); ++it) {
      if (preceded(*it, left)) continue;
      if (next == left.end() || (has_told(*it) && (!has_told(*next) || *it < *next))) next = it;
    }
    if (next == left.end()) next = left.begin();  // accounts that contradict each other
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

Rank Leavers::first_of(const Members& members) const {
  const std::vector<Rank> order = in_order(members);
  return order.empty() ? -1 : order.front();
}

}  // namespace unisono::engine
