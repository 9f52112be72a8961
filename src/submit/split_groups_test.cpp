// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "submit/split_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace unisono::submit {
namespace {

using Counts = std::vector<std::size_t>;
using Sizes = std::vector<std::uint64_t>;

std::uint64_t heaviest(const Sizes& sizes, const Counts& counts) {
  std::uint64_t most = 0;
  auto next = sizes.begin();
  for (const std::size_t count : counts) {
    const auto end = next + static_cast<std::ptrdiff_t>(count);
    most = std::max(most, std::accumulate(next, end, std::uint64_t{0}));
    next = end;
  }
  return most;
}

// Tries every possible cut, which short lists allow.
std::uint64_t least_possible(const Sizes& sizes, std::size_t runs) {
  std::uint64_t best = ~std::uint64_t{0};
  for (unsigned cuts = 0; cuts < 1u << (sizes.size() - 1); ++cuts) {
    Counts counts(1, 1);
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      if ((cuts >> (i - 1) & 1u) != 0) counts.push_back(0);
      ++counts.back();
    }
    if (counts.size() == runs) best = std::min(best, heaviest(sizes, counts));
  }
  return best;
}

TEST(SplitGroups, CountsDifferByOneAtMost) {
  EXPECT_EQ(split_by_count(10, 3), (Counts{4, 3, 3}));
  EXPECT_EQ(split_by_count(6, 3), (Counts{2, 2, 2}));
  EXPECT_EQ(split_by_count(5, 1), (Counts{5}));
}

TEST(SplitGroups, MoreGroupsThanTensorsGivesEachItsOwn) {
  EXPECT_EQ(split_by_count(2, 5), (Counts{1, 1}));
  EXPECT_EQ(split_by_bytes(Sizes{7, 7}, 5), (Counts{1, 1}));
}

TEST(SplitGroups, NoTensorsGiveNoGroups) {
  EXPECT_TRUE(split_by_count(0, 3).empty());
  EXPECT_TRUE(split_by_bytes({}, 3).empty());
}

TEST(SplitGroups, HeavyTensorStandsAlone) {
  EXPECT_EQ(split_by_bytes(Sizes{1, 1, 100, 1, 1}, 3), (Counts{2, 1, 2}));
}

TEST(SplitGroups, NoRunIsEmptyWhenTensorsAre) {
  EXPECT_EQ(split_by_bytes(Sizes{0, 0, 0}, 2).size(), 2u);
  EXPECT_EQ(split_by_bytes(Sizes{9, 0, 0, 0}, 4), (Counts{1, 1, 1, 1}));
}

TEST(SplitGroups, NoCutIsBetter) {
  std::mt19937 random(20260101);
  for (int trial = 0; trial < 300; ++trial) {
    Sizes sizes(1 + random() % 9);
    for (std::uint64_t& size : sizes) size = random() % (trial % 2 == 0 ? 5 : 1000);
    const std::size_t groups = 1 + random() % sizes.size();
    const Counts counts = split_by_bytes(sizes, groups);
    ASSERT_EQ(counts.size(), groups) << "trial " << trial;
    ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), std::size_t{0}), sizes.size());
    ASSERT_GT(*std::min_element(counts.begin(), counts.end()), 0u);
    ASSERT_EQ(heaviest(sizes, counts), least_possible(sizes, groups)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace unisono::submit
