// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every ordering strategy promises when members disagree: the tensor fails on all of them, and
// the message says what each rank sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "order/testing/contract.hpp"

namespace unisono::order {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class OrderMismatchContract : public OrderContract {};

struct MismatchCase {
  const char* what;
  Collective kind;
  std::function<void(Request&)> change;
  const char* sentence;
};

TEST_P(OrderMismatchContract, EveryMismatchFailsEverywhereListingWhatEachRankSent) {
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
      {"alltoall rows", K::alltoall, [](Request& r) { r.shape = {4, 4}; },
       "Invalid ALLTOALL rows:"},
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

TEST_P(OrderMismatchContract, WhatMayDifferBetweenMembersIsNoMismatch) {
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

TEST_P(OrderMismatchContract, BroadcastRootOutsideTheSetFails) {
  VirtualNet n = net(2);
  Request request = kind_request("b", Collective::broadcast);
  request.root = 11;
  n.submit_all(request);
  EXPECT_THAT(sole_mismatch(n), StartsWith("Invalid BROADCAST root: rank 11"));
}

TEST_P(OrderMismatchContract, MismatchInsideAGroupFailsTheWholeGroup) {
  VirtualNet n = net(2);
  auto group = group_request("g", {"a", "b"});
  n.submit(0, group);
  group[1].dtype = DType::i32;
  n.submit(1, group);
  EXPECT_THAT(sole_mismatch(n), StartsWith("Mismatched data types"));
  EXPECT_EQ(n.flat(0)[0].tensors.size(), 2u);
}

TEST_P(OrderMismatchContract, GroupsOfDifferentContentsFailEverywhere) {
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

INSTANTIATE_TEST_SUITE_P(All, OrderMismatchContract, testing::ValuesIn(kOrderCases),
                         case_name);

}  // namespace
}  // namespace unisono::order
