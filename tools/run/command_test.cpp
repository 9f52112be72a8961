// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "testing/folder.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using testing::HasSubstr;

constexpr const char* kNoProgram = "/no/such/program";

// Lines that end before a process is started: what they print and the code they end with.
struct RunLine {
  int code = -1;
  Printed printed;

  explicit RunLine(const std::vector<std::string>& arguments) {
    printed = printed_by([&] { code = run_command(arguments); });
  }
};

std::string run_complaint(const std::vector<std::string>& arguments) {
  const RunLine line(arguments);
  EXPECT_EQ(line.code, kWrongUsage) << join_text(arguments, " ");
  EXPECT_EQ(line.printed.out, "");
  return line.printed.err;
}

TEST(RunCommand, AsksForWhatIsMissing) {
  EXPECT_THAT(run_complaint({}), HasSubstr("which program?"));
  EXPECT_THAT(run_complaint({"-np", "2"}), HasSubstr("which program?"));
  EXPECT_THAT(run_complaint({"-np", "2", "--"}), HasSubstr("which program?"));
  EXPECT_THAT(run_complaint({kNoProgram}), HasSubstr("how many ranks?"));
}

TEST(RunCommand, WrongOptionsOfTheJobAreNamed) {
  EXPECT_THAT(run_complaint({"-np", "1", "--set", "fusion_bytes", kNoProgram}),
              HasSubstr("--set fusion_bytes: write key=value"));
  EXPECT_THAT(run_complaint({"-np", "1", "--set", "fusion_byte=1M", kNoProgram}),
              HasSubstr("did you mean fusion_bytes?"));
  EXPECT_THAT(run_complaint({"-np", "1", "--transport", "pigeon", kNoProgram}),
              HasSubstr("\"pigeon\" is not allowed"));
}

TEST(RunCommand, NumbersOutOfTheirRangeAreWrongUsage) {
  const std::vector<std::vector<std::string>> lines{
      {"-np", "0"},         {"-np", "65537"},         {"-np", "two"},       {"--timeout", "0"},
      {"--grace", "-1"},    {"--ssh-port", "65536"},  {"--no-such-option"}};
  for (std::vector<std::string> line : lines) {
    line.emplace_back(kNoProgram);
    EXPECT_NE(run_complaint(line), "");
  }
}

TEST(RunCommand, HostsAreGivenOnceAndHaveRoomForTheRanks) {
  const TestFolder folder;
  const std::string hosts = folder.file("hosts", "localhost slots=2\n");
  EXPECT_THAT(run_complaint({"-H", "localhost", "--hostfile", hosts, kNoProgram}),
              HasSubstr("give -H or --hostfile, not both"));
  EXPECT_THAT(run_complaint({"--hostfile", "/no/such/file", kNoProgram}),
              HasSubstr("cannot read /no/such/file"));
  EXPECT_THAT(run_complaint({"-np", "3", "--hostfile", hosts, kNoProgram}),
              HasSubstr("-np 3 is more than the 2 slots"));
  EXPECT_THAT(run_complaint({"-H", "localhost:x", kNoProgram}), HasSubstr("slots must be"));
}

TEST(RunCommand, AKeyFileIsPrivateAndHoldsAKey) {
  const TestFolder folder;
  const std::string key = folder.file("key", std::string(32, 'k'));
  const std::vector<std::string> line{"-np", "1", "--key-file", key, kNoProgram};
  ASSERT_EQ(::chmod(key.c_str(), 0640), 0);
  EXPECT_THAT(run_complaint(line), HasSubstr("must be private; chmod 600 it"));
  ASSERT_EQ(::chmod(key.c_str(), 0600), 0);
  EXPECT_EQ(RunLine(line).code, kMachineLacks) << "the key is right, the program is missing";
  for (const std::size_t size : {0, 31, 33}) {
    folder.file("key", std::string(size, 'k'));
    EXPECT_THAT(run_complaint(line), HasSubstr("must hold exactly 32 bytes"));
  }
  EXPECT_THAT(run_complaint({"-np", "1", "--key-file", "/no/such/key", kNoProgram}),
              HasSubstr("--key-file /no/such/key: "));
}

TEST(RunCommand, AProgramThatIsNotThereIsSomethingTheMachineLacks) {
  for (const char* program : {kNoProgram, "no-program-has-this-name"}) {
    const RunLine line({"-np", "2", program});
    EXPECT_EQ(line.code, kMachineLacks);
    EXPECT_THAT(line.printed.err, HasSubstr(cat(program, " was not found")));
  }
}

TEST(RunCommand, EverythingAfterTheProgramBelongsToIt) {
  const std::vector<std::vector<std::string>> lines{
      {"-np", "1", kNoProgram, "--bogus", "-np", "x", "--help"},
      {"-np", "1", "--", kNoProgram, "--help"},
      {"-n1", kNoProgram, "--help"},
      {"--np=1", kNoProgram, "--help"},
      {"-H", "localhost:1", "--no-prefix", "-x", "NAME=value", kNoProgram, "--help"}};
  for (const std::vector<std::string>& arguments : lines) {
    const RunLine line(arguments);
    EXPECT_EQ(line.code, kMachineLacks) << join_text(arguments, " ") << line.printed.err;
    EXPECT_EQ(line.printed.out, "");
  }
}

TEST(RunCommand, HelpIsPrintedAndIsNoError) {
  const RunLine line({"--help"});
  EXPECT_EQ(line.code, kSuccess);
  EXPECT_THAT(line.printed.out, HasSubstr("Examples:"));
  EXPECT_EQ(line.printed.err, "");
}

}  // namespace
}  // namespace unisono::tools
