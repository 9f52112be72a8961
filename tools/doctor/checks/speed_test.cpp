// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/checks/speed.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

std::vector<Reached> tried(std::initializer_list<std::pair<const char*, const char*>> list) {
  std::vector<Reached> all;
  for (const auto& [address, trouble] : list) all.push_back({address, Fd(), trouble});
  return all;
}

TEST(DoctorSpeed, EveryOwnAddressShouldAnswer) {
  const Finding all = judge_own_addresses(tried({{"127.0.0.1:1", ""}, {"[fd00::2]:2", ""}}));
  EXPECT_EQ(all.mark, Mark::ok);
  EXPECT_EQ(all.found, "reached through 127.0.0.1, fd00::2");
  const Finding some =
      judge_own_addresses(tried({{"127.0.0.1:1", ""}, {"192.0.2.2:2", "no answer"}}));
  EXPECT_EQ(some.mark, Mark::warn);
  EXPECT_EQ(some.found, "reached through 127.0.0.1; 192.0.2.2: no answer");
}

TEST(DoctorSpeed, WithoutLoopbackNoJobRuns) {
  EXPECT_EQ(judge_own_addresses(tried({{"127.0.0.1:1", "no answer"}, {"192.0.2.2:2", ""}})).mark,
            Mark::fail);
  EXPECT_EQ(judge_own_addresses({}).mark, Mark::fail);
}

TEST(DoctorSpeed, LoopbackThatCrawlsIsAWarning) {
  EXPECT_EQ(judge_loopback(Traffic{2.5, 31.4}).found, "2.50 GB/s, round trip 31 us");
  EXPECT_EQ(judge_loopback(Traffic{2.5, 31.4}).mark, Mark::ok);
  EXPECT_EQ(judge_loopback(Traffic{0.01, 31.4}).mark, Mark::warn);
  EXPECT_EQ(judge_loopback(Status(Code::unavailable, "it broke")).mark, Mark::fail);
}

TEST(DoctorSpeed, CopiesThatCrawlAreAWarning) {
  EXPECT_EQ(judge_shared_copy(8).mark, Mark::ok);
  EXPECT_EQ(judge_shared_copy(0.1).mark, Mark::warn);
  EXPECT_EQ(judge_shared_copy(0).mark, Mark::warn);
}

TEST(DoctorSpeed, ThisMachineIsMeasured) {
  OwnSpeed speed;
  const auto findings = check_speed({"127.0.0.1"}, speed);
  EXPECT_GT(speed.loopback.gb_per_s, 0);
  EXPECT_GT(speed.copy_gb_per_s, 0);
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].mark, Mark::ok) << findings[0].found;
  EXPECT_NE(findings[1].mark, Mark::fail) << findings[1].found;
}

}  // namespace
}  // namespace unisono::tools
