// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "move/message/patterns.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "move/message/tags.hpp"

namespace unisono::move::patterns {
namespace {

TEST(Patterns, SlicesCoverAllElementsOnceAndDifferByOneAtMost) {
  const std::size_t huge = std::size_t{1} << 62;
  for (const std::size_t elements : {std::size_t{0}, std::size_t{1}, std::size_t{100}, huge}) {
    for (int n = 1; n <= 40; ++n) {
      std::size_t next = 0;
      for (int i = 0; i < n; ++i) {
        const Slice slice = slice_of(elements, n, i);
        EXPECT_EQ(slice.begin, next);
        EXPECT_LE(slice.count() - elements / static_cast<std::size_t>(n), 1u);
        next = slice.end;
      }
      EXPECT_EQ(next, elements);
    }
  }
}

TEST(Patterns, SegmentsRoundUpWithoutOverflow) {
  EXPECT_EQ(segments_in(0, 256), 0u);
  EXPECT_EQ(segments_in(256, 256), 1u);
  EXPECT_EQ(segments_in(257, 256), 2u);
  EXPECT_EQ(segments_in(SIZE_MAX, 2), SIZE_MAX / 2 + 1);
}

TEST(Patterns, RingNeighboursAreEachOthers) {
  for (int n = 1; n <= 9; ++n) {
    for (int me = 0; me < n; ++me) EXPECT_EQ(ring_left(ring_right(me, n), n), me);
  }
}

TEST(Patterns, DoublingPartnersAgreeAndReachEveryMember) {
  for (int n = 1; n <= 70; ++n) {
    std::vector<std::set<int>> known(static_cast<std::size_t>(n));
    const auto at = [&](int i) -> std::set<int>& { return known[static_cast<std::size_t>(i)]; };
    for (int i = 0; i < n; ++i) at(i) = {i};
    for (int i = 0; i < n; ++i) {
      if (Doubling{n, i}.sits_out()) at(i - 1).insert(i);
    }
    for (int round = 0; round < (Doubling{n, 0}.rounds()); ++round) {
      const auto before = known;
      for (int i = 0; i < n; ++i) {
        const Doubling pattern{n, i};
        if (pattern.sits_out()) continue;
        const int partner = pattern.partner(round);
        EXPECT_EQ((Doubling{n, partner}.partner(round)), i);
        EXPECT_FALSE((Doubling{n, partner}.sits_out()));
        const auto& theirs = before[static_cast<std::size_t>(partner)];
        // Blocks are runs of members, so one side lies entirely below the other.
        EXPECT_EQ(i < partner, *at(i).rbegin() < *theirs.begin());
        at(i).insert(theirs.begin(), theirs.end());
      }
    }
    EXPECT_EQ(at(0).size(), static_cast<std::size_t>(n));
  }
}

TEST(Patterns, TreeGivesEveryMemberOneParentThatKnowsIt) {
  for (int n = 1; n <= 40; ++n) {
    for (int root = 0; root < n; ++root) {
      int children = 0;
      for (int me = 0; me < n; ++me) {
        const BinomialTree tree{n, me, root};
        EXPECT_EQ(tree.parent() < 0, me == root);
        for (int bit = 0; bit < tree.child_bits(); ++bit) {
          const int child = tree.child(bit);
          if (child < 0) continue;
          EXPECT_EQ((BinomialTree{n, child, root}.parent()), me);
          ++children;
        }
      }
      EXPECT_EQ(children, n - 1);
    }
  }
}

TEST(Tags, DifferentSetBucketLaneOrSegmentGivesDifferentTag) {
  std::set<transport::Tag> seen;
  std::size_t made = 0;
  for (const SetId set : {0u, 1u, 65535u}) {
    for (const std::uint64_t bucket : {0ull, 1ull, 0xFFFFFFFFull}) {
      for (const unsigned phase : {0u, 1u, 15u}) {
        for (const std::size_t segment : {0u, 1u, 4095u}) {
          seen.insert(tags::pack(set, bucket, tags::step_of(phase, segment)));
          ++made;
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
  EXPECT_EQ(tags::step_of(3, 4096 + 5), tags::step_of(3, 5));
  EXPECT_EQ(tags::pack(1, 1ull << 32, 0), tags::pack(1, 0, 0));
}

TEST(BinaryTree, ParentsAndChildrenAgreeAndInnerNodesDiffer) {
  for (int n = 1; n <= 40; ++n) {
    int inner_in_both = 0;
    for (int me = 0; me < n; ++me) {
      bool inner[2];
      for (const bool reversed : {false, true}) {
        const BinaryTree tree{n, me, reversed};
        inner[reversed] = tree.child(0) >= 0;
        for (int side = 0; side < 2; ++side) {
          const int child = tree.child(side);
          if (child >= 0) { EXPECT_EQ((BinaryTree{n, child, reversed}.parent()), me); }
        }
        if (tree.parent() < 0) { EXPECT_EQ(me, reversed ? n - 1 : 0); }
      }
      inner_in_both += inner[0] && inner[1] ? 1 : 0;
    }
    EXPECT_LE(inner_in_both, n % 2 == 0 ? 1 : 0) << n;
  }
}

TEST(Patterns, EveryRingVisitsAllMembersAndNoTwoAreAlike) {
  for (int n = 2; n <= 40; ++n) {
    const std::vector<int> strides = ring_strides(n);
    std::set<int> neighbours;
    for (const int stride : strides) {
      std::set<int> seen;
      for (int i = 0; i < n; ++i) seen.insert(wrap(i * stride, n));
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(n)) << n << " by " << stride;
      neighbours.insert(wrap(stride, n));
    }
    EXPECT_TRUE(n == 2 || neighbours.size() == strides.size()) << n;
    EXPECT_EQ(strides.size(), n == 5 || n > 6 ? 4u : 2u) << n;
  }
}

}  // namespace
}  // namespace unisono::move::patterns
