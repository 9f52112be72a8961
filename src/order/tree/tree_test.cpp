// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The tree and cache strategies where the tree is deep: whatever the coordinator knows about every
// member, the root of a tree has to learn through others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "order/testing/contract.hpp"
#include "order/messages/tree_shape.hpp"

namespace unisono::order {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(TreeShape, SubtreesOfChildrenAndTheNodeItselfMakeUpASubtree) {
  for (const int radix : {2, 3, 16}) {
    for (const int members : {1, 2, 7, 17, 64, 65, 300}) {
      const TreeShape shape{members, radix};
      EXPECT_EQ(shape.subtree(0).count(), members);
      for (int i = 0; i < members; ++i) {
        MemberBits bits(members);
        bits.set(i);
        for (int k = 0; k < shape.child_count(i); ++k) {
          const int child = shape.first_child(i) + k;
          EXPECT_EQ(shape.parent(child), i);
          EXPECT_FALSE(bits.meets(shape.subtree(child)));
          bits.add(shape.subtree(child));
        }
        EXPECT_EQ(bits, shape.subtree(i)) << i << " of " << members << ", radix " << radix;
      }
    }
  }
}

TEST(MemberBits, RangesAndSetsAgreeWithSingleBits) {
  for (const int members : {10, 64, 65, 200}) {
    for (int first = 0; first < members; first += 7) {
      for (int last = first; last < members; last += 9) {
        MemberBits range(members), single(members);
        range.set_range(first, last);
        for (int i = first; i <= last; ++i) single.set(i);
        EXPECT_EQ(range, single);
        EXPECT_TRUE(single.within(range));
        range.remove(single);
        EXPECT_TRUE(range.empty());
      }
    }
  }
}

class DeepTree : public OrderContract {
 protected:
  // Members 5 and 6 are children of 2, which is a child of the root.
  static OrderSettings deep() {
    OrderSettings settings;
    settings.tree_radix = 2;
    settings.stall_warning = 10s;
    settings.stall_limit = 100s;
    return settings;
  }
  // Seconds of virtual time, one by one.
  static void wait(VirtualNet& n, int seconds) {
    for (int i = 0; i < seconds; ++i) {
      n.advance(1s);
      n.settle();
    }
  }
};

TEST_P(DeepTree, MismatchListsWhatEveryRankSent) {
  for (int odd = 0; odd < 15; ++odd) {
    for (const bool known : {false, true}) {
      VirtualNet n = net(15, static_cast<std::uint64_t>(odd), deep());
      if (known) {
        n.submit_all(tensor_request("w", {3}));
        n.settle();
      }
      for (int i = 0; i < 15; ++i) {
        n.submit(i, tensor_request("w", {i == odd ? 5 : i % 2 == 0 ? 3 : 4}));
        n.shake(3);
      }
      n.settle();
      expect_same_logs(n);
      const std::string message = n.flat(0).back().error.message();
      for (int i = 0; i < 15; ++i) {
        EXPECT_THAT(message, HasSubstr(cat(VirtualNet::rank(i)))) << message;
      }
      EXPECT_THAT(message, HasSubstr(cat("rank ", VirtualNet::rank(odd), ": [5]")));
      EXPECT_EQ(n.at(7).waiting(), 0u);
    }
  }
}

TEST_P(DeepTree, StallNamesExactlyWhoIsMissingAndItsLastDeed) {
  for (const bool known : {false, true}) {
    for (const int late : {0, 2, 5, 14}) {
      SCOPED_TRACE(cat("late ", late, known ? ", cached" : ""));
      VirtualNet n = net(15, 1, deep());
      for (int step = 0; known && step < 2; ++step) {
        n.submit_all(tensor_request("x"));
        n.submit_all(tensor_request("other"));
        n.settle();
      }
      n.submit(late, tensor_request("other"));
      n.settle();
      wait(n, 2);
      n.stalls.clear();
      const Time start = n.now();
      for (int i = 0; i < 15; ++i) {
        // One comes when the first report is near.
        if (i != late && i != 6) n.submit(i, tensor_request("x"));
      }
      n.settle();
      wait(n, 8);
      n.submit(6, tensor_request("x"));
      n.settle();
      while (n.stalls.empty() || n.stalls.back().name != "x") {
        ASSERT_LT(n.now() - start, 12s);
        wait(n, 1);
      }
      EXPECT_EQ((n.now() - start) / 1s, 10);
      const Stall& stall = n.stalls.back();
      EXPECT_EQ(stall.missing, (std::vector<Rank>{VirtualNet::rank(late)})) << stall.sentence;
      EXPECT_EQ(stall.submitted.size(), 14u);
      EXPECT_THAT(stall.sentence, HasSubstr("last it submitted \"other\" 12 s ago"));
      n.submit(late, tensor_request("x"));
      n.settle();
      expect_same_logs(n);
      EXPECT_TRUE(n.flat(3).back().error.ok());
      EXPECT_EQ(n.flat(3).back().tensors[0].name, "x");
    }
  }
}

TEST_P(DeepTree, StallSeenOnlyByALeafIsReportedInTime) {
  for (const bool known : {false, true}) {
    VirtualNet n = net(15, 1, deep());
    if (known) n.submit_all(tensor_request("x"));
    n.settle();
    n.submit(14, tensor_request("x"));
    n.settle();
    wait(n, 9);
    EXPECT_TRUE(n.stalls.empty());
    wait(n, 1);
    ASSERT_EQ(n.stalls.size(), 1u);
    EXPECT_EQ(n.stalls[0].submitted, (std::vector<Rank>{VirtualNet::rank(14)}));
    EXPECT_EQ(n.stalls[0].waited, 10s);
    EXPECT_THAT(n.stalls[0].sentence,
                HasSubstr(known ? "last it submitted \"x\"" : "submitted nothing yet"));
    wait(n, 90);
    for (int i = 0; i < 15; ++i) {
      ASSERT_FALSE(n.flat(i).empty());
      EXPECT_EQ(n.flat(i).back().error.code(), Code::stalled);
      EXPECT_EQ(n.at(i).waiting(), 0u);
      EXPECT_EQ(n.at(i).deadline(), kNever) << "member " << i;
    }
    n.submit_all(tensor_request("x"));
    n.settle();
    EXPECT_TRUE(n.flat(9).back().error.ok());
  }
}

TEST_P(DeepTree, RequestsThatCrossAFailureAreNotLost) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(cat("seed ", seed));
    Rng rng(seed);
    VirtualNet n = net(15, seed, deep());
    if (seed % 2 == 0) n.submit_all(tensor_request("x"));
    n.settle();
    const auto late = 1 + rng.below(14);
    std::vector<int> early;
    for (int i = 0; i < 15; ++i) {
      if (i != static_cast<int>(late) && rng.below(2) == 0) early.push_back(i);
    }
    if (early.empty()) early.push_back(late == 3 ? 4 : 3);
    for (const int i : early) n.submit(i, tensor_request("x"));
    n.settle();
    wait(n, 99);
    n.advance(1s);
    // While the failure is on its way others submit the name; then those that failed, again.
    for (int i = 0; i < 15; ++i) {
      if (std::find(early.begin(), early.end(), i) == early.end()) {
        n.submit(i, tensor_request("x"));
        n.shake(static_cast<int>(rng.below(6)));
      }
    }
    n.settle();
    for (int i = 0; i < 15; ++i) {
      if (n.at(i).waiting() == 0) n.submit(i, tensor_request("x"));
      n.shake(static_cast<int>(rng.below(6)));
    }
    n.settle();
    EXPECT_TRUE(n.faults.empty()) << n.faults.front().to_string();
    for (int i = 0; i < 15; ++i) EXPECT_EQ(n.at(i).waiting(), 0u) << "member " << i;
    EXPECT_TRUE(n.flat(0).back().error.ok()) << n.flat(0).back().error.to_string();
    if (HasFailure()) return;
  }
}

