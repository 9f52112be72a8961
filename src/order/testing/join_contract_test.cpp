// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every ordering strategy promises about members that joined, and barriers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order/testing/contract.hpp"

namespace unisono::order {
namespace {

using testing::HasSubstr;

class OrderJoinContract : public OrderContract {};

TEST_P(OrderJoinContract, JoinedMembersAreAbsentFromAllreduces) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max,
                            ReduceOp::product}) {
    VirtualNet n = net(4);
    Request request = tensor_request("x");
    request.op = op;
    n.submit(0, request);
    n.submit(1, kind_request("join", Collective::join));
    n.settle();
    n.submit(3, request);
    n.submit(2, request);
    n.settle();
    expect_same_logs(n);
    ASSERT_EQ(n.flat(1).size(), 1u);
    EXPECT_TRUE(n.flat(1)[0].error.ok());
    EXPECT_EQ(n.flat(1)[0].absent, (std::vector<std::uint32_t>{1}));
    EXPECT_EQ(n.at(1).waiting(), 1u);
  }
}

TEST_P(OrderJoinContract, JoinReleasesWhatWaitedForTheJoiner) {
  VirtualNet n = net(3);
  n.submit(0, tensor_request("x"));
  n.submit(1, tensor_request("x"));
  n.submit(0, group_request("g", {"a", "b"}));
  n.submit(1, group_request("g", {"a", "b"}));
  n.settle();
  EXPECT_TRUE(n.flat(0).empty());
  n.submit(2, kind_request("join", Collective::join));
  n.settle();
  expect_same_logs(n);
  ASSERT_EQ(n.flat(2).size(), 2u);
  for (const Response& r : n.flat(2)) EXPECT_EQ(r.absent, (std::vector<std::uint32_t>{2}));
}

TEST_P(OrderJoinContract, WhenAllJoinedEveryoneLearnsTheLastAndStartsAfresh) {
  VirtualNet n = net(3);
  n.submit(2, tensor_request("x"));
  for (const int i : {2, 0, 1}) {
    n.submit(i, kind_request("join", Collective::join));
    n.settle();
  }
  expect_same_logs(n);
  ASSERT_EQ(n.flat(0).size(), 2u);
  EXPECT_EQ(n.flat(0)[0].absent, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(n.flat(0)[1].tensors[0].kind, Collective::join);
  EXPECT_EQ(n.flat(0)[1].value, VirtualNet::rank(1));
  n.submit(0, tensor_request("y"));
  n.settle();
  EXPECT_EQ(n.flat(0).size(), 2u);
  n.submit(1, tensor_request("y"));
  n.submit(2, tensor_request("y"));
  n.settle();
  EXPECT_TRUE(n.flat(0).at(2).absent.empty());
}

TEST_P(OrderJoinContract, SubmissionsAfterJoinWaitForItsEnd) {
  VirtualNet n = net(2);
  n.submit(1, kind_request("join", Collective::join));
  n.submit(1, tensor_request("x"));
  n.submit(0, tensor_request("x"));
  n.settle();
  EXPECT_EQ(n.flat(0).at(0).absent, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(n.at(1).waiting(), 2u);
  n.submit(0, kind_request("join", Collective::join));
  n.submit(0, tensor_request("x"));
  n.settle();
  expect_same_logs(n);
  ASSERT_EQ(n.flat(0).size(), 3u);
  EXPECT_TRUE(n.flat(0)[2].absent.empty());
  EXPECT_EQ(n.at(1).waiting(), 0u);
}

TEST_P(OrderJoinContract, OtherCollectivesFailWhileAMemberHasJoined) {
  for (const Collective kind : {Collective::allgather, Collective::broadcast,
                                Collective::reducescatter, Collective::alltoall}) {
    VirtualNet n = net(3);
    Request request = kind_request("x", kind);
    request.shape = {3};
    request.root = 10;
    n.submit(0, request);
    n.submit(2, kind_request("join", Collective::join));
    n.submit(1, request);
    n.settle();
    expect_same_logs(n);
    ASSERT_EQ(n.flat(0).size(), 1u);
    EXPECT_EQ(n.flat(0)[0].error.code(), Code::mismatch);
    EXPECT_THAT(n.flat(0)[0].error.message(), HasSubstr("rank 14 has joined"));
    EXPECT_EQ(n.at(0).waiting(), 0u);
  }
}

TEST_P(OrderJoinContract, BarrierPassesPastPendingTensorsAndJoinedMembers) {
  VirtualNet n = net(3);
  n.submit(0, tensor_request("pending"));
  n.submit(2, kind_request("join", Collective::join));
  n.submit(0, kind_request("barrier.1", Collective::barrier));
  n.submit(1, kind_request("barrier.1", Collective::barrier));
  n.settle();
  expect_same_logs(n);
  ASSERT_EQ(n.flat(2).size(), 1u);
  EXPECT_EQ(n.flat(2)[0].tensors[0].kind, Collective::barrier);
  EXPECT_TRUE(n.flat(2)[0].error.ok());
}

INSTANTIATE_TEST_SUITE_P(All, OrderJoinContract, testing::ValuesIn(kOrderCases),
                         case_name);

}  // namespace
}  // namespace unisono::order
