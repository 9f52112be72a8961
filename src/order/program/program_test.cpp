// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What order=program promises under virtual time: no message while the members make the same calls,
// and a named failure on all of them, never a wrong sum, when not.
#include <gmock/gmock.h>

#include <functional>

#include "order/program/program_net.hpp"

namespace unisono::order {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Program, CallsRunWithoutAMessageFromTheFirstStepOn) {
  for (const int members : {2, 4}) {
    for (std::uint64_t seed = 0; seed < affordable_seeds(50); ++seed) {
      VirtualNet n("program", members, seed, patient());
      const auto step = calls_of_a_step();
      for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < members; ++i) {
          for (const auto& call : step) n.submit(i, call);
          n.shake(static_cast<int>(seed % 9));
        }
        n.settle();
      }
      expect_same(n, members);
      EXPECT_EQ(n.flat(0).size(), 5 * step.size());
      for (const Response& r : n.flat(0)) EXPECT_TRUE(r.planned && r.error.ok());
      EXPECT_EQ(n.messages_sent, 0u);
      EXPECT_TRUE(n.at(0).state().planned);
      for (int i = 0; i < members; ++i) EXPECT_EQ(n.at(i).waiting(), 0u);
    }
  }
}

TEST(Program, OneMemberHasNobodyToAsk) {
  VirtualNet n("program", 1);
  for (const auto& call : calls_of_a_step()) n.submit(0, call);
  n.settle();
  EXPECT_EQ(n.flat(0).size(), calls_of_a_step().size());
  for (const Response& r : n.flat(0)) EXPECT_TRUE(r.error.ok());
  EXPECT_EQ(n.messages_sent, 0u);
}

TEST(Program, NamesThatWereMadeUpNeedNotAgree) {
  VirtualNet n("program", 2);
  n.submit(0, tensor_request("allreduce.noname.7"));
  n.submit(1, tensor_request("allreduce.noname.9"));
  n.settle();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(n.flat(i).size(), 1u);
  EXPECT_EQ(n.flat(0)[0].tensors[0].name, "allreduce.noname.7");
  EXPECT_EQ(n.flat(1)[0].tensors[0].name, "allreduce.noname.9");
  EXPECT_EQ(n.messages_sent, 0u);
}

TEST(Program, WhatMayDifferIsNoMismatch) {
  VirtualNet n("program", 3);
  for (int i = 0; i < 3; ++i) {
    Request reduced = tensor_request("x");
    reduced.priority = i;
    n.submit(i, reduced);
    n.submit(i, of_kind("rows", Collective::allgather, {i, 2}));
    Request parts = of_kind("parts", Collective::alltoall, {3});
    parts.uneven = i == 1;
    n.submit(i, parts);
  }
  n.settle();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(n.flat(i).size(), 3u);
  EXPECT_TRUE(n.faults.empty());
  EXPECT_EQ(n.messages_sent, 0u);
}

struct Odd {
  const char* what;
  std::function<void(Request&)> change;
  const char* sentence;
  const char* odd_call;
};

