// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "arena/heap.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/data/rng.hpp"

namespace unisono::arena {
namespace {

TEST(Heap, GivesAlignedRangesAndNulloptWhenFull) {
  Heap heap(100, 1100);
  const auto a = heap.take(64, 64);
  ASSERT_TRUE(a.has_value());
  EXPECT_EQ(*a % 64, 0u);
  EXPECT_GE(*a, 100u);
  EXPECT_FALSE(heap.take(2000, 1).has_value());
  EXPECT_EQ(heap.used(), 64u);
}

TEST(Heap, JoinsNeighboursWhenTheyAreGivenBack) {
  Heap heap(0, 300);
  const auto a = heap.take(100, 1), b = heap.take(100, 1), c = heap.take(100, 1);
  ASSERT_TRUE(a && b && c);
  EXPECT_FALSE(heap.take(1, 1).has_value());
  heap.give_back(*a);
  heap.give_back(*c);
  EXPECT_FALSE(heap.take(200, 1).has_value());
  heap.give_back(*b);
  EXPECT_EQ(heap.take(300, 1), std::optional<std::size_t>(0));
}

TEST(Heap, NeverOverlapsWhateverTheOrder) {
  constexpr std::size_t kEnd = 1 << 16;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    Heap heap(0, kEnd);
    std::map<std::size_t, std::size_t> taken;
    for (int i = 0; i < 2000; ++i) {
      if (taken.empty() || rng.below(2) == 0) {
        const std::size_t bytes = 1 + rng.below(3000), alignment = std::size_t{1} << rng.below(9);
        const auto at = heap.take(bytes, alignment);
        if (!at) continue;
        ASSERT_EQ(*at % alignment, 0u) << "seed " << seed;
        ASSERT_LE(*at + bytes, kEnd);
        const auto next = taken.lower_bound(*at);
        if (next != taken.end()) {
          ASSERT_LE(*at + bytes, next->first) << "seed " << seed;
        }
        if (next != taken.begin()) {
          ASSERT_LE(std::prev(next)->first + std::prev(next)->second, *at) << "seed " << seed;
        }
        taken[*at] = bytes;
      } else {
        auto it = taken.begin();
        std::advance(it, static_cast<std::ptrdiff_t>(rng.below(taken.size())));
        heap.give_back(it->first);
        taken.erase(it);
      }
    }
    for (const auto& [at, bytes] : taken) heap.give_back(at);
    EXPECT_EQ(heap.used(), 0u);
    EXPECT_TRUE(heap.take(kEnd, 1).has_value()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace unisono::arena
