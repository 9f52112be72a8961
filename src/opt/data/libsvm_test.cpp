// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/data/libsvm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "opt/data/generate.hpp"

namespace unisono::opt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Rows parsed(const std::string& text) {
  Rows rows;
  LabelsSeen labels;
  const auto bad = parse_lines(text, 0, rows, labels);
  EXPECT_FALSE(bad.has_value()) << bad->reason;
  return rows;
}

BadLine refused(const std::string& text) {
  Rows rows;
  LabelsSeen labels;
  const auto bad = parse_lines(text, 100, rows, labels);
  EXPECT_TRUE(bad.has_value()) << text;
  return bad.value_or(BadLine{});
}

TEST(Libsvm, RowsHaveColumnsFromZeroInTheOrderOfTheFile) {
  const Rows rows = parsed("+1 1:0.5 7:-2\n-1\n+1 3:1e-2 4:4 # a remark 5:6\n");
  EXPECT_THAT(rows.labels, ElementsAre(1, -1, 1));
  EXPECT_THAT(rows.begins, ElementsAre(0, 2, 2, 4));
  EXPECT_THAT(rows.columns, ElementsAre(0, 6, 2, 3));
  EXPECT_THAT(rows.values, ElementsAre(0.5f, -2.0f, 0.01f, 4.0f));
  EXPECT_EQ(rows.width, 7u);
}

TEST(Libsvm, LinesWithoutALabelEndsOfWindowsAndAMissingLastEndAreFine) {
  const Rows rows = parsed("\n# nothing\n  \t\n1 1:1 \t 2:2  \r\n\r\n0 2:3#x\n2 1:5");
  EXPECT_THAT(rows.labels, ElementsAre(1, 0, 2));
  EXPECT_THAT(rows.values, ElementsAre(1, 2, 3, 5));
  EXPECT_EQ(parsed("").size(), 0u);
}

TEST(Libsvm, ABadLineIsToldWithItsPlaceAndReason) {
  const BadLine bad = refused("1 1:1\n1 1:1 2:x 3:4\n");
  EXPECT_EQ(bad.offset, 106u);
  EXPECT_EQ(bad.column, 9u);
  EXPECT_EQ(bad.reason, "the value of index 2 is no number: \"x\"");
  EXPECT_THAT(refused("yes 1:1").reason, HasSubstr("the label is no number: \"yes\""));
  EXPECT_THAT(refused("1,2 1:1").reason, HasSubstr("the label is no number"));
  EXPECT_THAT(refused("1 0:1").reason, HasSubstr("indices count from 1"));
  EXPECT_THAT(refused("1 3:1 3:2").reason, HasSubstr("index 3 comes after 3; indices must ascend"));
  EXPECT_THAT(refused("1 3:1 2:2").reason, HasSubstr("index 2 comes after 3"));
  EXPECT_THAT(refused("1 qid:3 2:2").reason, HasSubstr("no index:value pair: \"qid:3\""));
  EXPECT_THAT(refused("1 5").reason, HasSubstr("no index:value pair"));
  EXPECT_THAT(refused("1 5:\n").reason, HasSubstr("is no number: the end of the line"));
  EXPECT_THAT(refused("1 5:1.5.2").reason, HasSubstr("is no number"));
  EXPECT_THAT(refused("1 5:nan").reason, HasSubstr("is not finite"));
  EXPECT_THAT(refused("1 5:1e99").reason, HasSubstr("is not finite"));
  EXPECT_THAT(refused("inf 5:1").reason, HasSubstr("not finite"));
  EXPECT_THAT(refused("1 4294967295:1").reason, HasSubstr("is above 4294967294"));
  EXPECT_THAT(refused("1 99999999999:1").reason, HasSubstr("no index:value pair"));
  EXPECT_THAT(refused("1 -1:1").reason, HasSubstr("no index:value pair"));
}

TEST(Libsvm, AdjacentRangesHaveEveryLineOnce) {
  const std::string text = "1 1:1\n\n-1 2:22\n# remark\n1 3:333 4:4\n-1";
  for (std::uint64_t first = 0; first <= text.size(); ++first) {
    for (std::uint64_t second = first; second <= text.size(); ++second) {
      std::string joined(cut_lines(text, 0, first));
      joined += cut_lines(text, first, second);
      joined += cut_lines(text, second, text.size());
      ASSERT_EQ(joined, text) << first << " " << second;
      const std::string_view middle = cut_lines(text, first, second);
      if (!middle.empty() && middle.data() + middle.size() != text.data() + text.size()) {
        EXPECT_EQ(middle.back(), '\n');
      }
    }
  }
}

TEST(Libsvm, LabelsThatDifferAreSeenWhereTheyCameFirst) {
  Rows rows;
  LabelsSeen labels;
  EXPECT_FALSE(parse_lines("1 1:1\n-1 1:1\n1\n7\n9\n", 50, rows, labels));
  ASSERT_EQ(labels.count, 3);
  EXPECT_EQ(labels.first[0].value, 1);
  EXPECT_EQ(labels.first[0].offset, 50u);
  EXPECT_EQ(labels.first[1].offset, 56u);
  EXPECT_EQ(labels.first[2].value, 7);
}

TEST(Generate, TheSameSeedGivesTheSameRowsInAnyPieces) {
  for (const DataShape& shape : data_shapes()) {
    const std::string whole = generated_rows(shape, 5, 0, 12);
    EXPECT_EQ(generated_rows(shape, 5, 0, 7) + generated_rows(shape, 5, 7, 12), whole);
    EXPECT_NE(generated_rows(shape, 6, 0, 12), whole);
  }
}

TEST(Generate, RowsHaveAsManyEntriesAsTheyShouldOnAverage) {
  for (const DataShape& shape : data_shapes()) {
    const std::uint64_t count = shape.unit_rows ? 30 : 1000;
    const Rows rows = parsed(generated_rows(shape, 1, 0, count));
    ASSERT_EQ(rows.size(), count);
    EXPECT_LE(rows.width, shape.features);
    const double mean = static_cast<double>(rows.nonzeros()) / static_cast<double>(count);
    EXPECT_NEAR(mean, shape.nonzeros, 0.1 * shape.nonzeros);
    const auto positive = std::count(rows.labels.begin(), rows.labels.end(), 1.0f);
    EXPECT_GT(positive, static_cast<long>(count / 10));
    EXPECT_LT(positive, static_cast<long>(count - count / 10));
    if (!shape.unit_rows) continue;
    double square = 0;
    for (const float value : rows.row(3).values) square += static_cast<double>(value) * value;
    EXPECT_NEAR(square, 1, 1e-3);
  }
}

}  // namespace
}  // namespace unisono::opt
