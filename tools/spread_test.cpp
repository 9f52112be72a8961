// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "spread.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

TEST(Spread, OneValueIsItsOwnInterval) {
  const Spread spread = spread_of({7});
  EXPECT_EQ(spread.median, 7);
  EXPECT_EQ(spread.low, 7);
  EXPECT_EQ(spread.high, 7);
}

TEST(Spread, AnyOrderGivesTheMedianAndTheCentralTwoThirds) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Spread spread = spread_of(values);
  EXPECT_DOUBLE_EQ(spread.median, 50);
  EXPECT_DOUBLE_EQ(spread.low, 16);
  EXPECT_DOUBLE_EQ(spread.high, 84);
}

TEST(Spread, BetweenTwoValuesItIsStraight) {
  const Spread spread = spread_of({3, 1});
  EXPECT_DOUBLE_EQ(spread.median, 2);
  EXPECT_DOUBLE_EQ(spread.low, 1.32);
  EXPECT_DOUBLE_EQ(spread.high, 2.68);
}

}  // namespace
}  // namespace unisono::tools
