// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every ordering strategy promises while nothing breaks: one log on all members, nothing
// before the last member submitted, groups whole.
#include <gtest/gtest.h>

#include <map>

#include "order/testing/contract.hpp"

namespace unisono::order {
namespace {

TEST_P(OrderContract, RandomSubmissionsGiveOneLogWithOneSetOfRounds) {
  for (std::uint64_t seed = 0; seed < seeds(150); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed * 7919 + 1);
    const int members = 1 + static_cast<int>(rng.below(17));
    OrderSettings settings;
    settings.tree_radix = kRadices[rng.below(kRadices.size())];
    VirtualNet n = net(members, seed, settings);
    constexpr int kSteps = 6;
    const auto tensors = 1 + rng.below(20);
    for (int step = 0; step < kSteps; ++step) {
      std::vector<std::vector<std::vector<Request>>> todo(static_cast<std::size_t>(members));
      for (std::uint64_t t = 0; t < tensors; ++t) {
        std::vector<Request> parcel = {tensor_request(cat("t", t))};
        if (t % 5 == 4) {
          parcel = group_request(cat("g", t), {cat("a", t), cat("b", t), cat("c", t)});
        }
        for (Request& request : parcel) request.priority = static_cast<std::int32_t>(t % 3);
        for (auto& list : todo) list.push_back(parcel);
      }
      for (auto& list : todo) rng.shuffle(list);
      for (std::uint64_t left = tensors * static_cast<std::uint64_t>(members); left > 0;) {
        auto& list = todo[rng.below(todo.size())];
        if (list.empty()) continue;
        n.submit(static_cast<int>(&list - todo.data()), list.back());
        list.pop_back();
        --left;
        n.shake(static_cast<int>(rng.below(4)));
      }
      n.settle();
    }
    expect_same_logs(n);
    const auto all = n.flat(0);
    EXPECT_EQ(parcel_count(all), kSteps * tensors);
    for (const Response& r : all) EXPECT_TRUE(r.error.ok()) << r.error.to_string();
    EXPECT_EQ(n.planned > 0, plans());
    for (int i = 0; i < members; ++i) EXPECT_EQ(n.at(i).waiting(), 0u);
    for (const auto& round : n.rounds[0]) {
      for (std::size_t i = 1; i < round.size(); ++i) {
        EXPECT_GE(round[i - 1].tensors[0].priority, round[i].tensors[0].priority);
      }
    }
  }
}

TEST_P(OrderContract, OneMemberNeedsNoMessages) {
  if (paced()) GTEST_SKIP() << "a paced member has rounds for ever";
  VirtualNet n = net(1);
  n.submit_all(tensor_request("x"));
  EXPECT_LE(n.at(0).deadline(), n.now());
  n.settle();
  EXPECT_EQ(n.flat(0).size(), 1u);
  EXPECT_EQ(n.messages_sent, 0u);
  EXPECT_EQ(n.at(0).deadline(), kNever);
}

TEST_P(OrderContract, IdleMembersSendNothing) {
  if (paced()) GTEST_SKIP() << "a paced set has rounds also when there is nothing to say";
  VirtualNet n = net(4);
  n.settle();
  EXPECT_EQ(n.messages_sent, 0u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(n.at(i).deadline(), kNever);
}

TEST_P(OrderContract, NothingRunsUntilTheLastMemberSubmits) {
  VirtualNet n = net(3);
  n.submit(0, tensor_request("x"));
  n.submit(2, tensor_request("x"));
  n.settle();
  EXPECT_TRUE(n.flat(0).empty());
  EXPECT_EQ(n.at(0).waiting(), 1u);
  n.submit(1, tensor_request("x"));
  n.settle();
  expect_same_logs(n);
  EXPECT_EQ(n.flat(1).size(), 1u);
}

TEST_P(OrderContract, ANameCanBeUsedAgainOnceAnswered) {
  VirtualNet n = net(3);
  for (int step = 0; step < 5; ++step) {
    n.submit_all(tensor_request("x"));
    n.settle();
  }
  expect_same_logs(n);
  EXPECT_EQ(n.flat(2).size(), 5u);
}

TEST_P(OrderContract, RaggedCollectivesListTheExtentsOfEveryMember) {
  VirtualNet n = net(3);
  for (int i = 0; i < 3; ++i) {
    Request gather = tensor_request("gather", {i, 2});
    gather.kind = Collective::allgather;
    Request exchange = tensor_request("exchange", {3 + 3 * i});
    exchange.kind = Collective::alltoall;
    exchange.uneven = i == 2;
    n.submit(i, gather);
    n.submit(i, exchange);
  }
  n.settle();
  expect_same_logs(n);
  std::map<std::string, Response> by_name;
  for (const Response& r : n.flat(1)) by_name[r.tensors[0].name] = r;
  EXPECT_EQ(by_name["gather"].extents, (std::vector<std::vector<std::int64_t>>{{0, 1, 2}}));
  EXPECT_EQ(by_name["exchange"].extents,
            (std::vector<std::vector<std::int64_t>>{{3, 6, 9}}));
  EXPECT_TRUE(by_name["exchange"].tensors[0].uneven) << "one uneven member is enough";
}

TEST_P(OrderContract, GroupWaitsForItsLastTensorOnTheLastMember) {
  VirtualNet n = net(2);
  const auto group = group_request("g", {"a", "b", "c"});
  n.submit(0, group);
  n.submit(1, group[2]);
  n.submit(1, group[0]);
  n.settle();
  EXPECT_TRUE(n.flat(0).empty());
  n.submit(1, group[1]);
  n.settle();
  expect_same_logs(n);
  ASSERT_EQ(n.flat(1).size(), 1u);
  EXPECT_EQ(n.flat(1)[0].tensors.size(), 3u);
}

TEST_P(OrderContract, ProcessSetRequestsAreOrderedLikeTensors) {
  VirtualNet n = net(3);
  for (int i = 0; i < 3; ++i) {
    Request add = kind_request("add.1", Collective::add_process_set);
    add.members = {10, 14};
    n.submit(i, add);
    Request remove = kind_request("remove.2", Collective::remove_process_set);
    remove.members = {2};
    n.submit(i, remove);
  }
  n.settle();
  expect_same_logs(n);
  ASSERT_EQ(n.flat(0).size(), 2u);
  EXPECT_EQ(n.flat(0)[0].tensors[0].members, (std::vector<Rank>{10, 14}));
  EXPECT_EQ(n.flat(0)[0].value, -1);
}

INSTANTIATE_TEST_SUITE_P(All, OrderContract, testing::ValuesIn(kOrderCases), case_name);

TEST(Order, UnknownStrategyIsNull) {
  EXPECT_EQ(make_order("rumour", Members::of({0}, 0), {}), nullptr);
}

}  // namespace
}  // namespace unisono::order
