// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "processes/interrupt.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "bench/wire.hpp"

namespace unisono::tools {
namespace {

// What has arrived stays for the rest of a process, so it arrives in one of its own. The exit code
// is the signal's number when a wait for a worker ended because of it.
[[noreturn]] void wait_while_interrupted(int number) {
  watch_for_interrupt();
  std::raise(number);
  LineChannel nobody;
  const auto message = nobody.receive();
  std::_Exit(message.status().code() == Code::shut_down ? interrupted() : 0);
}

TEST(InterruptDeathTest, ASignalIsRememberedAndEndsAWait) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(wait_while_interrupted(SIGINT), testing::ExitedWithCode(SIGINT), "");
  EXPECT_EXIT(wait_while_interrupted(SIGTERM), testing::ExitedWithCode(SIGTERM), "");
}

TEST(Interrupt, NothingHasArrivedUnlessASignalCame) { EXPECT_EQ(interrupted(), 0); }

}  // namespace
}  // namespace unisono::tools
