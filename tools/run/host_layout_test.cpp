// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/host_layout.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

std::vector<std::pair<std::string, int>> pairs(const Result<std::vector<HostSlots>>& hosts) {
  std::vector<std::pair<std::string, int>> list;
  if (!hosts.ok()) return list;
  for (const HostSlots& host : hosts.value()) list.emplace_back(host.host, host.slots);
  return list;
}
using Pairs = std::vector<std::pair<std::string, int>>;

TEST(Hosts, AreListedWithTheirSlots) {
  EXPECT_EQ(pairs(parse_hosts("a:2,b:4")), (Pairs{{"a", 2}, {"b", 4}}));
  EXPECT_EQ(pairs(parse_hosts("a")), (Pairs{{"a", 1}}));
}

TEST(Hosts, WhatIsNoHostIsNamed) {
  for (const char* text : {"", "a:0", "a:-1", "a:x", "a:99999999999", ":3", "-oProxyCommand=x",
                           "a b", "a;rm", "$(id)", "a:2,,b"}) {
    const auto hosts = parse_hosts(text);
    ASSERT_FALSE(hosts.ok()) << text;
    EXPECT_EQ(hosts.status().code(), Code::invalid_argument);
    EXPECT_NE(hosts.status().message().find("host"), std::string::npos) << text;
  }
}

TEST(Hosts, AFileHasCommentsAndBothWaysToSaySlots) {
  EXPECT_EQ(pairs(parse_hostfile("# cluster\na slots=2\n\n  b:4  # fast\nc\n")),
            (Pairs{{"a", 2}, {"b", 4}, {"c", 1}}));
  EXPECT_FALSE(parse_hostfile("# nothing\n").ok());
}

TEST(Hosts, AWrongLineOfAFileIsNamedByItsNumber) {
  for (const char* text : {"a\nb c\n", "a\nb slots=\n", "a\nb slots=2 c\n", "a\nb slots=x\n"}) {
    const auto hosts = parse_hostfile(text);
    ASSERT_FALSE(hosts.ok()) << text;
    EXPECT_NE(hosts.status().message().find("line 2"), std::string::npos)
        << hosts.status().message();
  }
}

TEST(Hosts, AreFilledInTheirOrder) {
  const auto plans = place({{"a", 2}, {"b", 4}}, 3);
  ASSERT_TRUE(plans.ok());
  ASSERT_EQ(plans.value().size(), 2U);
  EXPECT_EQ(plans.value()[0].ranks.size(), 2U);
  EXPECT_EQ(plans.value()[1].ranks.size(), 1U);
  EXPECT_EQ(plans.value()[1].ranks[0].rank, 2);
  EXPECT_EQ(plans.value()[1].ranks[0].local_rank, 0);
  EXPECT_EQ(plans.value()[1].ranks[0].local_size, 1);
  EXPECT_EQ(place({{"a", 2}, {"b", 4}}, 0).value()[1].ranks.size(), 4U) << "0 means all slots";
}

TEST(Hosts, MoreRanksThanSlotsAreRefused) {
  const auto plans = place({{"a", 2}}, 3);
  ASSERT_FALSE(plans.ok());
  EXPECT_NE(plans.status().message().find("more than the 2 slots"), std::string::npos);
}

}  // namespace
}  // namespace unisono::tools
