// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "unisono/types.hpp"

#include <gtest/gtest.h>

#include <set>

#include "model/members.hpp"
#include "model/peer.hpp"

namespace unisono {
namespace {

TEST(Types, EveryDTypeHasANameASizeAndReadsBack) {
  std::set<std::string_view> names;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_GT(size_of(dtype), 0u);
    EXPECT_EQ(dtype_from(name_of(dtype)), dtype);
    names.insert(name_of(dtype));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kDTypeCount));
}

TEST(Types, ReadsTheShortNamesPeopleType) {
  EXPECT_EQ(dtype_from("fp32"), DType::f32);
  EXPECT_EQ(dtype_from("bf16"), DType::bf16);
  EXPECT_EQ(dtype_from("half"), DType::f16);
  EXPECT_EQ(dtype_from("float"), std::nullopt);
  EXPECT_EQ(dtype_from(""), std::nullopt);
}

TEST(Types, NumbersOutsideTheEnumsAreUnknownNotACrash) {
  EXPECT_EQ(name_of(static_cast<DType>(200)), "unknown");
  EXPECT_EQ(size_of(static_cast<DType>(200)), 0u);
  EXPECT_EQ(name_of(static_cast<ReduceOp>(200)), "unknown");
  EXPECT_EQ(name_of(static_cast<Collective>(200)), "unknown");
}

TEST(Types, NumbersOfTheWireAndTheAbiDoNotMove) {
  EXPECT_EQ(static_cast<int>(DType::f32), 0);
  EXPECT_EQ(static_cast<int>(DType::i8), 6);
  EXPECT_EQ(static_cast<int>(DType::boolean), 14);
  EXPECT_EQ(static_cast<int>(ReduceOp::average), 1);
  EXPECT_EQ(static_cast<int>(ReduceOp::logical_or), 6);
  EXPECT_EQ(static_cast<int>(Collective::remove_process_set), 8);
  EXPECT_EQ(name_of(Collective::remove_process_set), "remove_process_set");
  EXPECT_EQ(name_of(ReduceOp::logical_or), "logical_or");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 4}), 12);
  EXPECT_EQ(element_count({0, 5}), 0);
  EXPECT_EQ(element_count({5, 0}), 0);
  EXPECT_EQ(element_count({std::int64_t{1} << 40}), std::int64_t{1} << 40);
}

TEST(Shape, RefusesNegativeAndOverflowingExtents) {
  EXPECT_EQ(element_count({-1}), std::nullopt);
  EXPECT_EQ(element_count({0, -1}), std::nullopt);
  EXPECT_EQ(element_count({INT64_MAX, 2}), std::nullopt);
}

TEST(Shape, PrintsAsPeopleWriteIt) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{3, 4}), "[3, 4]");
}

TEST(Members, FindsRanksAndItself) {
  const Members members = Members::of({1, 4, 9}, 4);
  EXPECT_EQ(members.count(), 3);
  EXPECT_EQ(members.me, 1);
  EXPECT_EQ(members.rank_of(2), 9);
  EXPECT_EQ(members.index_of(9), 2);
  EXPECT_EQ(members.index_of(5), -1);
  EXPECT_EQ(members.index_of(10), -1);
  EXPECT_EQ(Members::of({1, 4, 9}, 0).me, -1);
}

TEST(PeerInfo, NamesRankHostAndProcess) {
  EXPECT_EQ((PeerInfo{3, "b", 77}).to_string(), "rank 3 (host b, pid 77)");
}

}  // namespace
}  // namespace unisono
