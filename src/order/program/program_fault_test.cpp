// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// What order=program promises under virtual time when members come late, never, or leave, and when
// what they say is damaged: somebody is named, and nobody waits for ever.
#include <gmock/gmock.h>

#include "order/program/program_net.hpp"

namespace unisono::order {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(ProgramFault, AMemberThatDoesNotComeIsNamedAndMayStillCome) {
  VirtualNet n("program", 3, 0, patient());
  n.submit_all(tensor_request("done"));
  n.settle();
  n.submit(0, tensor_request("x"));
  n.submit(2, tensor_request("x"));
  std::vector<std::int64_t> at;
  const Time start = n.now();
  for (int second = 1; second < 75; ++second) {
    n.advance(1s);
    n.settle();
    for (const Stall& stall : n.stalls) {
      at.push_back((n.now() - start) / 1s);
      EXPECT_EQ(stall.name, "x");
      EXPECT_EQ(stall.missing, (std::vector<Rank>{12}));
      EXPECT_THAT(stall.sentence, HasSubstr(cat("\"x\" has waited ", at.back(), " s")));
      EXPECT_THAT(stall.sentence, HasSubstr("ranks 10, 14 submitted it"));
      EXPECT_THAT(stall.sentence, HasSubstr("rank 12 has not (last it submitted \"done\""));
    }
    n.stalls.clear();
  }
  EXPECT_EQ(at, (std::vector<std::int64_t>{10, 30, 70}));
  n.submit(1, tensor_request("x"));
  n.settle();
  expect_same(n, 3);
  EXPECT_TRUE(n.flat(0).at(1).error.ok());
  const std::size_t said = n.messages_sent;
  for (int round = 0; round < 3; ++round) {
    n.submit_all(tensor_request("x"));
    n.settle();
  }
  expect_same(n, 3);
  EXPECT_EQ(n.flat(0).size(), 5u);
  EXPECT_EQ(n.messages_sent, said) << "nobody asks any more";
}

TEST(ProgramFault, TheLimitFailsTheCallAlsoWhereItComesLate) {
  VirtualNet n("program", 3, 0, patient());
  for (const int i : {0, 2}) n.submit(i, group_request("g", {"a", "b"}));
  for (int second = 0; second < 100; ++second) n.advance(1s), n.settle();
  for (const int i : {0, 2}) {
    ASSERT_EQ(n.flat(i).size(), 1u);
    EXPECT_EQ(n.flat(i)[0].error.code(), Code::stalled);
    EXPECT_EQ(n.flat(i)[0].error.culprit().rank, 12);
    EXPECT_THAT(n.flat(i)[0].error.message(), HasSubstr("Group \"g\" of 2 tensors has waited"));
    EXPECT_EQ(n.at(i).waiting(), 0u);
  }
  n.submit(1, group_request("g", {"a", "b"}));
  n.submit_all(tensor_request("next"));
  n.settle();
  expect_same(n, 3);
  EXPECT_EQ(n.flat(1)[0].error.code(), Code::stalled);
  EXPECT_TRUE(n.flat(1).at(1).error.ok());
}

TEST(ProgramFault, AMemberThatNeverCameIsCountedAsFailedWhenTheOthersGoOn) {
  VirtualNet n("program", 2, 0, patient());
  n.submit(0, tensor_request("x"));
  for (int second = 0; second < 100; ++second) n.advance(1s), n.settle();
  n.submit(0, tensor_request("y"));
  for (int second = 0; second < 20; ++second) n.advance(1s), n.settle();
  EXPECT_THAT(n.stalls.back().sentence, HasSubstr("\"y\" has waited"));
  n.submit(1, tensor_request("y"));
  n.settle();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(n.flat(i).size(), 2u);
    EXPECT_EQ(n.flat(i)[0].error.code(), Code::stalled);
    EXPECT_TRUE(n.flat(i)[1].error.ok());
    EXPECT_EQ(n.at(i).waiting(), 0u);
  }
}

TEST(ProgramFault, NobodyIsAskedAfterWhereStallsAreOfNoInterest) {
  VirtualNet n("program", 2);
  n.submit(0, tensor_request("x"));
  n.settle();
  EXPECT_EQ(n.at(0).deadline(), kNever);
  n.advance(100000s);
  n.settle();
  EXPECT_EQ(n.messages_sent, 0u);
}

