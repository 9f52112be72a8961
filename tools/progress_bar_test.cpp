// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "progress_bar.hpp"

#include <gtest/gtest.h>

#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

TEST(ProgressBar, WritesNothingWhereNoTerminalIs) {
  const Printed printed = printed_by([] {
    ProgressBar bar(true);
    for (const double done : {-1.0, 0.0, 0.5, 1.0, 2.0}) bar.show(done, "measuring");
    bar.clear();
  });
  EXPECT_EQ(printed.err, "");
  EXPECT_EQ(printed.out, "");
}

}  // namespace
}  // namespace unisono::tools
