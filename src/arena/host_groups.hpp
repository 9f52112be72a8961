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
  // Of every host the member with this rank's place among its own; nobody where a host has fewer.
  Members across;
  // All members by host and place. Hosts are in the order of their first members.
  std::vector<std::vector<Rank>> hosts = {};
  std::size_t home = 0;                     // this rank's host among them
  std::size_t least = 1;                    // members of the host that has the fewest

  // On each host the one that stands for a place, which may be of a host with more members.
  Rank at(std::size_t host, std::size_t place) const {
    return hosts[host][place % hosts[host].size()];
  }
};

// None unless the members are on several hosts, and two at least on one of them.
// shares(a, b): whether two ranks share memory; of a rank with itself, whether it has any to share.
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
  // A rank that is alone on its host and has no memory to share never sees this table, so nobody
  // groups by it.
  const bool all_know = std::all_of(hosts.begin(), hosts.end(), [&](const auto& host) {
    return host.size() > 1 || shares(host.front(), host.front());
  });
  if (hosts.size() < 2 || hosts.size() == members.ranks.size() || !all_know) return std::nullopt;
  const Rank self = members.rank_of(members.me);
  HostGroups groups;
  groups.least = members.ranks.size();
  std::size_t place = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    groups.least = std::min(groups.least, hosts[i].size());
    const auto at = std::find(hosts[i].begin(), hosts[i].end(), self);
    if (at == hosts[i].end()) continue;
    groups.home = i;
    place = static_cast<std::size_t>(at - hosts[i].begin());
  }
  std::vector<Rank> across;
  for (const std::vector<Rank>& host : hosts) {
    if (place < groups.least) across.push_back(host[place]);
  }
  std::sort(across.begin(), across.end());
  groups.here = Members::of(hosts[groups.home], self);
  groups.across = Members::of(std::move(across), self);
  groups.hosts = std::move(hosts);
  return groups;
}

}  // namespace unisono::arena
