// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "observe/counters.hpp"
#include "observe/straggler.hpp"
#include "observe/timeline.hpp"
#include "observe/timings.hpp"

namespace unisono::observe {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Straggler, NamesTheRankThatWaitsLeast) {
  const RankWait waits[] = {{100, milliseconds(20)},
                            {100, milliseconds(21)},
                            {100, milliseconds(2)},
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
  for (std::uint64_t i = 0; i < Timings::kKept + 10; ++i)
    timings.add(long_name, Collective::allreduce, i, 0, 0, {});
  const auto recent = timings.recent();
  ASSERT_EQ(recent.size(), Timings::kKept);
  EXPECT_EQ(recent.front().bytes, 10u);
  EXPECT_EQ(recent.back().bytes, Timings::kKept + 9);
  EXPECT_EQ(recent.back().name(), long_name) << "whole, however long";
}

TEST(Timings, KeepsMoreForWhoWritesThemDownAndForgetsNothingMeanwhile) {
  Timings timings;
  timings.add("before", Collective::allreduce, 1, 0, 0, {});
  std::uint64_t seen = 0;
  timings.keep_for_writer();
  for (std::uint64_t i = 0; i < 3 * Timings::kKept; ++i)
    timings.add("x", Collective::allreduce, i, 0, 0, {});
  const auto all = timings.since(seen);
  ASSERT_EQ(all.size(), 3 * Timings::kKept + 1);
  EXPECT_EQ(all.front().name(), "before");
  EXPECT_EQ(timings.recent().size(), Timings::kKept);
}

TEST(Timings, CutsLongNamesWhenThereAreTooMany) {
  Timings timings;
  const std::string tail(60, 'x');
  for (std::uint64_t i = 0; i <= Timings::kLongNamesMax; ++i)
    timings.add(std::to_string(i) + tail, Collective::allreduce, i, 0, 0, {});
  const auto recent = timings.recent();
  EXPECT_EQ(recent.back().name().size(), 47u);
  EXPECT_EQ(recent.front().name().size(), 60u + 5);
}

TEST(Counters, CountEveryBucketByItsSize) {
  Counters counters;
  for (const std::uint64_t bytes : {0, 4095, 4096, 1 << 16, 1 << 20, 1 << 24, 1 << 30})
    count_bucket(counters, bytes);
  EXPECT_EQ(Counters::get(counters.buckets), 7u);
  EXPECT_EQ(Counters::get(counters.buckets_below_4k), 2u);
  EXPECT_EQ(Counters::get(counters.buckets_below_64k), 1u);
  EXPECT_EQ(Counters::get(counters.buckets_below_1m), 1u);
  EXPECT_EQ(Counters::get(counters.buckets_below_16m), 1u);
  EXPECT_EQ(Counters::get(counters.buckets_from_16m), 2u);
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Timeline, IsWholeJsonFromTheBeginningAndNamesEveryStretch) {
  const std::string path =
      testing::TempDir() + "unisono_timeline_test." + std::to_string(::getpid()) + ".json";
  Timings timings;
  auto timeline = Timeline::open(path, 0, "here", timings, Timeline::Form::timeline_with_cycles);
  ASSERT_TRUE(timeline.ok());
  EXPECT_EQ(text_of(path).substr(0, 2), "[\n");
  EXPECT_EQ(text_of(path).substr(text_of(path).size() - 2), "]\n");
  const Stations at{{1000}, {2000}, {3000}, {4000}, {5000}, {6000}, {7000}};
  timings.add("layer \"one\"", Collective::allgather, 8, 0, 3, at);
  timings.add_round({1500});
  timeline->reset();
  const std::string text = text_of(path);
  for (const char* part : {"NEGOTIATE_ALLGATHER", "WAIT_FOR_OTHER_TENSOR_DATA", "PACK",
                           "WAIT_FOR_DATA", "MOVE", "UNPACK", "CYCLE_START", R"("layer \"one\"")",
                           "\"rank 0 (here)\"", R"("ts":1.000,"dur":1.000)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(text.find("]"), text.size() - 2);
  std::remove(path.c_str());
}

TEST(Timeline, RanksWriteBesideEachOther) {
  EXPECT_EQ(timeline_path("/tmp/run.json", 0), "/tmp/run.json");
  EXPECT_EQ(timeline_path("/tmp/run.json", 3), "/tmp/run.3.json");
  EXPECT_EQ(timeline_path("/tmp.d/run", 3), "/tmp.d/run.3");
}

TEST(Timeline, SaysWhyAFileCannotBeWritten) {
  Timings timings;
  const auto timeline = Timeline::open("/nowhere/at/all.json", 1, "here", timings,
                                       Timeline::Form::timeline);
  ASSERT_FALSE(timeline.ok());
  EXPECT_NE(timeline.status().message().find("/nowhere/at/all.1.json"), std::string::npos);
}

}  // namespace
}  // namespace unisono::observe
