// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/inputs/counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace unisono::tools {
namespace {

std::shared_ptr<std::vector<Indices>> all_supports(const SupportShape& shape) {
  auto out = std::make_shared<std::vector<Indices>>();
  for (int rank = 0; rank < shape.ranks; ++rank) out->push_back(support_of(shape, rank));
  return out;
}

TEST(SparseCounts, WhatIsThereIsCountedInEveryRangeAndAroundTheRanks) {
  const auto three = std::make_shared<std::vector<Indices>>(
      std::vector<Indices>{{0, 5, 63, 64}, {5, 64, 99}, {}});
  const auto count = actual_counts(three, 100);
  EXPECT_EQ(count(0, 1, 0, 100), 4);
  EXPECT_EQ(count(0, 2, 0, 100), 5);
  EXPECT_EQ(count(0, 2, 5, 64), 2);
  EXPECT_EQ(count(2, 2, 0, 100), 4);         // ranks 2 and 0
  EXPECT_EQ(count(2, 1, 0, 100), 0);
  EXPECT_EQ(count(1, 3, 64, 100), 2);
  EXPECT_EQ(count(1, 7, 64, 100), 2);
  EXPECT_EQ(count(0, 3, 50, 50), 0);
}

// What random sets have together differs from what is expected by little, of 20,000 elements each.
TEST(SparseCounts, ExpectationsAreNearWhatIsThere) {
  for (const Support support : kSupports) {
    const SupportShape shape{support, 1 << 18, 20'000, 6, 4};
    const auto expected = expected_counts(shape);
    const auto actual = actual_counts(all_supports(shape), shape.length);
    for (const int ranks : {1, 2, 4, 6}) {
      const double found = actual(0, ranks, 0, shape.length);
      EXPECT_NEAR(expected(0, ranks, 0, shape.length) / found, 1, 0.01)
          << name_of(support) << " " << ranks;
    }
    const double found = actual(1, 3, 1000, 100'000);
    EXPECT_NEAR(expected(1, 3, 1000, 100'000) / found, 1, 0.03) << name_of(support);
  }
}

TEST(SparseCounts, ZipfsFirstIndicesAreOnAllRanks) {
  const auto expected = expected_counts({Support::zipf, 1 << 20, 10'000, 8, 1});
  EXPECT_NEAR(expected(0, 1, 0, 10), 10, 1e-3);
  EXPECT_NEAR(expected(0, 8, 0, 10), 10, 1e-6);
  EXPECT_LT(expected(0, 1, 1 << 19, 1 << 20), 1000);
}

TEST(SparseCounts, FullAndShortVectorsAreNoExceptions) {
  for (const Support support : {Support::uniform, Support::zipf, Support::identical}) {
    EXPECT_NEAR(expected_counts({support, 50, 50, 3, 1})(0, 2, 0, 50), 50, 1e-9);
    EXPECT_NEAR(expected_counts({support, 1, 1, 3, 1})(0, 2, 0, 1), 1, 1e-9);
  }
  EXPECT_NEAR(expected_counts({Support::disjoint, 30, 10, 3, 1})(0, 3, 0, 30), 30, 1e-9);
}

}  // namespace
}  // namespace unisono::tools
