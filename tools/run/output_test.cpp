// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "testing/folder.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

// What two ranks print, to files rather than a terminal, so without colours.
template <typename Action>
Printed printed_by_ranks(const Output::Style& style, const Action& action) {
  return printed_by([&] {
    Output output(2, style);
    action(output);
  });
}

TEST(RankOutput, LinesArePrintedWholeWithTheirRank) {
  const Printed printed = printed_by_ranks({}, [](Output& output) {
    output.add(0, false, "ab");
    output.add(1, false, "x\n");
    output.add(0, false, "c\n\nd\n");
  });
  EXPECT_EQ(printed.out, "[1] x\n[0] abc\n[0] \n[0] d\n");
  EXPECT_EQ(printed.err, "");
}

TEST(RankOutput, TheTwoStreamsOfARankAreKeptApart) {
  const Printed printed = printed_by_ranks({}, [](Output& output) {
    output.add(0, false, "out");
    output.add(0, true, "err\n");
    output.add(0, false, "\n");
  });
  EXPECT_EQ(printed.out, "[0] out\n");
  EXPECT_EQ(printed.err, "[0] err\n");
}

TEST(RankOutput, ALastLineWithoutANewlineIsPrintedOnceAtTheEnd) {
  const Printed printed = printed_by_ranks({}, [](Output& output) {
    output.add(1, true, "done\nlast");
    output.finish();
    output.finish();
  });
  EXPECT_EQ(printed.err, "[1] done\n[1] last\n");
}

TEST(RankOutput, AnEndlessLineIsPrintedInParts) {
  const std::string most(64 << 10, 'x');
  const auto print = [](const std::string& text) {
    return printed_by_ranks({}, [&](Output& output) { output.add(0, false, text); }).out;
  };
  EXPECT_EQ(print(most), "");
  EXPECT_EQ(print(most + "y"), cat("[0] ", most, "y\n"));
  EXPECT_EQ(print(most + "y\n"), cat("[0] ", most, "y\n")) << "a whole line stays whole";
}

TEST(RankOutput, LinesStandAloneWhenAskedFor) {
  const Printed printed =
      printed_by_ranks({.prefix = false}, [](Output& output) { output.add(1, false, "x\n"); });
  EXPECT_EQ(printed.out, "x\n");
}

TEST(RankOutput, StandardOutputIsLeftToWhoeverElseWantsIt) {
  const Printed printed =
      printed_by_ranks({.out_to_err = true}, [](Output& output) { output.add(1, false, "x\n"); });
  EXPECT_EQ(printed.out, "");
  EXPECT_EQ(printed.err, "[1] x\n");
}

TEST(RankOutput, RanksThatDoNotExistAreNotHeard) {
  const Printed printed = printed_by_ranks({}, [](Output& output) {
    output.add(2, false, "x\n");
    output.add(-1, true, "x\n");
  });
  EXPECT_EQ(printed.out + printed.err, "");
}

TEST(RankOutput, TheLastLinesOfARankAreKeptForTheVerdict) {
  std::vector<std::string> kept, others;
  printed_by_ranks({}, [&](Output& output) {
    for (int i = 0; i < 25; ++i) output.add(1, i % 2 == 0, cat("line ", i, "\n"));
    output.add(1, false, cat(std::string(600, 'x'), "\n"));
    kept.assign(output.last_lines(1).begin(), output.last_lines(1).end());
    others.assign(output.last_lines(0).begin(), output.last_lines(0).end());
  });
  ASSERT_EQ(kept.size(), 20U);
  EXPECT_EQ(kept.front(), "line 6");
  EXPECT_EQ(kept[18], "line 24");
  EXPECT_EQ(kept.back(), std::string(500, 'x'));
  EXPECT_TRUE(others.empty());
}

TEST(RankOutput, FilesHoldTheBytesOfEachRankAsTheyCame) {
  const TestFolder folder;
  const std::string path = folder.path() + "/out";
  bool opened = false;
  printed_by_ranks({.folder = path}, [&](Output& output) {
    opened = output.open().ok();
    output.add(0, false, "a\nb");
    output.add(1, true, "c");
    output.finish();
  });
  ASSERT_TRUE(opened);
  EXPECT_EQ(text_of_file(path + "/rank.0.out"), "a\nb");
  EXPECT_EQ(text_of_file(path + "/rank.0.err"), "");
  EXPECT_EQ(text_of_file(path + "/rank.1.out"), "");
  EXPECT_EQ(text_of_file(path + "/rank.1.err"), "c");
}

TEST(RankOutput, AFolderThatCannotBeMadeIsNamed) {
  const TestFolder folder;
  const std::string file = folder.file("file", "");
  for (const std::string& path : {file, file + "/below", folder.path() + "/no/such"}) {
    Output output(1, {.folder = path});
    const Status bad = output.open();
    EXPECT_EQ(bad.code(), Code::unavailable) << path;
    EXPECT_THAT(bad.message(), testing::StartsWith(cat("--output-dir: ", path)));
  }
}

TEST(RankOutput, WhatSshSaysCarriesItsHostAndNoEmptyLines) {
  const Printed printed = printed_by_ranks({}, [](Output& output) {
    output.note("node1", "Warning: one\r\n\r\n\nWarning: two");
    output.note("node1", ", and the rest of it");
    output.note("node2", "");
    output.finish();
  });
  EXPECT_EQ(printed.err, "[node1] Warning: one\n[node1] Warning: two, and the rest of it\n");
  EXPECT_EQ(printed.out, "");
}

}  // namespace
}  // namespace unisono::tools