TEST(Program, EveryMismatchFailsThatCallEverywhereNamingBothCalls) {
  using K = Collective;
  const std::vector<Odd> cases = {
      {"kind", [](Request& r) { r.kind = K::broadcast; },
       "Mismatched operations: One rank did an ALLREDUCE, but another rank did an BROADCAST.",
       "broadcast \"w\" of float32 [3, 4] from root 10"},
      {"dtype", [](Request& r) { r.dtype = DType::f64; },
       "Mismatched data types: One rank had type float32, but another rank had type float64.",
       "allreduce \"w\" of float64 [3, 4], sum"},
      {"shape", [](Request& r) { r.shape = {12}; }, "Mismatched ALLREDUCE tensor shapes:",
       "allreduce \"w\" of float32 [12], sum"},
      {"op", [](Request& r) { r.op = ReduceOp::max; },
       "Mismatched ALLREDUCE reduction operators:", "allreduce \"w\" of float32 [3, 4], max"},
      {"prescale", [](Request& r) { r.prescale = 0.5; },
       "Mismatched prescale and/or postscale factors: One rank sent factors (1, 1), but another "
       "rank sent factors (0.5, 1).",
       "rank"},
      {"order", [](Request& r) { r.name = "v"; }, "Mismatched names: One rank called \"w\"",
       "allreduce \"v\" of float32 [3, 4], sum"},
      {"group", [](Request& r) { r.group = "g", r.group_size = 1; }, "Mismatched groups:",
       "allreduce \"w\" of float32 [3, 4], sum"},
      {"set", [](Request& r) { r = kind_request("set", K::add_process_set), r.members = {10, 12}; },
       "Mismatched operations:", "add_process_set"},
  };
  for (const Odd& c : cases) {
    for (int odd = 0; odd < 3; ++odd) {
      SCOPED_TRACE(cat(c.what, ", member ", odd));
      VirtualNet n("program", 3, static_cast<std::uint64_t>(odd), patient());
      n.submit_all(tensor_request("before"));
      for (int i = 0; i < 3; ++i) {
        Request request = of_kind("w", K::allreduce, {3, 4});
        if (i == odd) c.change(request);
        n.submit(i, request);
      }
      n.submit_all(tensor_request("after"));
      const Time then = n.now();
      n.settle();
      EXPECT_EQ(n.now(), then) << "nobody waited";
      EXPECT_TRUE(n.faults.empty());
      for (int i = 0; i < 3; ++i) {
        const auto all = n.flat(i);
        ASSERT_EQ(all.size(), 3u);
        EXPECT_TRUE(all[0].error.ok() && all[2].error.ok());
        EXPECT_EQ(all[1].error.code(), Code::mismatch);
        EXPECT_EQ(all[1].tensors.size(), 1u);
        const std::string& message = all[1].error.message();
        EXPECT_THAT(message, StartsWith(odd == 0 ? "Mismatched" : c.sentence));
        EXPECT_THAT(message, HasSubstr("Call 1 of process set 0"));
        EXPECT_THAT(message, HasSubstr(c.odd_call));
        EXPECT_THAT(message, HasSubstr("allreduce \"w\" of float32 [3, 4], sum"));
        EXPECT_THAT(message, HasSubstr(cat("rank ", VirtualNet::rank(odd), ": ")));
        EXPECT_EQ(n.at(i).waiting(), 0u);
        EXPECT_EQ(n.at(i).deadline(), kNever);
      }
    }
  }
}

TEST(Program, ImpossibleCallsFailAsTheyDoElsewhere) {
  VirtualNet n("program", 2);
  Request broadcast = of_kind("b", Collective::broadcast);
  broadcast.root = 11;
  n.submit_all(broadcast);
  n.submit_all(of_kind("t", Collective::alltoall, {3}));
  n.settle();
  expect_same(n, 2);
  ASSERT_EQ(n.flat(0).size(), 2u);
  EXPECT_THAT(n.flat(0)[0].error.message(), StartsWith("Invalid BROADCAST root: rank 11"));
  EXPECT_THAT(n.flat(0)[1].error.message(), StartsWith("Invalid ALLTOALL rows"));
}

TEST(Program, DecisionsAreAgreedOnAtTheirPosition) {
  VirtualNet n("program", 3);
  Request set = kind_request("set", Collective::add_process_set);
  set.members = {10, 12};
  n.submit_all(tensor_request("a"));
  for (int i = 0; i < 3; ++i) {
    set.board_slots = static_cast<std::uint64_t>(i) + 1;
    n.submit(i, set);
  }
  n.submit_all(tensor_request("b"));
  // No one collective carries these, so the members agree on how they are cut.
  auto mixed = group_request("mixed", {"c", "d"});
  mixed[1].dtype = DType::f64;
  for (int i = 0; i < 3; ++i) n.submit(i, mixed);
  n.settle();
  expect_same(n, 3);
  const auto all = n.flat(2);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_TRUE(all[0].planned && !all[1].planned && all[2].planned && !all[3].planned);
  EXPECT_EQ(all[1].extents, (std::vector<std::vector<std::int64_t>>{{1, 2, 3}}));
  EXPECT_EQ(all[3].tensors[1].name, "d");
  EXPECT_EQ(all[3].tensors[1].group, "mixed");
}

