// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/peers/straggler_report.hpp"

#include <gtest/gtest.h>

namespace unisono::engine {
namespace {

constexpr observe::RankWait kPatient{100, std::chrono::milliseconds(50)};
constexpr observe::RankWait kAwaited{100, std::chrono::microseconds(10)};

TEST(StragglerReport, TheOneThatWaitsLeastIsNamed) {
  StragglerReport report(4);
  for (const Rank rank : {1, 3}) report.heard(rank, kPatient);
  report.heard(2, kAwaited);
  const auto verdict = report.judge(kPatient);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(verdict->rank, 2);
}

TEST(StragglerReport, NothingIsToldWhileNothingMoves) {
  StragglerReport report(2);
  report.heard(1, kPatient);
  EXPECT_FALSE(report.judge({}).has_value());
}

TEST(StragglerReport, AReportThatJustMissedABeatCountsAtTheNext) {
  StragglerReport report(3);
  report.heard(1, kAwaited);
  report.heard(2, kPatient);
  ASSERT_TRUE(report.judge(kPatient).has_value());
  report.heard(2, kPatient);                // rank 1 beats a moment too late
  const auto verdict = report.judge(kPatient);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(verdict->rank, 1);
  // Two beats without a word are silence: nobody is judged by old news.
  report.heard(2, kPatient);
  EXPECT_EQ(report.judge(kPatient)->rank, -1);
}

TEST(StragglerReport, TheSameVerdictAgainIsNoNews) {
  StragglerReport report(2);
  EXPECT_TRUE(report.is_news({.rank = 1}));
  EXPECT_FALSE(report.is_news({.rank = 1}));
  EXPECT_TRUE(report.is_news({.rank = -1}));
  EXPECT_FALSE(StragglerReport(2).is_news({.rank = -1})) << "nobody stood out before either";
}

}  // namespace
}  // namespace unisono::engine
