// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every ordering strategy promises while nothing breaks: one log on all members, mismatches
// named on all, groups whole, joins and barriers counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "order/virtual_net.hpp"

namespace unisono {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class OrderContract : public testing::TestWithParam<const char*> {
 protected:
  VirtualNet net(int members, std::uint64_t seed = 0, OrderSettings settings = {}) const {
    return VirtualNet(GetParam(), members, seed, settings);
  }
  static void expect_same_logs(VirtualNet& n) {
    EXPECT_TRUE(n.faults.empty()) << n.faults.front().to_string();
    for (int i = 1; i < n.size(); ++i) EXPECT_EQ(n.log(i), n.log(0)) << "member " << i;
    std::uint64_t sequence = 0;
    for (const Response& r : n.flat(0)) EXPECT_EQ(r.sequence, sequence++);
  }
  // One response on all members, failed with a mismatch; its text.
  static std::string sole_mismatch(VirtualNet& n) {
    n.settle();
    expect_same_logs(n);
    const auto all = n.flat(0);
    if (all.size() != 1) return cat("expected one response, got ", all.size());
    EXPECT_EQ(all[0].error.code(), Code::mismatch);
    for (int i = 0; i < n.size(); ++i) EXPECT_EQ(n.at(i).waiting(), 0u);
    return all[0].error.message();
  }
};

TEST_P(OrderContract, RandomSubmissionsGiveOneLogWithOneSetOfRounds) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed * 7919 + 1);
    const int members = 1 + static_cast<int>(rng.below(17));
    VirtualNet n = net(members, seed);
    const auto tensors = 1 + rng.below(30);
    for (int step = 0; step < 2; ++step) {
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
    EXPECT_EQ(all.size(), 2 * tensors);
    for (const Response& r : all) {
      EXPECT_TRUE(r.error.ok()) << r.error.to_string();
      EXPECT_EQ(r.tensors.size(), r.tensors[0].group.empty() ? 1u : 3u);
    }
    for (int i = 0; i < members; ++i) EXPECT_EQ(n.at(i).waiting(), 0u);
    for (const auto& round : n.rounds[0]) {
      for (std::size_t i = 1; i < round.size(); ++i) {
        EXPECT_GE(round[i - 1].tensors[0].priority, round[i].tensors[0].priority);
      }
    }
  }
}

TEST_P(OrderContract, OneMemberNeedsNoMessages) {
  VirtualNet n = net(1);
  n.submit_all(tensor_request("x"));
  EXPECT_LE(n.at(0).deadline(), n.now());
  n.settle();
  EXPECT_EQ(n.flat(0).size(), 1u);
  EXPECT_EQ(n.messages_sent, 0u);
  EXPECT_EQ(n.at(0).deadline(), kNever);
}

TEST_P(OrderContract, IdleMembersSendNothing) {
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
    Request exchange = tensor_request("exchange", {3 + i});
    exchange.kind = Collective::alltoall;
    exchange.splits = {1, 2, i};
    n.submit(i, gather);
    n.submit(i, exchange);
  }
  n.settle();
  expect_same_logs(n);
  std::map<std::string, Response> by_name;
  for (const Response& r : n.flat(1)) by_name[r.tensors[0].name] = r;
  EXPECT_EQ(by_name["gather"].extents, (std::vector<std::vector<std::int64_t>>{{0, 1, 2}}));
  EXPECT_EQ(by_name["exchange"].extents,
            (std::vector<std::vector<std::int64_t>>{{1, 2, 0, 1, 2, 1, 1, 2, 2}}));
}

struct MismatchCase {
  const char* what;
  Collective kind;
  std::function<void(Request&)> change;
  const char* sentence;
};

