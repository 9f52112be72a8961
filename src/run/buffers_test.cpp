// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/buffers.hpp"

#include <gtest/gtest.h>

namespace unisono::run {
namespace {

TEST(BufferPool, WhatIsReservedIsTakenFirstAndKeptForGood) {
  BufferPool pool;
  ASSERT_TRUE(pool.reserve(2, 1 << 20));
  EXPECT_GE(pool.reserved_bytes(), 2u << 20);
  for (int round = 0; round < 20; ++round) {
    BufferPool::Buffer a = pool.take(100), b = pool.take(1 << 20);
    EXPECT_TRUE(a.reserved && b.reserved);
    pool.give_back(std::move(a));
    pool.give_back(std::move(b));
  }
  EXPECT_EQ(pool.allocations(), 0u);
}

TEST(BufferPool, WhatDoesNotFitIsAllocatedAndCounted) {
  BufferPool pool;
  ASSERT_TRUE(pool.reserve(1, 4096));
  for (int round = 0; round < 20; ++round) {
    std::vector<BufferPool::Buffer> taken;
    for (int i = 0; i < 3; ++i) taken.push_back(pool.take(1 << 16));
    taken.push_back(pool.take(64));
    EXPECT_TRUE(taken.back().reserved) << "in round " << round;
    for (BufferPool::Buffer& buffer : taken) pool.give_back(std::move(buffer));
  }
  EXPECT_EQ(pool.allocations(), 3u);
}

}  // namespace
}  // namespace unisono::run
