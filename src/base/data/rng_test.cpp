// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/data/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace unisono {
namespace {

TEST(Rng, SameSeedGivesSameNumbersOnEveryMachine) {
  Rng rng(0);
  EXPECT_EQ(rng(), 0xE220A8397B1DCDAFull);
  EXPECT_EQ(rng(), 0x6E789E6AA1B965F4ull);
}

TEST(Rng, BelowStaysBelow) {
  Rng rng(3);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(rng.below(7), 7u);
  EXPECT_EQ(rng.below(1), 0u);
  EXPECT_EQ(rng.below(0), 0u);
}

TEST(Rng, UniformCoversTheUnitIntervalWithoutOne) {
  Rng rng(4);
  double least = 1, most = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = rng.uniform();
    least = std::min(least, u);
    most = std::max(most, u);
  }
  EXPECT_GE(least, 0.0);
  EXPECT_LT(least, 0.01);
  EXPECT_LT(most, 1.0);
  EXPECT_GT(most, 0.99);
}

TEST(Rng, ShuffleKeepsTheItemsAndReachesEveryOrder) {
  Rng rng(5);
  std::set<std::vector<int>> orders;
  for (int i = 0; i < 500; ++i) {
    std::vector<int> items = {1, 2, 3};
    rng.shuffle(items);
    orders.insert(items);
    std::sort(items.begin(), items.end());
    EXPECT_EQ(items, (std::vector<int>{1, 2, 3}));
  }
  EXPECT_EQ(orders.size(), 6u);
}

}  // namespace
}  // namespace unisono
