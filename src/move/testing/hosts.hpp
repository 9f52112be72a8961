// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Test support: ranks on several hosts in one thread, with messages between all and shared memory
// within each.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "move/host_team.hpp"
#include "move/local/testing/local_test_host.hpp"
#include "move/testing/fake_transport.hpp"

namespace unisono::move {

struct Hosts {
  // dealt: ranks are dealt to the hosts one by one instead of filling them one after the other.
  Hosts(const std::vector<int>& sizes, std::uint64_t seed, bool dealt = false)
      : hub(std::accumulate(sizes.begin(), sizes.end(), 0), seed) {
    std::vector<int> host_of, place_of, filled(sizes.size(), 0);
    std::vector<Rank> ranks(static_cast<std::size_t>(hub.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    for (std::size_t rank = 0, host = 0; rank < ranks.size(); ++rank) {
      while (filled[host] == sizes[host]) host = (host + 1) % sizes.size();
      host_of.push_back(static_cast<int>(host));
      place_of.push_back(filled[host]++);
      if (dealt) host = (host + 1) % sizes.size();
    }
    for (const int size : sizes) local.push_back(std::make_unique<LocalTestHost>(size, seed));
    sets.reserve(ranks.size());
    teams.reserve(ranks.size());
    const auto at = [](Rank rank) { return static_cast<std::size_t>(rank); };
    for (const Rank rank : ranks) {
      sets.push_back(Members::of(ranks, rank));
      auto groups = arena::group_by_host(
          sets.back(), [&](Rank a, Rank b) { return host_of[at(a)] == host_of[at(b)]; });
      LocalTestHost& home = *local[at(host_of[at(rank)])];
      teams.push_back({std::move(groups.value()), home.make_team(place_of[at(rank)], 3)});
    }
  }
  Hosts(int hosts, int each, std::uint64_t seed, bool dealt = false)
      : Hosts(std::vector<int>(static_cast<std::size_t>(hosts), each), seed, dealt) {}
  MoveContext context(std::size_t rank, std::uint64_t bucket) {
    return {.transport = &hub.at(static_cast<Rank>(rank)), .members = &sets[rank], .set = 0,
            .bucket = bucket, .identity = 77 + 1000 * bucket, .host = &teams[rank]};
  }
  // Steps machines and moves messages in random order until all have finished.
  void run(std::vector<std::unique_ptr<CollectiveMachine>>& machines) {
    Rng& rng = hub.rng();
    std::vector<bool> over(machines.size(), false);
    for (std::size_t idle = 0; idle < 1000;) {
      bool moved = false;
      for (std::size_t i = 0; i < machines.size(); ++i) {
        if (over[i] || rng.below(3) == 0) continue;
        const Step step = machines[i]->step();
        moved = moved || step != Step::waiting;
        over[i] = step == Step::finished;
      }
      for (std::uint64_t k = rng.below(12); k > 0 && hub.pump(); --k) moved = true;
      if (!moved && std::count(over.begin(), over.end(), false) == 0) return;
      idle = moved ? 0 : idle + 1;
    }
    for (const auto& machine : machines) ADD_FAILURE() << "stuck: " << machine->describe();
  }

  FakeHub hub;
  std::vector<std::unique_ptr<LocalTestHost>> local;
  std::vector<Members> sets;
  std::vector<HostTeam> teams;
};

}  // namespace unisono::move
