// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "observe/straggler.hpp"
#include "observe/timings.hpp"

namespace unisono {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Straggler, NamesTheRankThatWaitsLeast) {
  const RankWait waits[] = {{100, milliseconds(20)}, {100, milliseconds(21)}, {100, milliseconds(2)},
                            {100, milliseconds(19)}};
  const SlowRank slow = find_slow_rank(waits);
  EXPECT_EQ(slow.rank, 2);
  EXPECT_EQ(slow.late, Nanos(milliseconds(18)));
  EXPECT_EQ(verdict_sentence(slow, "rank 2 (host a, pid 7)"),
            "the others wait for rank 2 (host a, pid 7): its tensors come 18.0 ms after the median "
            "rank's (mean of the last 100)");
}

TEST(Straggler, TwoRanksAreEnough) {
  const RankWait waits[] = {{5, milliseconds(1)}, {5, milliseconds(9)}};
  EXPECT_EQ(find_slow_rank(waits).rank, 0);
}

TEST(Straggler, NoiseIdleRanksAndASingleRankNameNobody) {
  const RankWait close[] = {{9, microseconds(800)}, {9, microseconds(900)}, {9, microseconds(700)}};
  EXPECT_EQ(find_slow_rank(close).rank, -1);
  const RankWait long_waits[] = {{9, milliseconds(100)}, {9, milliseconds(104)}};
  EXPECT_EQ(find_slow_rank(long_waits).rank, -1) << "4 ms of 100 are noise";
  const RankWait alone[] = {{0, Nanos(0)}, {9, milliseconds(50)}};
  EXPECT_EQ(find_slow_rank(alone), SlowRank{});
}

TEST(Timings, KeepsTheLastOnesOldestFirst) {
  Timings timings;
  EXPECT_TRUE(timings.recent().empty());
  const std::string long_name(100, 'x');
  for (std::uint64_t i = 0; i < Timings::kKept + 10; ++i) timings.add(long_name, i, 0, {});
  const auto recent = timings.recent();
  ASSERT_EQ(recent.size(), Timings::kKept);
  EXPECT_EQ(recent.front().bytes, 10u);
  EXPECT_EQ(recent.back().bytes, Timings::kKept + 9);
  EXPECT_EQ(std::string(recent.back().name.data()), std::string(47, 'x'));
}

}  // namespace
}  // namespace unisono
