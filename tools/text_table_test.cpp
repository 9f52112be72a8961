// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "text_table.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

TEST(TextTable, FiguresStandFlushRight) {
  EXPECT_EQ(aligned({{"bytes", "us"}, {"4", "10.25"}}, FirstColumn::figures),
            "bytes      us\n"
            "    4   10.25\n");
}

TEST(TextTable, TextStandsFlushLeftWithoutSpaceAtTheEndOfALine) {
  EXPECT_EQ(aligned({{"order", "ms"}, {"a", "1"}, {"note"}}, FirstColumn::text),
            "order   ms\n"
            "a        1\n"
            "note\n");
}

TEST(TextTable, WidthIsCountedInColumnsOfATerminal) {
  EXPECT_EQ(width_of("±5 µs"), 5u);
  EXPECT_EQ(aligned({{"x", "±1"}, {"y", "100"}}, FirstColumn::text),
            "x    ±1\n"
            "y   100\n");
}

TEST(TextTable, FixedRounds) {
  EXPECT_EQ(fixed(0.125, 1), "0.1");
  EXPECT_EQ(fixed(2.0 / 3, 2), "0.67");
  EXPECT_EQ(fixed(12, 0), "12");
}

TEST(TextTable, NothingIsNothing) { EXPECT_EQ(aligned({}, FirstColumn::text), ""); }

}  // namespace
}  // namespace unisono::tools
