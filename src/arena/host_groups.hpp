// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Which members of a set share a host, and who has the same place on the other hosts. Pure: every
// member finds the same groups from the same table of who shares memory with whom.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "model/members.hpp"

namespace unisono::arena {

struct HostGroups {
  Members here;    // the members on this rank's host
  Members across;  // of every host the member with this rank's place among its own
  // All members by host and place. Hosts are in the order of their first members.
  std::vector<std::vector<Rank>> hosts = {};
};

// None unless the members are on several hosts with equally many on each, two at least.
// shares(a, b): whether two ranks share memory.
template <typename Shares>
std::optional<HostGroups> group_by_host(const Members& members, Shares shares) {
  if (members.me < 0) return std::nullopt;
  std::vector<std::vector<Rank>> hosts;
  for (const Rank rank : members.ranks) {
    std::vector<Rank>* home = nullptr;
    // The first of a host stands for it, so that thousands of ranks are not all compared.
    for (std::vector<Rank>& host : hosts) {
      if (!shares(rank, host.front())) continue;
      if (home != nullptr) return std::nullopt;
      home = &host;
    }
    if (home == nullptr) home = &hosts.emplace_back();
    const bool with_all = std::all_of(home->begin(), home->end(),
                                      [&](Rank other) { return shares(rank, other); });
    if (!with_all) return std::nullopt;     // shares with some of a host only
    home->push_back(rank);
  }
  const std::size_t each = hosts.front().size();
  const bool even = std::all_of(hosts.begin(), hosts.end(),
                                [&](const auto& host) { return host.size() == each; });
  if (hosts.size() < 2 || each < 2 || !even) return std::nullopt;
  const Rank self = members.rank_of(members.me);
  for (const std::vector<Rank>& host : hosts) {
    const auto at = std::find(host.begin(), host.end(), self);
    if (at == host.end()) continue;
    const auto place = static_cast<std::size_t>(at - host.begin());
    std::vector<Rank> across;
    for (const std::vector<Rank>& each_host : hosts) across.push_back(each_host[place]);
    std::sort(across.begin(), across.end());
    Members here = Members::of(host, self);
    return HostGroups{std::move(here), Members::of(std::move(across), self), std::move(hosts)};
  }
  return std::nullopt;
}

}  // namespace unisono::arena
