// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "rendezvous/connect/measure.hpp"

#include <gtest/gtest.h>

namespace unisono::rendezvous {
namespace {

struct Places {
  std::vector<PeerRecord> records;
  std::vector<std::vector<bool>> shares;

  Places(const std::vector<std::string>& places, bool memory) {
    for (const std::string& place : places) {
      PeerRecord record;
      record.rank = static_cast<Rank>(records.size());
      record.place = place;
      records.push_back(std::move(record));
    }
    shares.assign(places.size(), std::vector<bool>(places.size()));
    for (std::size_t a = 0; a < places.size(); ++a) {
      for (std::size_t b = 0; b < places.size(); ++b) {
        shares[a][b] = memory && a != b && !places[a].empty() && places[a] == places[b];
      }
    }
  }
};

TEST(Network, CountsHostsInTheOrderOfRanks) {
  const Places three({"x", "y", "x", "", ""}, true);
  const cost::Network network = describe_network(three.records, three.shares, Options());
  EXPECT_EQ(network.host_of, (std::vector<int>{0, 1, 0, 2, 3}));
  EXPECT_EQ(network.within, cost::LinkClass::memory);
  EXPECT_FALSE(network.usable);
  const Places apart({"x", "x"}, false);
  EXPECT_EQ(describe_network(apart.records, apart.shares, Options()).within,
            cost::LinkClass::loopback);
}

TEST(Network, EveryKindOfLinkIsMeasuredByOnePairOfAHost) {
  cost::Network network;
  network.host_of = {0, 1, 0, 1, 2, 2, 0, 3, 4};
  network.within = cost::LinkClass::memory;
  const auto partners = [&](cost::LinkClass link) {
    std::vector<Rank> list;
    for (Rank rank = 0; rank < 9; ++rank) list.push_back(measuring_partner(network, link, rank));
    return list;
  };
  EXPECT_EQ(partners(cost::LinkClass::memory),
            (std::vector<Rank>{2, 3, 0, 1, 5, 4, -1, -1, -1}));
  EXPECT_EQ(partners(cost::LinkClass::wire), (std::vector<Rank>{1, 0, -1, -1, 7, -1, -1, 4, -1}));
  EXPECT_EQ(partners(cost::LinkClass::loopback), std::vector<Rank>(9, -1));
}

}  // namespace
}  // namespace unisono::rendezvous
