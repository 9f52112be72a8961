// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What every ordering strategy promises when something breaks: stalls named and ended, members
// that leave, messages that no member would send.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order/testing/contract.hpp"

namespace unisono::order {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class OrderFaultContract : public OrderContract {
 protected:
  // All messages of a run with every kind of content in it.
  static std::vector<VirtualNet::Kept> sample_messages() {
    VirtualNet n = net(3);
    n.keep_messages = true;
    for (int i = 0; i < 3; ++i) {
      n.submit(i, tensor_request("x", {i}));
      n.submit(i, group_request("g", {"a", "b"}));
      Request gather = tensor_request("gather", {i, 2});
      gather.kind = Collective::allgather;
      n.submit(i, gather);
      n.submit(i, kind_request("join", Collective::join));
    }
    n.settle();
    return n.kept;
  }
};

const OrderSettings kPatience{.set = 0, .stall_warning = 10s, .stall_limit = 100s};

TEST_P(OrderFaultContract, StallIsReportedThenAtDoublingTimes) {
  VirtualNet n = net(3, 0, kPatience);
  n.submit(1, tensor_request("early"));
  n.submit(0, tensor_request("x"));
  n.submit(1, tensor_request("x"));
  n.settle();
  const Time start = n.now();
  if (!paced()) {
    EXPECT_EQ(n.at(0).deadline(), start + 10s);
  }
  std::vector<std::int64_t> at;
  for (int second = 1; second < 95; ++second) {
    n.advance(1s);
    n.settle();
    for (const Stall& stall : n.stalls) {
      if (stall.name == "x") at.push_back((n.now() - start) / 1s);
    }
    if (second == 10) {
      ASSERT_EQ(n.stalls.size(), 2u);
      const Stall& stall = n.stalls[0].name == "x" ? n.stalls[0] : n.stalls[1];
      EXPECT_EQ(stall.submitted, (std::vector<Rank>{10, 12}));
      EXPECT_EQ(stall.missing, (std::vector<Rank>{14}));
      EXPECT_THAT(stall.sentence, HasSubstr("\"x\" has waited 10 s"));
      EXPECT_THAT(stall.sentence, HasSubstr("ranks 10, 12 submitted it"));
      EXPECT_THAT(stall.sentence, HasSubstr("rank 14 has not (it has submitted nothing yet)"));
    }
    n.stalls.clear();
  }
  EXPECT_EQ(at, (std::vector<std::int64_t>{10, 30, 70}));
}

TEST_P(OrderFaultContract, StallNamesTheLastDeedOfTheMissingRank) {
  VirtualNet n = net(2, 0, kPatience);
  n.submit(1, tensor_request("other"));
  n.settle();
  n.advance(4s);
  n.submit(0, tensor_request("allreduce.noname.7"));
  n.settle();
  n.advance(10s);
  n.settle();
  ASSERT_EQ(n.stalls.size(), 2u);
  EXPECT_THAT(n.stalls[1].sentence, HasSubstr("last it submitted \"other\" 14 s ago"));
  EXPECT_THAT(n.stalls[1].sentence, HasSubstr("unequal call counts never meet"));
  EXPECT_THAT(n.stalls[0].sentence, testing::Not(HasSubstr("unequal")));
}

TEST_P(OrderFaultContract, StallLimitFailsTheTensorOnEveryMember) {
  VirtualNet n = net(3, 0, kPatience);
  n.submit(0, group_request("g", {"a", "b"}));
  n.submit(2, group_request("g", {"a", "b"}));
  n.settle();
  n.advance(100s);
  n.settle();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(n.log(i), n.log(0));
    ASSERT_EQ(n.flat(i).size(), 1u);
    EXPECT_EQ(n.flat(i)[0].error.code(), Code::stalled);
    EXPECT_EQ(n.flat(i)[0].error.culprit().rank, 12);
    EXPECT_THAT(n.flat(i)[0].error.message(), HasSubstr("rank 12 has not"));
    EXPECT_EQ(n.at(i).waiting(), 0u);
    if (!paced()) {
      EXPECT_EQ(n.at(i).deadline(), kNever);
    }
  }
}