TEST_P(OrderContract, EveryMismatchFailsEverywhereListingWhatEachRankSent) {
  using K = Collective;
  const std::vector<MismatchCase> cases = {
      {"dtype", K::allreduce, [](Request& r) { r.dtype = DType::f64; },
       "Mismatched data types: One rank had type float32, but another rank had type float64."},
      {"kind", K::allreduce, [](Request& r) { r.kind = K::allgather; },
       "Mismatched operations: One rank did an ALLREDUCE, but another rank did an ALLGATHER."},
      {"shape", K::allreduce, [](Request& r) { r.shape = {3, 5}; },
       "Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of shape [3, 4], but another "
       "rank sent a tensor of shape [3, 5]."},
      {"broadcast shape", K::broadcast, [](Request& r) { r.shape = {4, 3}; },
       "Mismatched BROADCAST tensor shapes: One rank sent a tensor of shape [3, 4], but another "
       "rank sent a tensor of shape [4, 3]."},
      {"reducescatter shape", K::reducescatter, [](Request& r) { r.shape = {2, 4}; },
       "Mismatched REDUCESCATTER tensor shapes: One rank sent"},
      {"allgather columns", K::allgather, [](Request& r) { r.shape = {3, 5}; },
       "Mismatched ALLGATHER tensor shapes: One rank sent"},
      {"allgather dimensions", K::allgather, [](Request& r) { r.shape = {3}; },
       "Mismatched ALLGATHER tensor shapes: One rank sent"},
      {"alltoall columns", K::alltoall, [](Request& r) { r.shape = {3, 5}; },
       "Mismatched ALLTOALL tensor shapes: One rank sent"},
      {"splits too few", K::alltoall, [](Request& r) { r.splits = {1, 2}; },
       "Invalid ALLTOALL splits:"},
      {"splits negative", K::alltoall, [](Request& r) { r.splits = {4, -1, 0}; },
       "Invalid ALLTOALL splits:"},
      {"splits sum", K::alltoall, [](Request& r) { r.splits = {1, 1, 2}; },
       "Invalid ALLTOALL splits:"},
      {"op", K::allreduce, [](Request& r) { r.op = ReduceOp::average; },
       "Mismatched ALLREDUCE reduction operators: One rank asked for sum, but another rank asked "
       "for average."},
      {"prescale", K::allreduce, [](Request& r) { r.prescale = 0.5; },
       "Mismatched prescale and/or postscale factors: One rank sent factors (1, 1), but another "
       "rank sent factors (0.5, 1)."},
      {"postscale", K::reducescatter, [](Request& r) { r.postscale = 1 + 1e-15; },
       "Mismatched prescale and/or postscale factors: One rank sent factors (1, 1), but another"},
      {"root", K::broadcast, [](Request& r) { r.root = 12; },
       "Mismatched BROADCAST root ranks: One rank specified root rank 10, but another rank "
       "specified root rank 12."},
      {"device", K::allreduce, [](Request& r) { r.device = 1; },
       "Mismatched ALLREDUCE CPU/GPU device selection: One rank specified device CPU, but another "
       "rank specified device GPU."},
      {"codec", K::allreduce, [](Request& r) { r.codec = "fp16"; },
       "Mismatched codecs: One rank specified codec none, but another rank specified codec fp16."},
      {"group", K::allreduce, [](Request& r) { r.group = "g", r.group_size = 1; },
       "Mismatched groups: One rank sent"},
      {"process set", K::add_process_set, [](Request& r) { r.members = {10, 14}; },
       "Mismatched ADD_PROCESS_SET process sets: One rank specified [10, 12], but another rank "
       "specified [10, 14]."},
  };
  for (const MismatchCase& c : cases) {
    for (int odd = 1; odd < 3; ++odd) {
      SCOPED_TRACE(cat(c.what, ", member ", odd));
      VirtualNet n = net(3, static_cast<std::uint64_t>(odd));
      for (int i = 0; i < 3; ++i) {
        Request request = tensor_request("w", {3, 4});
        request.kind = c.kind;
        request.root = 10;
        if (c.kind == K::alltoall) request.splits = {1, 1, 1};
        if (c.kind == K::add_process_set) request.members = {10, 12};
        if (i == odd) c.change(request);
        n.submit(i, request);
      }
      const std::string message = sole_mismatch(n);
      EXPECT_THAT(message, StartsWith(c.sentence));
      EXPECT_THAT(message, HasSubstr(odd == 1 ? "ranks 10, 14: " : "ranks 10, 12: "));
      EXPECT_THAT(message, HasSubstr(odd == 1 ? "rank 12: " : "rank 14: "));
      n.submit_all(tensor_request("w"));
      n.settle();
      EXPECT_TRUE(n.flat(0).back().error.ok());
    }
  }
}

TEST_P(OrderContract, WhatMayDifferBetweenMembersIsNoMismatch) {
  VirtualNet n = net(3);
  for (int i = 0; i < 3; ++i) {
    Request request = tensor_request("x");
    request.priority = i;
    n.submit(i, request);
  }
  n.settle();
  expect_same_logs(n);
  EXPECT_TRUE(n.flat(0).at(0).error.ok());
}

