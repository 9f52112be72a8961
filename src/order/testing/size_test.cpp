// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What is agreed in large sets stays small: a response carries at most one number per member, so
// that no message outgrows what a control lane takes.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/data/text.hpp"
#include "order/testing/virtual_net.hpp"

namespace unisono::order {
namespace {

constexpr std::size_t kMessageBytesMax = 16 << 20;

std::size_t longest_message(std::string_view strategy, int members, int exchanges) {
  VirtualNet n(strategy, members);
  n.keep_messages = true;
  for (int i = 0; i < members; ++i) {
    for (int e = 0; e < exchanges; ++e) {
      Request exchange = tensor_request(cat("exchange", e), {i + e, 2});
      exchange.kind = Collective::alltoall;
      exchange.uneven = true;
      n.submit(i, exchange);
    }
    Request gather = tensor_request("gather", {i, 3});
    gather.kind = Collective::allgather;
    n.submit(i, gather);
  }
  n.settle();
  for (const int i : {0, members / 2, members - 1}) {
    const auto responses = n.flat(i);
    EXPECT_EQ(responses.size(), static_cast<std::size_t>(exchanges) + 1);
    for (const Response& response : responses) {
      EXPECT_TRUE(response.error.ok()) << response.error.to_string();
      EXPECT_EQ(response.extents.at(0).size(), static_cast<std::size_t>(members));
    }
  }
  std::size_t longest = 0;
  for (const auto& message : n.kept) longest = std::max(longest, message.bytes.size());
  return longest;
}

TEST(OrderSize, AnAlltoallOfTwoThousandMembersFitsAMessage) {
  for (const char* strategy : {"coordinator", "tree", "cache"}) {
    EXPECT_LT(longest_message(strategy, 2048, 1), kMessageBytesMax / 16) << strategy;
  }
}

TEST(OrderSize, EightAlltoallsOfFiveHundredMembersInARoundFitAMessage) {
  for (const char* strategy : {"coordinator", "tree", "cache", "topo"}) {
    EXPECT_LT(longest_message(strategy, 512, 8), kMessageBytesMax / 16) << strategy;
  }
}

}  // namespace
}  // namespace unisono::order
