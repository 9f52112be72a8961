// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/collective_geometry.hpp"

#include <gtest/gtest.h>

namespace unisono::run {
namespace {

using Rows = std::vector<std::int64_t>;

Request request(Collective kind, Shape shape) {
  Request made;
  made.name = "t";
  made.kind = kind;
  made.shape = std::move(shape);
  return made;
}

TEST(CollectiveGeometry, AGatherReceivesTheRowsOfAll) {
  const Rows extents{2, 0, 5};
  const auto g = geometry_of(request(Collective::allgather, {2, 3}), Members::of({0, 1, 2}, 0),
                             {.extents = extents});
  EXPECT_EQ(g.row_bytes, 12U);
  EXPECT_EQ(g.rows, 7);
  EXPECT_EQ(g.receives, (move::Extents{24, 0, 60}));
  EXPECT_EQ(g.bytes(), 84U);
  EXPECT_TRUE(g.sends.empty());
}

TEST(CollectiveGeometry, AScatterGivesEarlierMembersTheRowsThatAreLeft) {
  const Members last = Members::of({0, 1, 2}, 2);
  const auto g = geometry_of(request(Collective::reducescatter, {8}), last, {});
  EXPECT_EQ(g.sends, (move::Extents{12, 12, 8}));
  EXPECT_EQ(g.rows, 2);
}

TEST(CollectiveGeometry, FewerRowsThanMembersLeaveSomeWithNone) {
  const auto g =
      geometry_of(request(Collective::reducescatter, {1, 4}), Members::of({0, 1}, 1), {});
  EXPECT_EQ(g.rows, 0);
  EXPECT_EQ(g.bytes(), 0U);
  EXPECT_EQ(g.sends, (move::Extents{16, 0}));
}

TEST(CollectiveGeometry, AnAlltoallSendsAndReceivesWhatTheCountsSay) {
  const Rows sent{1, 3}, received{4, 3};
  const auto g = geometry_of(request(Collective::alltoall, {4}), Members::of({0, 1}, 1),
                             {.sent = sent, .received = received});
  EXPECT_EQ(g.sends, (move::Extents{4, 12}));
  EXPECT_EQ(g.receives, (move::Extents{16, 12}));
  EXPECT_EQ(g.rows, 7);
  EXPECT_EQ(g.splits, received);
}

TEST(CollectiveGeometry, WhatOneMemberReceivesIsAColumnOfTheCounts) {
  const Rows counts{1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(received_by(counts, 3, 0), (Rows{1, 4, 7}));
  EXPECT_EQ(received_by(counts, 3, 2), (Rows{3, 6, 9}));
}

}  // namespace
}  // namespace unisono::run
