// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "processes/child.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/data/text.hpp"
#include "processes/capture.hpp"

namespace unisono::tools {
namespace {

Time soon() {
  return SteadyClock().now() + std::chrono::seconds(60);
}

// A process that has ended and was not fetched by its parent does not run.
bool is_running(pid_t pid) {
  std::ifstream file(cat("/proc/", pid, "/stat"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] != 'Z';
}

TEST(DoctorChild, SaysWhatAProgramPrintedAndHowItEnded) {
  const Captured answer = capture({"sh", "-c", "echo out; echo err >&2; exit 5"}, 60, {});
  EXPECT_TRUE(answer.in_time);
  EXPECT_EQ(answer.exit_code, 5);
  EXPECT_EQ(answer.out, "out\n");
  EXPECT_EQ(answer.err, "err\n");
}

TEST(DoctorChild, AProgramThatIsNotThereExitsWith127) {
  const Captured answer = capture({"/no/such/program"}, 60, {});
  EXPECT_EQ(answer.exit_code, 127);
  EXPECT_NE(answer.err.find("cannot run /no/such/program"), std::string::npos) << answer.err;
}

TEST(DoctorChild, AProgramThatDoesNotEndIsKilledWithWhatItStarted) {
  auto child = Child::run({"sh", "-c", "trap '' TERM; sleep 1000 & echo $!; wait"});
  ASSERT_TRUE(child.ok());
  pid_t grandchild = 0;
  {
    Child running = std::move(child).value();
    Child* const all[] = {&running};
    std::optional<std::string> line;
    ASSERT_TRUE(
        pump_until(all, soon(), [&] { return (line = running.take_line()).has_value(); }, {}));
    grandchild = static_cast<pid_t>(std::stol(*line));
    EXPECT_TRUE(is_running(grandchild));
    EXPECT_FALSE(pump_until(all, SteadyClock().now() + std::chrono::milliseconds(20),
                            [&] { return running.ended(); }, {}));
  }
  for (int i = 0; i < 2000 && is_running(grandchild); ++i) ::usleep(5000);
  EXPECT_FALSE(is_running(grandchild));
}

TEST(DoctorChild, WhatAProgramLeavesBehindDoesNotHoldUpItsEnd) {
  // The sleeper holds the pipe open for as long as it lives.
  const Captured answer = capture({"sh", "-c", "sleep 1000 & echo done"}, 60, {});
  EXPECT_TRUE(answer.in_time);
  EXPECT_EQ(answer.out, "done\n");
}

TEST(DoctorChild, TalksInLines) {
  auto child = Child::run({"cat"});
  ASSERT_TRUE(child.ok());
  Child* const all[] = {&*child};
  child->send("one\ntw");
  std::optional<std::string> line;
  ASSERT_TRUE(pump_until(all, soon(), [&] { return (line = child->take_line()).has_value(); }, {}));
  EXPECT_EQ(*line, "one");
  child->send("o\n");
  ASSERT_TRUE(pump_until(all, soon(), [&] { return (line = child->take_line()).has_value(); }, {}));
  EXPECT_EQ(*line, "two");
  child->close_input();
  EXPECT_TRUE(pump_until(all, soon(), [&] { return child->ended(); }, {}));
  EXPECT_EQ(child->exit_code(), 0);
}

TEST(DoctorChild, AFunctionRunsInAProcessOfItsOwn) {
  auto child = Child::call([] { return cat(::getpid()); });
  ASSERT_TRUE(child.ok());
  Child* const all[] = {&*child};
  ASSERT_TRUE(pump_until(all, soon(), [&] { return child->ended(); }, {}));
  EXPECT_NE(child->out(), cat(::getpid()));
  EXPECT_FALSE(child->out().empty());
}

}  // namespace
}  // namespace unisono::tools