TEST_P(DeepTree, LeavingMemberFailsEverythingWherever) {
  for (int leaver = 1; leaver < 15; ++leaver) {
    SCOPED_TRACE(cat("leaver ", leaver));
    VirtualNet n = net(15, static_cast<std::uint64_t>(leaver), deep());
    for (int step = 0; step < 2; ++step) {
      n.submit_all(tensor_request("x"));
      n.settle();
    }
    for (int i = 0; i < 15; ++i) {
      if (i == leaver) continue;
      n.submit(i, tensor_request("x"));
      if (i % 3 == 0) n.submit(i, tensor_request("y"));
    }
    n.shake(leaver * 4);
    n.leave(leaver);
    n.settle();
    for (int i = 0; i < 15; ++i) {
      if (i != leaver) n.submit(i, tensor_request("later"));
    }
    n.settle();
    for (int i = 0; i < 15; ++i) {
      if (i == leaver) continue;
      EXPECT_EQ(n.at(i).waiting(), 0u) << "member " << i;
      EXPECT_EQ(n.flat(i).back().error.code(), Code::peer_left) << "member " << i;
      EXPECT_EQ(n.flat(i).back().error.culprit().rank, VirtualNet::rank(leaver));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, DeepTree,
                         testing::Values(OrderCase{"coordinator", "event"},
                                         OrderCase{"tree", "event"}, OrderCase{"cache", "event"}),
                         case_name);

}  // namespace
}  // namespace unisono::order
