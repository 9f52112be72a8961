// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "submit/names.hpp"

#include <gtest/gtest.h>

namespace unisono::submit {
namespace {

std::vector<Pending> operations(std::initializer_list<std::pair<SetId, std::string>> names) {
  std::vector<Pending> list;
  for (const auto& [set, name] : names) {
    Pending& pending = list.emplace_back();
    pending.request.set = set;
    pending.request.name = name;
  }
  return list;
}

TEST(NameRegistry, ANameIsFreeAgainOnceReleased) {
  NameRegistry names;
  const auto one = operations({{0, "a"}});
  EXPECT_TRUE(names.reserve(one).ok());
  EXPECT_EQ(names.in_flight(), 1U);
  EXPECT_EQ(names.reserve(one).code(), Code::duplicate_name);
  names.release(one.front().request);
  EXPECT_EQ(names.in_flight(), 0U);
  EXPECT_TRUE(names.reserve(one).ok());
}

TEST(NameRegistry, CountsWhatMayChangeWhatCodecsKeep) {
  NameRegistry names;
  auto some = operations({{0, "cast"}, {0, "packed"}, {0, "planned"}});
  some[0].request.codec = "bf16";
  some[1].request.codec = "ef|qsgd:4";
  some[2].request.plan_codecs = "bf16,qsgd:4";
  ASSERT_TRUE(names.reserve(some).ok());
  EXPECT_EQ(names.packing(), 2U);
  EXPECT_FALSE(names.reserve(some).ok());
  EXPECT_EQ(names.packing(), 2U);
  const auto is = [](std::string_view wanted) {
    return [=](std::string_view name) { return name == wanted; };
  };
  EXPECT_TRUE(names.packing(0, is("packed")));
  EXPECT_FALSE(names.packing(0, is("cast")));
  EXPECT_FALSE(names.packing(1, is("packed")));
  for (const Pending& each : some) names.release(each.request);
  EXPECT_EQ(names.packing(), 0U);
}

TEST(NameRegistry, ProcessSetsHaveNamesOfTheirOwn) {
  NameRegistry names;
  EXPECT_TRUE(names.reserve(operations({{0, "a"}, {1, "a"}})).ok());
  EXPECT_EQ(names.in_flight(), 2U);
}

TEST(NameRegistry, AGroupIsReservedWholeOrNotAtAll) {
  NameRegistry names;
  ASSERT_TRUE(names.reserve(operations({{0, "b"}})).ok());
  const Status status = names.reserve(operations({{0, "a"}, {0, "b"}, {0, "c"}}));
  EXPECT_EQ(status.code(), Code::duplicate_name);
  EXPECT_EQ(status.culprit().tensor, "b");
  EXPECT_NE(status.message().find("wait on the first ticket"), std::string::npos);
  EXPECT_EQ(names.in_flight(), 1U);
}

TEST(NameRegistry, AGroupThatNamesATensorTwiceIsRefused) {
  NameRegistry names;
  EXPECT_EQ(names.reserve(operations({{0, "a"}, {0, "a"}})).code(), Code::duplicate_name);
  EXPECT_EQ(names.in_flight(), 0U);
}

TEST(NameRegistry, ReleasingWhatIsNotThereIsHarmless) {
  NameRegistry names;
  names.release(operations({{0, "a"}}).front().request);
  EXPECT_EQ(names.in_flight(), 0U);
}

}  // namespace
}  // namespace unisono::submit
