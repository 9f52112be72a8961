// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/contender.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

TEST(BenchLabel, AHeadingNamesTheAlgorithmWhereOneWasChosen) {
  EXPECT_EQ((Label{"unisono", "auto", "shm"}).heading(), "unisono");
  EXPECT_EQ((Label{"unisono", "ring", "tcp"}).heading(), "unisono:ring");
  EXPECT_EQ((Label{"unisono-arena", "auto", "shm"}).heading(), "unisono-arena");
  EXPECT_EQ((Label{"openmpi", "default", "tcp"}).heading(), "openmpi");
}

TEST(BenchLabel, EveryWayToUseUnisonoIsOursAndTheLimitIsNobodys) {
  EXPECT_TRUE((Label{"unisono-persistent", "auto", "shm"}).ours());
  EXPECT_FALSE((Label{"gloo", "default", "tcp"}).ours());
  const Label limit{"limit", "read-write", "memory"};
  EXPECT_TRUE(limit.limit());
  EXPECT_FALSE(limit.ours());
}

}  // namespace
}  // namespace unisono::tools
