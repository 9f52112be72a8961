// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "encode/feedback/feedback.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/data/rng.hpp"

namespace unisono::encode {
namespace {

Feedback some(std::uint64_t seed) {
  Rng rng(seed);
  Feedback out;
  for (const char* name : {"a", "b.weight", "c"}) {
    TensorMemory& memory = out.of(name);
    memory.steps = static_cast<std::uint32_t>(seed + 1);
    memory.residual.resize(5);
    for (float& value : memory.residual) value = static_cast<float>(rng.below(1000));
    if (name[0] == 'c') memory.velocity.assign(5, 2.0F);
    if (name[0] == 'b') memory.factor.assign(3, 0.5F);
  }
  return out;
}

TEST(Feedback, ComesBackBitForBit) {
  Feedback kept = some(1);
  kept.of("a").residual = {-0.0F, std::numeric_limits<float>::denorm_min(), 1e-30F, -3.5F};
  Feedback loaded;
  ASSERT_TRUE(loaded.load(kept.save()).ok());
  EXPECT_EQ(loaded.save(), kept.save());
  EXPECT_EQ(*loaded.find("b.weight"), *kept.find("b.weight"));
  EXPECT_EQ(std::signbit(loaded.find("a")->residual[0]), true);
}

TEST(Feedback, WhatIsNoStateLeavesEverythingAsItWas) {
  Feedback kept = some(1);
  const auto before = kept.save();
  for (std::size_t length = 0; length < before.size(); ++length) {
    EXPECT_FALSE(kept.load(std::span(before).first(length)).ok()) << length;
  }
  auto longer = before;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(kept.load(longer).ok());
  EXPECT_EQ(kept.save(), before);
}

TEST(Feedback, AnotherWorldSizeKeepsTheSums) {
  for (const std::size_t from : {1, 2, 5}) {
    for (const std::size_t to : {1, 2, 3, 8}) {
      std::vector<Feedback> ranks;
      for (std::size_t r = 0; r < from; ++r) ranks.push_back(some(r));
      const auto moved = redistribute(ranks, to).value();
      ASSERT_EQ(moved.size(), to);
      for (const char* name : {"a", "b.weight", "c"}) {
        for (std::size_t i = 0; i < 5; ++i) {
          float before = 0, after = 0;      // whole numbers: exact
          for (const Feedback& rank : ranks) before += rank.find(name)->residual[i];
          for (const Feedback& rank : moved) {
            const auto& residual = rank.find(name)->residual;
            after += residual.empty() ? 0.0F : residual[i];
            EXPECT_EQ(rank.find(name)->steps, from);
          }
          EXPECT_EQ(after, before);
        }
      }
      EXPECT_EQ(moved.back().find("b.weight")->factor.size(), 3u);
    }
  }
}

TEST(Feedback, StatesThatDoNotBelongTogetherAreRefused) {
  std::vector<Feedback> ranks{some(0), some(1)};
  ranks[1].of("a").residual.resize(4);
  EXPECT_EQ(redistribute(ranks, 1).status().code(), Code::mismatch);
  EXPECT_FALSE(redistribute(ranks, 0).ok());
}

TEST(Feedback, FlushingGivesTheResidualAwayOnce) {
  Feedback kept;
  kept.of("a").residual = {3, 4};
  EXPECT_DOUBLE_EQ(kept.norm(), 5);
  EXPECT_EQ(kept.flush("a"), (std::vector<float>{3, 4}));
  EXPECT_TRUE(kept.flush("a").empty());
  EXPECT_TRUE(kept.flush("unknown").empty());
  EXPECT_EQ(kept.norm(), 0);
  EXPECT_EQ(kept.find("unknown"), nullptr);
}

}  // namespace
}  // namespace unisono::encode
