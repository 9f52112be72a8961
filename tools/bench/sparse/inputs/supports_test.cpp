// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/sparse/inputs/supports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/data/text.hpp"

namespace unisono::tools {
namespace {

using ::testing::HasSubstr;

std::string shape_text(const SupportShape& shape) {
  return cat(name_of(shape.support), " ", shape.nnz, " of ", shape.length, " on ", shape.ranks);
}

TEST(Supports, EveryRankHasExactlyAsManyIncreasingIndicesAsWasAskedFor) {
  for (const Support support : kSupports) {
    for (const std::uint64_t length : {1U, 7U, 64U, 65U, 1000U, 100'003U}) {
      for (const double density : {0.0, 0.0078125, 0.1, 0.33, 0.6, 1.0}) {
        const SupportShape shape{support, length, elements_at(density, length), 3, 5};
        if (!supportable(shape).ok()) {
          EXPECT_EQ(support, Support::disjoint) << shape_text(shape);
          continue;
        }
        for (int rank = 0; rank < shape.ranks; ++rank) {
          const Indices found = support_of(shape, rank);
          ASSERT_EQ(found.size(), shape.nnz) << shape_text(shape);
          EXPECT_EQ(std::adjacent_find(found.begin(), found.end(), std::greater_equal<>()),
                    found.end()) << shape_text(shape);
          EXPECT_LT(found.back(), length) << shape_text(shape);
        }
      }
    }
  }
}

TEST(Supports, TheSameSeedGivesTheSameIndicesAndAnotherGivesOthers) {
  for (const Support support : kSupports) {
    SupportShape shape{support, 100'000, 500, 2, 11};
    const Indices first = support_of(shape, 1);
    EXPECT_EQ(first, support_of(shape, 1)) << name_of(support);
    shape.seed = 12;
    EXPECT_NE(first, support_of(shape, 1)) << name_of(support);
  }
}

TEST(Supports, IdenticalOnesAreEqualAndDisjointOnesHaveNothingInCommon) {
  const SupportShape same{Support::identical, 5000, 321, 4, 3};
  EXPECT_EQ(support_of(same, 0), support_of(same, 3));
  const SupportShape apart{Support::disjoint, 5003, 1250, 4, 3};
  std::set<std::uint32_t> all;
  for (int rank = 0; rank < 4; ++rank) {
    const Indices each = support_of(apart, rank);
    all.insert(each.begin(), each.end());
  }
  EXPECT_EQ(all.size(), 5000U);
  const SupportShape chance{Support::uniform, 5000, 321, 4, 3};
  EXPECT_NE(support_of(chance, 0), support_of(chance, 1));
}

// Mean and spread of a sum of equally likely places are known; five times the spread is far.
TEST(Supports, UniformIndicesLieEverywhere) {
  const SupportShape shape{Support::uniform, 1'000'000, 10'000, 1, 9};
  double sum = 0;
  for (const std::uint32_t at : support_of(shape, 0)) sum += at;
  const double mean = sum / 10'000, spread = 1e6 / 3.4641 / 100;
  EXPECT_NEAR(mean, 499'999.5, 5 * spread);
}

// Of 1000 ranks with one element each, index i has 1 / (i + 1) of the harmonic number.
TEST(Supports, ZipfsLawHoldsIndexByIndex) {
  constexpr int kRanks = 20'000;
  const SupportShape shape{Support::zipf, 100, 1, kRanks, 21};
  std::vector<int> counts(100);
  double harmonic = 0;
  for (int i = 0; i < 100; ++i) harmonic += 1.0 / (i + 1);
  for (int rank = 0; rank < kRanks; ++rank) ++counts[support_of(shape, rank).front()];
  for (const int i : {0, 1, 2, 3, 6, 7, 9, 30, 63, 64, 99}) {
    const double p = 1 / (harmonic * (i + 1)), expected = kRanks * p;
    EXPECT_NEAR(counts[static_cast<std::size_t>(i)], expected, 5 * std::sqrt(expected)) << i;
  }
}

TEST(Supports, ADensityIsRoundedToWholeElementsOfWhichThereIsAlwaysOne) {
  EXPECT_EQ(elements_at(0.0078125, 1 << 24), 131'072U);
  EXPECT_EQ(elements_at(0, 10), 1U);
  EXPECT_EQ(elements_at(1e-9, 10), 1U);
  EXPECT_EQ(elements_at(0.26, 10), 3U);
  EXPECT_EQ(elements_at(1, 10), 10U);
}

TEST(Supports, WhatCannotBeDisjointIsRefusedWithWhatCould) {
  const Status bad = supportable({Support::disjoint, 100, 26, 4, 1});
  EXPECT_THAT(bad.message(), HasSubstr("4 ranks cannot have 26 of 100"));
  EXPECT_THAT(bad.message(), HasSubstr("at most 25"));
  EXPECT_TRUE(supportable({Support::disjoint, 100, 25, 4, 1}).ok());
  EXPECT_FALSE(supportable({Support::uniform, 0, 0, 4, 1}).ok());
}

TEST(Supports, NamesAreThoseOfTheCommandLine) {
  for (const Support each : kSupports) EXPECT_EQ(support_from(name_of(each)), each);
  EXPECT_FALSE(support_from("gaussian").has_value());
}

}  // namespace
}  // namespace unisono::tools
