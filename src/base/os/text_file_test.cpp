// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "base/os/text_file.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace unisono {
namespace {

TEST(TextFile, WordsStandBetweenSpacesAndEndsOfLines) {
  EXPECT_EQ(words_of(" max 100000\n"), (std::vector<std::string_view>{"max", "100000"}));
  EXPECT_TRUE(words_of(" \n\t").empty());
  EXPECT_TRUE(words_of("").empty());
}

TEST(TextFile, ANumberIsAWholeWord) {
  EXPECT_EQ(number_of<long>("25000"), 25000);
  EXPECT_EQ(number_of<long>("-1"), -1);
  EXPECT_FALSE(number_of<long>("25000x"));
  EXPECT_FALSE(number_of<long>(""));
  EXPECT_EQ(number_of<double>("1.5"), 1.5);
}

TEST(TextFile, TheKernelsFilesAreRead) {
  EXPECT_FALSE(word_in_file("/proc/self/stat").empty());
  EXPECT_EQ(text_of_file("/proc/self/stat", 3)->size(), 3u);
  EXPECT_FALSE(text_of_file("/no/such/file"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(text_of_file("/proc")) << "a folder";
  EXPECT_EQ(word_in_file("/no/such/file"), "");
}

}  // namespace
}  // namespace unisono