TEST_P(OrderFaultContract, RequestOnItsWayWhenItsNameFailsIsNotLost) {
  if (paced()) GTEST_SKIP() << "a round brings all requests before anything is decided";
  VirtualNet n = net(2, 0, kPatience);
  n.submit(0, tensor_request("x"));
  n.settle();
  n.advance(100s);
  n.submit(1, tensor_request("x"));
  n.negotiate(0);
  n.negotiate(1);
  n.settle();
  EXPECT_EQ(n.flat(0).at(0).error.code(), Code::stalled);
  EXPECT_TRUE(n.flat(1).at(0).tensors.empty()) << "the failure is older than member 1's request";
  EXPECT_EQ(n.at(1).waiting(), 1u);
  n.submit(0, tensor_request("x"));
  n.settle();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(n.flat(i).at(1).error.ok());
    EXPECT_EQ(n.at(i).waiting(), 0u);
  }
}

// Whatever decides by responses decides alike on all members, so all learn what failed.
TEST_P(OrderFaultContract, AFailureNamesTheSameOnMembersThatAskedAnew) {
  if (paced()) GTEST_SKIP() << "a round brings all requests before anything is decided";
  VirtualNet n = net(2, 0, kPatience);
  n.submit(0, group_request("g", {"a", "b"}));
  n.settle();
  n.advance(100s);
  n.submit(1, group_request("g", {"a", "b"}));
  n.negotiate(0);
  n.negotiate(1);
  n.settle();
  for (int i = 0; i < 2; ++i) {
    const Response failed = n.flat(i).at(0);
    EXPECT_EQ(failed.error.culprit().tensor, "g");
    std::vector<std::string> names = failed.spared;
    for (const Request& tensor : failed.tensors) names.push_back(tensor.name);
    EXPECT_THAT(names, testing::UnorderedElementsAre("a", "b")) << "member " << i;
    EXPECT_EQ(failed.spared.size(), i == 0 ? 0u : 2u);
  }
}

TEST_P(OrderFaultContract, NoReportsWhenSwitchedOff) {
  VirtualNet n = net(2);
  n.submit(0, tensor_request("x"));
  n.settle();
  if (!paced()) {
    EXPECT_EQ(n.at(0).deadline(), kNever);
  }
  n.advance(100000s);
  n.settle();
  EXPECT_TRUE(n.stalls.empty());
}

TEST_P(OrderFaultContract, LeavingWorkerFailsWhatNeedsItNowAndLater) {
  for (std::uint64_t seed = 0; seed < seeds(50); ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    VirtualNet n = net(4, seed);
    n.submit(0, tensor_request("x"));
    n.submit(1, tensor_request("x"));
    n.submit(1, kind_request("join", Collective::join));
    n.shake(static_cast<int>(seed % 10));
    n.leave(2);
    n.settle();
    n.submit(3, tensor_request("x"));
    n.submit(3, tensor_request("later"));
    n.shake(static_cast<int>(seed % 7));
    n.submit(0, tensor_request("later"));
    n.settle();
    for (const int i : {0, 1, 3}) {
      EXPECT_EQ(n.at(i).waiting(), 0u) << "member " << i;
      ASSERT_FALSE(n.flat(i).empty());
      for (const Response& r : n.flat(i)) {
        EXPECT_EQ(r.error.code(), Code::peer_left);
        EXPECT_EQ(r.error.culprit().rank, VirtualNet::rank(2));
        EXPECT_FALSE(r.error.culprit().tensor.empty());
        EXPECT_THAT(r.error.message(), HasSubstr("rank 14"));
      }
      EXPECT_EQ(n.rounds[static_cast<std::size_t>(i)].size(), n.rounds[0].size());
    }
  }
}