TEST(ProgramFault, AMemberThatLeavesFailsWhatNeedsItNowAndLater) {
  for (std::uint64_t seed = 0; seed < affordable_seeds(200); ++seed) {
    for (int leaver = 0; leaver < 3; ++leaver) {
      SCOPED_TRACE(cat("seed ", seed, ", member ", leaver));
      VirtualNet n("program", 3, seed, patient());
      const bool polite = seed % 2 == 0;
      for (int round = 0; round < 2; ++round) n.submit_all(tensor_request("x")), n.settle();
      for (int i = 0; i < 3; ++i) {
        if (i != leaver) n.submit(i, tensor_request("alone"));
      }
      n.shake(static_cast<int>(seed % 11));
      if (polite) {
        n.at(leaver).leave(n.now());
        n.settle();
      }
      n.leave(leaver);
      n.settle();
      for (int i = 0; i < 3; ++i) {
        if (i == leaver) continue;
        n.submit(i, tensor_request("later"));
        n.submit(i, kind_request("join", Collective::join));
      }
      n.settle();
      EXPECT_TRUE(n.faults.empty());
      for (int i = 0; i < 3; ++i) {
        if (i == leaver) continue;
        EXPECT_EQ(n.at(i).waiting(), 0u) << "member " << i;
        ASSERT_EQ(n.flat(i).size(), 5u) << "member " << i;
        for (std::size_t k = 2; k < 5; ++k) {
          EXPECT_EQ(n.flat(i)[k].error.code(), Code::peer_left);
          EXPECT_EQ(n.flat(i)[k].error.culprit().rank, VirtualNet::rank(leaver));
        }
      }
    }
  }
}

TEST(ProgramFault, AnIdleMemberLeavesAnIdleSet) {
  VirtualNet n("program", 3);
  n.submit_all(tensor_request("x"));
  n.settle();
  for (int i = 0; i < 3; ++i) n.at(i).leave(n.now());
  n.settle();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(n.idle(i));
    EXPECT_EQ(n.at(i).deadline(), kNever);
  }
  EXPECT_TRUE(n.faults.empty());
}

TEST(ProgramFault, DamagedWordsAreRefusedOrDigested) {
  std::vector<VirtualNet::Kept> messages;
  {
    VirtualNet n("program", 3, 0, patient());
    n.keep_messages = true;
    n.submit(0, tensor_request("a"));
    for (int second = 0; second < 100; ++second) n.advance(1s), n.settle();
    for (int i = 0; i < 3; ++i) n.submit(i, of_kind("b", Collective::allgather, {i, 2}));
    n.submit_all(kind_request("join", Collective::join));
    n.settle();
    messages = n.kept;
  }
  ASSERT_FALSE(messages.empty());
  for (const auto& message : messages) {
    for (std::size_t size = 0; size < message.bytes.size(); ++size) {
      VirtualNet n("program", 3);
      const std::vector<std::byte> cut(message.bytes.begin(),
                                       message.bytes.begin() + static_cast<std::ptrdiff_t>(size));
      const Status status = n.at((message.to - 10) / 2).receive(message.from, cut, n.now());
      ASSERT_EQ(status.code(), Code::corrupted) << "cut to " << size;
      ASSERT_EQ(status.culprit().rank, message.from);
      ASSERT_FALSE(n.at(0).receive(11, message.bytes, n.now()).ok()) << "from a stranger";
    }
  }
  for (std::uint64_t seed = 0; seed < affordable_seeds(2000); ++seed) {
    Rng rng(seed);
    VirtualNet n("program", 3, seed, patient());
    for (int i = 0; i < 3; ++i) n.submit(i, tensor_request("x"));
    n.shake(3);
    auto message = messages[rng.below(messages.size())];
    for (auto flips = 1 + rng.below(4); flips > 0; --flips) {
      message.bytes[rng.below(message.bytes.size())] = static_cast<std::byte>(rng());
    }
    const Status status = n.at((message.to - 10) / 2).receive(message.from, message.bytes, n.now());
    EXPECT_TRUE(status.ok() || status.code() == Code::corrupted);
    n.settle();
    n.advance(200s);
    n.settle();
  }
}

}  // namespace
}  // namespace unisono::order
