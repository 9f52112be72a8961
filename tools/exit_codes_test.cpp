// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// The numbers that scripts rely on, written out: what docs/API.md promises of every command.
#include "exit_codes.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "bench/command.hpp"
#include "run/command.hpp"
#include "simulate/command.hpp"
#include "study/command.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using Command = int (*)(std::vector<std::string>);

int exit_code_of(Command command, const std::vector<std::string>& arguments) {
  int code = -1;
  printed_by([&] { code = command(arguments); });
  return code;
}

TEST(ExitCodes, HelpIsSuccess) {
  for (const Command command : {run_command, bench_command, simulate_command, study_command}) {
    EXPECT_EQ(exit_code_of(command, {"--help"}), 0);
  }
  EXPECT_EQ(exit_code_of(simulate_command, {"--list"}), 0);
}

TEST(ExitCodes, AJobThatFailedIsOne) {
  EXPECT_EQ(exit_code_of(simulate_command, {"--model", "tiny", "--ranks", "2", "--kill", "1@5"}),
            1);
}

TEST(ExitCodes, WrongUsageIsTwo) {
  for (const Command command : {run_command, bench_command, simulate_command, study_command}) {
    EXPECT_EQ(exit_code_of(command, {}), 2);
    EXPECT_EQ(exit_code_of(command, {"--no-such-option"}), 2);
  }
}

TEST(ExitCodes, WhatTheMachineLacksIsThree) {
  EXPECT_EQ(exit_code_of(run_command, {"-np", "1", "/no/such/program"}), 3);
  EXPECT_EQ(exit_code_of(study_command, {"weak", "--", "/no/such/program"}), 3);
}

TEST(ExitCodes, ASignalCountsFrom128AsInAShell) {
  EXPECT_EQ(kSignalBase + SIGINT, 130);
  EXPECT_EQ(kSignalBase + SIGTERM, 143);
}

}  // namespace
}  // namespace unisono::tools