TEST_P(OrderFaultContract, LeavingCoordinatorFailsWhatEachMemberHas) {
  VirtualNet n = net(3);
  n.submit_all(tensor_request("done"));
  n.settle();
  n.submit(1, tensor_request("x"));
  n.submit(2, group_request("g", {"a", "b"}));
  n.negotiate(1);
  n.leave(0);
  EXPECT_EQ(n.at(1).deadline(), Time{0});
  n.settle();
  n.submit(1, tensor_request("y"));
  n.settle();
  EXPECT_EQ(n.flat(1).size(), 3u);
  EXPECT_EQ(n.flat(2).size(), 3u);
  for (const int i : {1, 2}) {
    EXPECT_EQ(n.at(i).waiting(), 0u);
    for (std::size_t k = 1; k < n.flat(i).size(); ++k) {
      EXPECT_EQ(n.flat(i)[k].error.code(), Code::peer_left);
      EXPECT_EQ(n.flat(i)[k].error.culprit().rank, VirtualNet::rank(0));
    }
  }
}

TEST_P(OrderFaultContract, EveryTruncationIsRefusedNamingTheSender) {
  const auto messages = sample_messages();
  ASSERT_FALSE(messages.empty());
  for (const auto& message : messages) {
    for (std::size_t size = 0; size < message.bytes.size(); ++size) {
      VirtualNet n = net(3);
      const int to = (message.to - 10) / 2;
      // A copy of exactly this size lets the address sanitizer see one byte too far.
      const std::vector<std::byte> cut(message.bytes.begin(),
                                       message.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const Status status = n.at(to).receive(message.from, cut, n.now());
      ASSERT_EQ(status.code(), Code::corrupted) << "cut to " << size;
      ASSERT_EQ(status.culprit().rank, message.from);
      ASSERT_THAT(status.message(), HasSubstr(cat("rank ", message.from)));
    }
  }
}

TEST_P(OrderFaultContract, DamagedMessagesNeverCrash) {
  const auto messages = sample_messages();
  for (std::uint64_t seed = 0; seed < seeds(3000); ++seed) {
    Rng rng(seed);
    VirtualNet n = net(3, seed, kPatience);
    for (int i = 0; i < 3; ++i) n.submit(i, tensor_request("x"));
    n.shake(3);
    auto message = messages[rng.below(messages.size())];
    if (rng.below(4) == 0) message.bytes.resize(rng.below(200));
    for (auto flips = 1 + rng.below(4); flips > 0 && !message.bytes.empty(); --flips) {
      message.bytes[rng.below(message.bytes.size())] = static_cast<std::byte>(rng());
    }
    // A damaged message may still be a legal one; whatever it is, it is digested or refused.
    const Status status = n.at((message.to - 10) / 2).receive(message.from, message.bytes, n.now());
    EXPECT_TRUE(status.ok() || status.code() == Code::corrupted);
    n.settle();
    n.advance(200s);
    n.settle();
  }
}

TEST_P(OrderFaultContract, RandomBytesNeverCrash) {
  Rng rng(4);
  VirtualNet n = net(3);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes(rng.below(120));
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng.below(3) == 0 ? rng() : rng.below(3));
    const Status status = n.at(static_cast<int>(rng.below(3))).receive(
        VirtualNet::rank(static_cast<int>(rng.below(3))), bytes, n.now());
    EXPECT_FALSE(status.ok());
  }
}

TEST_P(OrderFaultContract, StrangersAndWrongRolesAreRefused) {
  for (const auto& message : sample_messages()) {
    VirtualNet n = net(3);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(n.at(i).receive(11, message.bytes, n.now()).code(), Code::corrupted);
    }
    for (int to = 0; to < 3; ++to) {
      for (int from = 0; from < 3; ++from) {
        if (from == to || VirtualNet::rank(to) == message.to) continue;
        if (from != 0 && to != 0) {
          EXPECT_FALSE(n.at(to).receive(VirtualNet::rank(from), message.bytes, n.now()).ok());
        }
      }
    }
  }
}

TEST_P(OrderFaultContract, ARepeatedMessageIsRefused) {
  for (const auto& message : sample_messages()) {
    VirtualNet n = net(3);
    const int to = (message.to - 10) / 2;
    // Rounds count messages that a fresh member never sent and are refused at once.
    if (!n.at(to).receive(message.from, message.bytes, n.now()).ok()) continue;
    EXPECT_EQ(n.at(to).receive(message.from, message.bytes, n.now()).code(), Code::corrupted);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OrderFaultContract, testing::ValuesIn(kOrderCases),
                         case_name);

}  // namespace
}  // namespace unisono::order
