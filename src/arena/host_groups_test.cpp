// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "arena/host_groups.hpp"

#include <gtest/gtest.h>

namespace unisono::arena {
namespace {

// hosts[rank] is the host of the rank.
std::optional<HostGroups> groups(const std::vector<int>& hosts, std::vector<Rank> ranks,
                                 Rank self) {
  return group_by_host(Members::of(std::move(ranks), self), [&](Rank a, Rank b) {
    return hosts[static_cast<std::size_t>(a)] == hosts[static_cast<std::size_t>(b)];
  });
}

TEST(HostGroups, EveryMemberHasItsHostAndItsPeersElsewhere) {
  const std::vector<int> hosts = {0, 0, 1, 1, 2, 2};
  const auto found = groups(hosts, {0, 1, 2, 3, 4, 5}, 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->here.ranks, RankList({2, 3}));
  EXPECT_EQ(found->here.me, 1);
  EXPECT_EQ(found->across.ranks, RankList({1, 3, 5}));
  EXPECT_EQ(found->across.me, 1);
}

TEST(HostGroups, RanksMayBeDealtInAnyOrder) {
  const std::vector<int> hosts = {0, 1, 1, 0};
  for (Rank self = 0; self < 4; ++self) {
    const auto found = groups(hosts, {0, 1, 2, 3}, self);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->here.rank_of(found->here.me), self);
    EXPECT_EQ(found->across.rank_of(found->across.me), self);
    EXPECT_EQ(found->across.count(), 2);
  }
  EXPECT_EQ(groups(hosts, {0, 1, 2, 3}, 3)->across.ranks, RankList({2, 3}));
  const std::vector<std::vector<Rank>> by_host = {{0, 3}, {1, 2}};
  EXPECT_EQ(groups(hosts, {0, 1, 2, 3}, 2)->hosts, by_host);
}

TEST(HostGroups, AreNoneWhereTheyWouldNotHelp) {
  EXPECT_FALSE(groups({0, 0, 0}, {0, 1, 2}, 1)) << "one host";
  EXPECT_FALSE(groups({0, 1, 2}, {0, 1, 2}, 1)) << "one member each";
  EXPECT_FALSE(groups({0, 0, 1, 1}, {0, 1, 2, 3}, 7)) << "not a member";
  EXPECT_TRUE(groups({0, 0, 1, 1, 1}, {0, 1, 3, 4}, 4)) << "the set alone counts";
}

TEST(HostGroups, HostsMayHaveUnequalNumbers) {
  const std::vector<int> hosts = {0, 0, 1, 0, 2, 2};
  for (Rank self = 0; self < 6; ++self) {
    const auto found = groups(hosts, {0, 1, 2, 3, 4, 5}, self);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->least, 1u);
    EXPECT_EQ(found->hosts[found->home], found->here.ranks.get());
    EXPECT_EQ(found->at(2, 2), 4) << "places that a host does not have begin again";
  }
  EXPECT_EQ(groups(hosts, {0, 1, 2, 3, 4, 5}, 2)->across.ranks, RankList({0, 2, 4}));
  EXPECT_EQ(groups(hosts, {0, 1, 2, 3, 4, 5}, 3)->across.count(), 0) << "a place only one host has";
  EXPECT_EQ(groups(hosts, {0, 1, 3, 4, 5}, 5)->across.ranks, RankList({1, 5}));
}

TEST(HostGroups, NeedEverybodyToSeeTheTable) {
  // Rank 2 is alone on its host and has no memory to share.
  const auto shares = [](Rank a, Rank b) { return (a < 2) == (b < 2) && a != 2; };
  EXPECT_FALSE(group_by_host(Members::of({0, 1, 2}, 0), shares));
}

TEST(HostGroups, WhoSharesWithSomeOfAHostOnlyIsInNone) {
  const auto shares = [](Rank a, Rank b) { return a / 2 == b / 2 || (a + b == 3 && a != b); };
  EXPECT_FALSE(group_by_host(Members::of({0, 1, 2, 3}, 0), shares));
}

}  // namespace
}  // namespace unisono::arena
