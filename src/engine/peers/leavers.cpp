// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/peers/leavers.hpp"

#include <algorithm>

namespace unisono::engine {
namespace {

// When a job of thousands ends, not all of them need be listed.
constexpr std::size_t kLeaversMax = 16;

}  // namespace

void Leavers::note(Rank rank) {
  if (!exists(rank) || noted_[static_cast<std::size_t>(rank)]) return;
  noted_[static_cast<std::size_t>(rank)] = true;
  known_.push_back(rank);
}

// Whatever the others send, an account stays short and sensible.
void Leavers::tell(Rank rank, const std::vector<Rank>& before) {
  told_[static_cast<std::size_t>(rank)] = true;
  std::vector<Rank>& account = before_[static_cast<std::size_t>(rank)];
  account.clear();
  for (const Rank earlier : before) {
    const bool is_new = std::find(account.begin(), account.end(), earlier) == account.end();
    if (exists(earlier) && earlier != rank && is_new) account.push_back(earlier);
    if (account.size() == kLeaversMax) break;
  }
}

// A leaver says in this order whom it knew to leave, so whoever has not heard of the first one
// learns of it from any later one.
std::vector<Rank> Leavers::in_order(const Members& members) const {
  if (known_.empty()) return {};
  std::vector<Rank> left;
  std::vector<bool> is_left(told_.size());
  const auto add = [&](const std::vector<Rank>& ranks) {
    for (const Rank rank : ranks) {
      if (is_left[static_cast<std::size_t>(rank)] || members.index_of(rank) < 0) continue;
      is_left[static_cast<std::size_t>(rank)] = true;
      left.push_back(rank);
    }
  };
  add(known_);
  for (std::size_t i = 0; i < left.size(); ++i) add(before_[static_cast<std::size_t>(left[i])]);

  // Who is waited for by whom: every account lists some, the earlier before the later.
  std::vector<std::vector<Rank>> later(told_.size());
  std::vector<std::size_t> earlier(later.size());  // how many come before it and have no place yet
  for (const Rank teller : known_) {
    std::vector<Rank> account = before_[static_cast<std::size_t>(teller)];
    account.push_back(teller);
    std::erase_if(account, [&](Rank rank) { return !is_left[static_cast<std::size_t>(rank)]; });
    for (std::size_t i = 0; i < account.size(); ++i) {
      for (std::size_t j = i + 1; j < account.size(); ++j) {
        later[static_cast<std::size_t>(account[i])].push_back(account[j]);
        ++earlier[static_cast<std::size_t>(account[j])];
      }
    }
  }
  std::vector<Rank> order;
  while (!left.empty() && order.size() < kLeaversMax) {
    // Of those that nobody preceded, take the lowest whose account is here, as all survivors do;
    // without accounts take the one heard of first, which may be why the others left.
    auto next = left.end();
    for (auto it = left.begin(); it != left.end(); ++it) {
      if (earlier[static_cast<std::size_t>(*it)] > 0) continue;
      if (next == left.end() || (has_told(*it) && (!has_told(*next) || *it < *next))) next = it;
    }
    if (next == left.end()) next = left.begin();  // accounts that contradict each other
    for (const Rank rank : later[static_cast<std::size_t>(*next)]) {
      --earlier[static_cast<std::size_t>(rank)];
    }
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
