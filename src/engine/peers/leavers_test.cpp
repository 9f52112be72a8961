// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/peers/leavers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace unisono::engine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Members everyone(int ranks) {
  std::vector<Rank> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return Members::of(std::move(all), 0);
}

TEST(Leavers, NobodyLeavesAtFirst) {
  const Leavers leavers(4);
  EXPECT_THAT(leavers.in_order(everyone(4)), IsEmpty());
  EXPECT_EQ(leavers.first_of(everyone(4)), -1);
}

TEST(Leavers, WithoutAccountsTheOneHeardOfFirstIsFirst) {
  Leavers leavers(4);
  leavers.note(3);
  leavers.note(1);
  leavers.note(3);
  leavers.note(-1);
  EXPECT_THAT(leavers.in_order(everyone(4)), ElementsAre(3, 1));
}

TEST(Leavers, AnAccountOfALaterOneNamesWhoCameBefore) {
  Leavers leavers(5);
  leavers.note(2);
  leavers.tell(2, {4});
  EXPECT_TRUE(leavers.has_told(2));
  EXPECT_FALSE(leavers.has_told(4));
  EXPECT_EQ(leavers.first_of(everyone(5)), 4) << "2 left because 4 had";
}

TEST(Leavers, AllSurvivorsChooseAlikeWhateverTheyHeardFirst) {
  for (const bool turned : {false, true}) {
    Leavers leavers(4);
    leavers.note(turned ? 3 : 1);
    leavers.note(turned ? 1 : 3);
    leavers.tell(1, {});
    leavers.tell(3, {});
    EXPECT_EQ(leavers.first_of(everyone(4)), 1);
  }
}

TEST(Leavers, OnlyMembersOfTheSetCount) {
  Leavers leavers(6);
  leavers.note(5);
  leavers.note(2);
  leavers.tell(2, {5});
  EXPECT_EQ(leavers.first_of(Members::of({0, 2, 3}, 0)), 2);
  EXPECT_EQ(leavers.first_of(Members::of({0, 1}, 0)), -1);
}

TEST(Leavers, AccountsThatContradictEachOtherStillEnd) {
  Leavers leavers(3);
  leavers.note(1);
  leavers.note(2);
  leavers.tell(1, {2});
  leavers.tell(2, {1});
  EXPECT_EQ(leavers.in_order(everyone(3)).size(), 2u);
}

TEST(Leavers, AJobOfThousandsNamesTheFirstFew) {
  Leavers leavers(3000);
  for (Rank rank = 1; rank < 3000; ++rank) leavers.note(rank);
  EXPECT_LE(leavers.in_order(everyone(3000)).size(), 16u);
  EXPECT_EQ(leavers.first_of(everyone(3000)), 1);
  // All that left later have given an account, and all name the same two.
  for (Rank rank = 1; rank < 3000; ++rank) {
    if (rank != 7 && rank != 5) leavers.tell(rank, {7, 5});
  }
  EXPECT_THAT(leavers.in_order(everyone(3000)), testing::SizeIs(16));
  EXPECT_EQ(leavers.first_of(everyone(3000)), 7);
}

TEST(Leavers, AccountsOfNonsenseDoNoHarm) {
  Leavers leavers(3);
  leavers.note(1);
  leavers.tell(1, {-1, 3, 1'000'000, 1, 1});
  leavers.note(1'000'000);
  EXPECT_THAT(leavers.in_order(everyone(3)), ElementsAre(1));
  leavers.tell(1, std::vector<Rank>(100'000, 2));
  EXPECT_THAT(leavers.in_order(everyone(3)), ElementsAre(2, 1));
}

}  // namespace
}  // namespace unisono::engine
