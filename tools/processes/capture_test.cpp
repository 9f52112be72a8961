// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "processes/capture.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "testing/folder.hpp"

namespace unisono::tools {
namespace {

TEST(Capture, KeepsBothStreamsAndTheExitCode) {
  const Captured captured = capture({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(captured.exit_code, 3);
  EXPECT_EQ(captured.out, "out\n");
  EXPECT_EQ(captured.err, "err\n");
}

TEST(Capture, ACommandReadsNothing) {
  EXPECT_EQ(capture({"cat"}).exit_code, 0);
  EXPECT_EQ(capture({"cat"}).out, "");
}

TEST(Capture, ACommandThatIsNotThereOrIsKilledHasNotSucceeded) {
  EXPECT_NE(capture({"/no/such/command"}).exit_code, 0);
  EXPECT_EQ(capture({"sh", "-c", "kill -KILL $$"}).exit_code, -1);
}

TEST(Capture, ACommandThatTakesTooLongIsKilled) {
  EXPECT_EQ(capture({"sleep", "1000"}, 0).exit_code, -1);
}

TEST(Capture, OfALongOutputTheEndIsKeptWhereAskedFor) {
  const std::vector<std::string> talks{
      "sh", "-c", "head -c 12000000 /dev/zero | tr '\\0' x; echo; echo last"};
  const std::string begin = capture(talks).out, end = capture(talks, 60, {}, Keep::end).out;
  EXPECT_EQ(begin.find("last"), std::string::npos);
  EXPECT_TRUE(end.ends_with("\nlast\n"));
  EXPECT_LT(end.size(), 9'000'000U);
}

TEST(Capture, ExecutablesAreFoundAsTheShellFindsThem) {
  const TestFolder folder;
  const std::string script = folder.file("script", "#!/bin/sh\n");
  EXPECT_EQ(find_on_path(script), "") << "it may not be executed yet";
  ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
  EXPECT_EQ(find_on_path(script), script);
  EXPECT_EQ(find_on_path("no-command-has-this-name"), "");
  const std::string shell = find_on_path("sh");
  ASSERT_TRUE(shell.ends_with("/sh"));
  EXPECT_EQ(find_on_path(shell), shell);
}

}  // namespace
}  // namespace unisono::tools
