// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/local/crew.hpp"

#include <gtest/gtest.h>

namespace unisono::move {
namespace {

TEST(Crew, CoversEveryByteOnceWhateverItsSize) {
  for (const int threads : {1, 2, 3, 5}) {
    Crew crew(threads);
    EXPECT_EQ(crew.size(), threads);
    for (const std::size_t bytes : {0ul, 1ul, 1000ul, 65536ul, 65537ul, 1000003ul}) {
      std::vector<std::uint8_t> touched(bytes + 7, 0);
      crew.share(7, bytes + 7, 128, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++touched[i];
      });
      for (std::size_t i = 0; i < 7; ++i) ASSERT_EQ(touched[i], 0);
      for (std::size_t i = 7; i < touched.size(); ++i) ASSERT_EQ(touched[i], 1) << i;
    }
  }
}

TEST(Crew, CutsAtMultiplesOfTheGrain) {
  Crew crew(4);
  std::atomic<int> crooked{0};
  crew.share(0, 1'000'000, 128,
             [&](std::size_t begin, std::size_t) { crooked += begin % 128 != 0; });
  EXPECT_EQ(crooked.load(), 0);
}

TEST(Crew, ManyTurnsFollowEachOther) {
  Crew crew(3);
  std::vector<std::uint32_t> sums(200'000, 0);
  for (int turn = 0; turn < 200; ++turn) {
    crew.share(0, sums.size(), 128, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++sums[i];
    });
  }
  for (const std::uint32_t sum : sums) ASSERT_EQ(sum, 200u);
}

}  // namespace
}  // namespace unisono::move
