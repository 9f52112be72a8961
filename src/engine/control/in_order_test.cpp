// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/control/in_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/data/rng.hpp"

namespace unisono::engine {
namespace {

std::vector<std::byte> message_of(std::uint32_t number) {
  return {static_cast<std::byte>(number), static_cast<std::byte>(number >> 8)};
}
std::uint32_t number_in(std::span<const std::byte> message) {
  return static_cast<std::uint32_t>(message[0]) | static_cast<std::uint32_t>(message[1]) << 8;
}

TEST(InOrder, WhateverWayTheMessagesTake) {
  Rng rng(11);
  for (int round = 0; round < 50; ++round) {
    InOrder receiver;
    std::vector<std::pair<Rank, std::uint32_t>> on_the_way;
    for (int i = 0; i < 300; ++i) {
      const Rank origin = static_cast<Rank>(rng.below(3));
      on_the_way.emplace_back(origin, 0);
    }
    std::vector<InOrder> origins(3);
    for (auto& [origin, number] : on_the_way) {
      number = origins[static_cast<std::size_t>(origin)].next_to(7);
    }
    for (std::size_t i = on_the_way.size() - 1; i > 0; --i) {
      std::swap(on_the_way[i], on_the_way[rng.below(i + 1)]);
    }
    std::vector<std::vector<std::uint32_t>> seen(3);
    for (const auto& [origin, number] : on_the_way) {
      ASSERT_TRUE(receiver.arrived(origin, number, message_of(number), [&](auto message) {
        seen[static_cast<std::size_t>(origin)].push_back(number_in(message));
      }));
    }
    std::size_t all = 0;
    for (const auto& each : seen) {
      for (std::size_t i = 0; i < each.size(); ++i) EXPECT_EQ(each[i], i);
      all += each.size();
    }
    EXPECT_EQ(all, on_the_way.size());
  }
}

TEST(InOrder, WhatIsNotNumberedWaitsForNothing) {
  InOrder receiver;
  std::vector<std::uint32_t> seen;
  const auto note = [&](auto message) { seen.push_back(number_in(message)); };
  EXPECT_TRUE(receiver.arrived(1, 1, message_of(1), note));
  EXPECT_TRUE(receiver.arrived(1, InOrder::kUnnumbered, message_of(9), note));
  EXPECT_TRUE(receiver.arrived(1, 0, message_of(0), note));
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{9, 0, 1}));
}

TEST(InOrder, ANumberThatCannotBeIsRefused) {
  InOrder receiver;
  int delivered = 0;
  const auto count = [&](auto) { ++delivered; };
  EXPECT_FALSE(receiver.arrived(1, InOrder::kWaitingMax + 1, message_of(0), count));
  EXPECT_TRUE(receiver.arrived(1, 1, message_of(1), count));
  EXPECT_FALSE(receiver.arrived(1, 1, message_of(1), count)) << "twice";
  EXPECT_TRUE(receiver.arrived(1, 0, message_of(0), count));
  EXPECT_EQ(delivered, 2);
  EXPECT_FALSE(receiver.arrived(1, 0, message_of(0), count)) << "it has been here";
}

}  // namespace
}  // namespace unisono::engine