TEST(Program, AJoinedMemberIsAbsentUntilAllHaveJoined) {
  VirtualNet n("program", 3);
  n.submit(1, kind_request("join", Collective::join));
  n.submit(1, tensor_request("later"));
  for (const int i : {0, 2}) {
    n.submit(i, tensor_request("x"));
    n.submit(i, of_kind("g", Collective::allgather));
    n.submit(i, tensor_request("y"));
    n.submit(i, kind_request("join", Collective::join));
    n.submit(i, tensor_request("later"));
  }
  n.settle();
  EXPECT_TRUE(n.faults.empty());
  const auto all = n.flat(1);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].absent, (std::vector<std::uint32_t>{1}));
  EXPECT_THAT(n.flat(0)[1].error.message(), HasSubstr("rank 12 has joined"));
  EXPECT_EQ(all[2].absent, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(all[3].tensors[0].kind, Collective::join);
  EXPECT_TRUE(all[4].planned && all[4].error.ok());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(n.at(i).waiting(), 0u);
}

TEST(Program, AnotherStrategyTakesOverAndGivesBack) {
  VirtualNet n("program", 3);
  n.submit_all(tensor_request("a"));
  n.submit_all(kind_request("unisono.order/cache", Collective::switch_order));
  for (const int i : {2, 0, 1}) {
    n.submit(i, tensor_request(i == 1 ? "b" : "c"));
    n.submit(i, tensor_request(i == 1 ? "c" : "b"));
  }
  n.settle();
  expect_same(n, 3);
  ASSERT_EQ(n.flat(0).size(), 4u);
  EXPECT_EQ(n.at(0).name(), "cache");
  n.submit_all(kind_request("unisono.order/program", Collective::switch_order));
  n.settle();
  EXPECT_EQ(n.at(2).name(), "program");
  const std::size_t said = n.messages_sent;
  for (const auto& call : calls_of_a_step()) {
    for (int i = 0; i < 3; ++i) n.submit(i, call);
  }
  n.settle();
  expect_same(n, 3);
  EXPECT_EQ(n.messages_sent, said);
}

// Long runs in which members differ now and then, come late, and make decisions.
TEST(Program, AnyMixtureEndsAlikeOnAllMembers) {
  for (std::uint64_t seed = 0; seed < affordable_seeds(300); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed);
    const int members = 2 + static_cast<int>(seed % 3);
    VirtualNet n("program", members, seed, patient());
    std::size_t calls = 0;
    for (int round = 0; round < 12; ++round) {
      const auto what = rng.below(6);
      const int odd = static_cast<int>(rng.below(static_cast<std::uint64_t>(members)));
      for (int i = 0; i < members; ++i) {
        Request request = of_kind(cat("t", round), Collective::allreduce);
        if (what == 1) request.kind = Collective::allgather;
        if (what == 2) request = kind_request(cat("p", round), Collective::prepare);
        if (what == 3 && i == odd) request.dtype = DType::f64;
        if (what == 4 && i == odd) request.name = "other";
        n.submit(i, request);
        n.shake(static_cast<int>(rng.below(6)));
      }
      ++calls;
      if (rng.below(4) == 0) n.settle();
      if (rng.below(4) == 0) n.advance(6s);
    }
    n.settle();
    EXPECT_TRUE(n.faults.empty());
    for (int i = 0; i < members; ++i) {
      ASSERT_EQ(n.flat(i).size(), calls) << "member " << i;
      EXPECT_EQ(n.at(i).waiting(), 0u);
      for (std::size_t k = 0; k < calls; ++k) {
        EXPECT_EQ(n.flat(i)[k].error.code(), n.flat(0)[k].error.code());
        EXPECT_EQ(n.flat(i)[k].planned, n.flat(0)[k].planned);
      }
    }
  }
}

}  // namespace
}  // namespace unisono::order
