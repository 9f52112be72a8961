// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/buffer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace unisono::tools {
namespace {

std::uintptr_t place_in_page(const Buffer& buffer, std::uintptr_t page) {
  return reinterpret_cast<std::uintptr_t>(buffer.span().data()) % page;
}

TEST(BenchBuffer, BeginsAPageAndHasTheSizeAskedFor) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{5000}}) {
    const Buffer buffer(bytes);
    EXPECT_EQ(buffer.span().size(), bytes);
    EXPECT_EQ(place_in_page(buffer, 4096), 0U);
  }
}

TEST(BenchBuffer, BeginsAHugePageWhenItIsLarge) {
  const std::size_t bytes = (4 << 20) + 1;
  const Buffer buffer(bytes);
  EXPECT_EQ(buffer.span().size(), bytes);
  EXPECT_EQ(place_in_page(buffer, 2 << 20), 0U);
}

TEST(BenchBuffer, AnAssignedBufferTakesTheMemoryOver) {
  Buffer from(100), to;
  EXPECT_TRUE(to.span().empty());
  const std::byte* memory = from.span().data();
  to = std::move(from);
  EXPECT_EQ(to.span().data(), memory);
  EXPECT_EQ(to.span().size(), 100U);
}

}  // namespace
}  // namespace unisono::tools
