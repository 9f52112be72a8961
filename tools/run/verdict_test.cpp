// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "run/verdict.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>

namespace unisono::tools {
namespace {

JobEnd failed_job() {
  JobEnd end;
  end.how = JobEnd::How::failed;
  end.exit_code = 3;
  end.duration_s = 1.5;
  end.first = 1;
  end.ranks.resize(2);
  end.ranks[0] = {.rank = 0, .host = "alpha", .pid = 10, .signal = SIGTERM};
  end.ranks[1] = {.rank = 1, .host = "beta", .pid = 11, .exit_code = 3};
  end.last_lines = {"the last words"};
  end.command = {"train", "--fast"};
  return end;
}

TEST(Verdict, NamesWhoFailedFirstWhereAndHow) {
  const std::string text = verdict_text(failed_job());
  for (const char* part : {"rank 1", "beta", "exit code 3", "the last words", "1.50 s"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in:\n" << text;
  }
}

TEST(Verdict, ATimeoutNamesWhoHadNotFinished) {
  JobEnd end = failed_job();
  end.how = JobEnd::How::timed_out;
  end.timeout_s = 60;
  end.unfinished = {0, 1};
  const std::string text = verdict_text(end);
  EXPECT_NE(text.find("--timeout 60"), std::string::npos) << text;
  EXPECT_NE(text.find("ranks 0, 1"), std::string::npos) << text;
}

TEST(Verdict, AnInterruptionNamesTheSignal) {
  JobEnd end = failed_job();
  end.how = JobEnd::How::interrupted;
  end.signal = SIGINT;
  EXPECT_NE(verdict_text(end).find("SIGINT"), std::string::npos);
}

TEST(Verdict, JsonSaysTheSame) {
  const auto json = nlohmann::json::parse(verdict_json(failed_job()));
  EXPECT_EQ(json.at("exit_code"), 3);
  EXPECT_EQ(json.at("ranks").size(), 2U);
  EXPECT_EQ(json.at("ranks").at(1).at("host"), "beta");
}

TEST(Verdict, JsonHoldsWhateverAProgramPrints) {
  JobEnd end = failed_job();
  end.last_lines = {"\xff\xfe not UTF-8", "\"quoted\" \\ \x01"};
  EXPECT_NO_THROW(nlohmann::json::parse(verdict_json(end)));
}

TEST(Verdict, SignalsHaveNames) {
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(12345), "signal 12345");
}

}  // namespace
}  // namespace unisono::tools
