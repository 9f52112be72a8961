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
