// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/hosts/compare.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

constexpr std::int64_t kMs = 1'000'000;

std::vector<Reached> addresses_tried(
    std::initializer_list<std::pair<const char*, const char*>> list) {
  std::vector<Reached> all;
  for (const auto& [address, trouble] : list) all.push_back({address, Fd(), trouble});
  return all;
}

TEST(DoctorSkew, IsBoundedByTheShortestRoundTrip) {
  const auto skew = skew_of({{0, 300 * kMs, 100 * kMs}, {1000 * kMs, 1252 * kMs, 1004 * kMs}});
  ASSERT_TRUE(skew.has_value());
  EXPECT_NEAR(skew->ahead_s, 0.250, 1e-9);
  EXPECT_NEAR(skew->bound_s, 0.002, 1e-9);
  EXPECT_FALSE(skew_of({}));
  EXPECT_FALSE(skew_of({{10, 10, 5}})) << "the clock was set back meanwhile";
}

TEST(DoctorSkew, WhatARoundTripCanHideIsNoSkew) {
  EXPECT_EQ(judge_skew("n", {0.001, 0.002}).found, "as here, within 2.0 ms");
  EXPECT_EQ(judge_skew("n", {0.5, 0.6}).mark, Mark::ok);
  EXPECT_EQ(judge_skew("n", {-0.02, 0.0005}).found, "20.0 ms behind, within 500 us");
  const Finding far = judge_skew("n", {3, 0.001});
  EXPECT_EQ(far.mark, Mark::warn);
  EXPECT_EQ(far.host, "n");
  EXPECT_NE(far.found.find("3.0 s ahead"), std::string::npos);
}

TEST(DoctorVersions, NumbersAreComparedAsNumbers) {
  EXPECT_LT(compare_versions("1.9", "1.10"), 0);
  EXPECT_GT(compare_versions("2.0.1", "2.0"), 0);
  EXPECT_EQ(compare_versions("2.6.0+cpu", "2.6.0+cpu"), 0);
  EXPECT_EQ(compare_versions("1.09", "1.9"), 0);
  EXPECT_LT(compare_versions("", "0"), 0);
  EXPECT_LT(compare_versions("99999999999999999998", "99999999999999999999"), 0);
}

TEST(DoctorVersions, OnlyWhatDiffersIsListed) {
  const HostVersions hosts{{"here", {{"unisono", "0.1.0"}, {"torch", "2.6.0"}, {"ucx", "1.1"}}},
                           {"node1", {{"unisono", "0.1.0"}, {"torch", "2.10.0"}}}};
  EXPECT_EQ(version_table(hosts),
            (TextTable{{"", "here", "node1"}, {"torch", "2.6.0", "2.10.0"}, {"ucx", "1.1", "-"}}));
  const auto rows = judge_versions(hosts);
  ASSERT_EQ(rows.size(), 1U) << "a missing UCX is nobody's problem";
  EXPECT_EQ(rows[0].mark, Mark::warn);
  EXPECT_EQ(rows[0].found, "here has 2.6.0, node1 has 2.10.0");
  EXPECT_EQ(rows[0].mend, "install torch 2.10.0 on here");
}

TEST(DoctorVersions, AnotherUnisonoFails) {
  const auto rows =
      judge_versions({{"here", {{"unisono", "0.2.0"}}}, {"node1", {{"unisono", "0.1.0"}}}});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].mark, Mark::fail);
  EXPECT_EQ(rows[0].mend, "install unisono 0.2.0 on node1");
}

TEST(DoctorVersions, EqualHostsHaveNoTable) {
  EXPECT_TRUE(version_table({{"here", {{"a", "1"}}}, {"node1", {{"a", "1"}}}}).empty());
  EXPECT_TRUE(judge_versions({}).empty());
  EXPECT_TRUE(version_table({}).empty());
}

TEST(DoctorWay, TheFirstAddressIsTheOneThatCounts) {
  const Finding all = judge_way("n", addresses_tried({{"192.0.2.3:9", ""}, {"[fd00::3]:9", ""}}));
  EXPECT_EQ(all.mark, Mark::ok);
  EXPECT_EQ(all.found, "at 192.0.2.3:9, [fd00::3]:9");
  EXPECT_EQ(
      judge_way("n", addresses_tried({{"192.0.2.3:9", ""}, {"172.17.0.1:9", "no answer"}})).mark,
      Mark::ok)
      << "a bridge of containers leads nowhere from other hosts";
  const Finding second =
      judge_way("n", addresses_tried({{"192.0.2.3:9", "no answer"}, {"198.51.100.3:9", ""}}));
  EXPECT_EQ(second.mark, Mark::warn);
  EXPECT_NE(second.mend.find("name the host by 198.51.100.3"), std::string::npos) << second.mend;
}

TEST(DoctorWay, AHostWithoutAWayFails) {
  const Finding none = judge_way("n", addresses_tried({{"192.0.2.3:9", "no answer"}}));
  EXPECT_EQ(none.mark, Mark::fail);
  EXPECT_NE(none.found.find("192.0.2.3:9: no answer"), std::string::npos);
  EXPECT_EQ(judge_way("n", {}).mark, Mark::fail);
}

TEST(DoctorWay, ASlowWayIsAWarning) {
  EXPECT_EQ(judge_way_speed("n", Traffic{1.1, 80}).found, "1.10 GB/s, round trip 80 us");
  EXPECT_EQ(judge_way_speed("n", Traffic{0.01, 80}).mark, Mark::warn);
  EXPECT_EQ(judge_way_speed("n", Status(Code::unavailable, "it broke")).mark, Mark::fail);
}

}  // namespace
}  // namespace unisono::tools
