// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/data/rng.hpp"

namespace unisono::sim {
namespace {

TEST(EventQueue, PopsByTimeAndThenInTheOrderOfPushing) {
  Rng rng(5);
  EventQueue queue;
  std::vector<std::pair<std::int64_t, std::uint32_t>> expected;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const auto at = static_cast<std::int64_t>(rng.below(500));
    // The kind must not matter, even when it decreases from push to push.
    queue.push(at, static_cast<std::uint8_t>(255 - i % 256), i, 0);
    expected.emplace_back(at, i);
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [at, actor] : expected) {
    const Event event = queue.pop();
    ASSERT_EQ(event.at_ns, at);
    ASSERT_EQ(event.actor, actor);
    ASSERT_EQ(event.kind(), static_cast<std::uint8_t>(255 - actor % 256));
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, StaysSortedWhilePushesAndPopsMix) {
  Rng rng(6);
  EventQueue queue;
  std::int64_t now = 0;
  for (int i = 0; i < 100000; ++i) {
    queue.push(now + static_cast<std::int64_t>(rng.below(1000)), 0, 0, 0);
    if (rng.below(3) == 0) continue;
    const Event event = queue.pop();
    ASSERT_GE(event.at_ns, now);
    now = event.at_ns;
  }
}

TEST(Pool, ReusesHandlesThatWereGivenBack) {
  Pool<std::vector<int>> pool;
  const auto a = pool.put({1}), b = pool.put({2});
  EXPECT_EQ(pool.take(a), std::vector<int>{1});
  EXPECT_EQ(pool.put({3}), a);
  EXPECT_EQ(pool.at(b), std::vector<int>{2});
  EXPECT_EQ(pool.in_use(), 2u);
}

}  // namespace
}  // namespace unisono::sim
