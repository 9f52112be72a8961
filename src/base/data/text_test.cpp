// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/data/text.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace unisono {
namespace {

TEST(Text, PrintsEachKindAsPeopleWriteIt) {
  EXPECT_EQ(cat("rank ", 3, " of ", std::size_t{4}, ' ', true), "rank 3 of 4 true");
  EXPECT_EQ(cat(0.5, " ", 10.0, " ", 1e-9f), "0.5 10 9.99999972e-10");
  EXPECT_EQ(cat(std::string("a"), std::string_view("b"), "c"), "abc");
  EXPECT_EQ(cat(std::int8_t{-7}, " ", std::uint8_t{200}), "-7 200");
  EXPECT_EQ(cat(INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(cat(), "");
}

TEST(Text, JoinsWithASeparator) {
  EXPECT_EQ(join_text(std::vector<int>{1, 2, 3}), "1, 2, 3");
  EXPECT_EQ(join_text(std::vector<std::string>{"a", "b"}, "|"), "a|b");
  EXPECT_EQ(join_text(std::vector<int>{}), "");
}

}  // namespace
}  // namespace unisono