TEST_P(OrderContract, BroadcastRootOutsideTheSetFails) {
  VirtualNet n = net(2);
  Request request = kind_request("b", Collective::broadcast);
  request.root = 11;
  n.submit_all(request);
  EXPECT_THAT(sole_mismatch(n), StartsWith("Invalid BROADCAST root: rank 11"));
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

TEST_P(OrderContract, MismatchInsideAGroupFailsTheWholeGroup) {
  VirtualNet n = net(2);
  auto group = group_request("g", {"a", "b"});
  n.submit(0, group);
  group[1].dtype = DType::i32;
  n.submit(1, group);
  EXPECT_THAT(sole_mismatch(n), StartsWith("Mismatched data types"));
  EXPECT_EQ(n.flat(0)[0].tensors.size(), 2u);
}

TEST_P(OrderContract, GroupsOfDifferentContentsFailEverywhere) {
  using Groups = std::vector<std::pair<std::string, std::vector<std::string>>>;
  const std::vector<std::pair<Groups, Groups>> cases = {
      {{{"g", {"a", "b"}}}, {{"g", {"a", "c"}}}},
      {{{"g", {"a", "b"}}}, {{"g", {"a", "b", "c"}}}},
      {{{"g", {"a", "b"}}}, {{"g", {"c", "d"}}}},
      {{{"g", {"a", "b"}}}, {{"h", {"a", "b"}}}},
      {{{"g", {"a", "b"}}}, {{"h", {"b", "c"}}}},
      {{{"g", {"a", "b"}}}, {{"", {"a"}}}},
      {{{"g", {"a", "b"}}}, {{"", {"a"}}, {"", {"b"}}}},
      {{{"g", {"a", "b"}}, {"h", {"c", "d"}}}, {{"g", {"a", "c"}}, {"h", {"b", "d"}}}},
  };
  for (std::size_t c = 0; c < cases.size(); ++c) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(cat("case ", c, ", seed ", seed));
      VirtualNet n = net(3, seed);
      for (int i = 0; i < 3; ++i) {
        const bool odd = i == static_cast<int>(seed % 3);
        for (const auto& [name, tensors] : odd ? cases[c].second : cases[c].first) {
          n.submit(i, group_request(name, tensors));
        }
      }
      n.settle();
      EXPECT_TRUE(n.faults.empty());
      const auto all = n.flat(0);
      ASSERT_FALSE(all.empty());
      for (const Response& r : all) {
        EXPECT_EQ(r.error.code(), Code::mismatch);
        EXPECT_THAT(r.error.message(), StartsWith("Mismatched groups: One rank sent "));
        EXPECT_THAT(r.error.message(), HasSubstr("12"));
      }
      for (int i = 0; i < 3; ++i) EXPECT_EQ(n.at(i).waiting(), 0u) << "member " << i;
    }
  }
}

TEST_P(OrderContract, JoinedMembersAreAbsentFromAllreduces) {
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

TEST_P(OrderContract, JoinReleasesWhatWaitedForTheJoiner) {
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

TEST_P(OrderContract, WhenAllJoinedEveryoneLearnsTheLastAndStartsAfresh) {
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

TEST_P(OrderContract, SubmissionsAfterJoinWaitForItsEnd) {
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

TEST_P(OrderContract, OtherCollectivesFailWhileAMemberHasJoined) {
  for (const Collective kind : {Collective::allgather, Collective::broadcast,
                                Collective::reducescatter, Collective::alltoall}) {
    VirtualNet n = net(3);
    Request request = kind_request("x", kind);
    request.shape = {3};
    request.splits = {1, 1, 1};
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

TEST_P(OrderContract, BarrierPassesPastPendingTensorsAndJoinedMembers) {
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

TEST_P(OrderContract, ProcessSetRequestsAreOrderedLikeTensors) {
  VirtualNet n = net(3);
  for (int i = 0; i < 3; ++i) {
    Request add = kind_request("add.1", Collective::add_process_set);
    add.members = {10, 14};
    n.submit(i, add);
    n.submit(i, kind_request("remove.2", Collective::remove_process_set));
  }
  n.settle();
  expect_same_logs(n);
  ASSERT_EQ(n.flat(0).size(), 2u);
  EXPECT_EQ(n.flat(0)[0].tensors[0].members, (std::vector<Rank>{10, 14}));
  EXPECT_EQ(n.flat(0)[0].value, -1);
}

INSTANTIATE_TEST_SUITE_P(All, OrderContract, testing::ValuesIn(kOrderStrategies),
                         [](const auto& param) { return std::string(param.param); });

TEST(Order, UnknownStrategyIsNull) {
  EXPECT_EQ(make_order("rumour", Members::of({0}, 0), {}), nullptr);
}

}  // namespace
}  // namespace unisono
