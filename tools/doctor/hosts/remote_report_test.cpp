// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/hosts/remote_report.hpp"

#include <gtest/gtest.h>

namespace unisono::tools {
namespace {

constexpr const char* kReport = R"(
{"machine": {"host": "n1", "versions": {"unisono": "0.1.0", "torch": "2.6.0", "odd": 3}},
 "results": [{"check": "cores", "ok": true, "mark": "ok", "found": "2", "mend": ""},
             {"check": "memory", "ok": true, "mark": "warn", "found": "little", "mend": "buy"},
             {"check": "random", "ok": false, "mark": "fail", "found": "none", "mend": "wait"}]}
)";

TEST(DoctorRemoteReport, IsReadAfterWhatALoginShellPrints) {
  for (const std::string before : {"", "Welcome!\n{not json\n{}\n"}) {
    const auto report = parse_remote_report(before + kReport);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report.value().host, "n1");
    EXPECT_EQ(report.value().versions, (Versions{{"unisono", "0.1.0"}, {"torch", "2.6.0"}}));
    ASSERT_EQ(report.value().findings.size(), 3U);
    EXPECT_EQ(report.value().findings[0].mark, Mark::ok);
    EXPECT_EQ(report.value().findings[1].mark, Mark::warn);
    EXPECT_EQ(report.value().findings[2].mark, Mark::fail);
    EXPECT_EQ(report.value().findings[2].mend, "wait");
  }
}

TEST(DoctorRemoteReport, WhatIsNoReportIsRefused) {
  for (const char* text : {"", "{", "[]", "{}", R"({"results": 3, "machine": {}})",
                           R"({"results": []})", R"({"results": [], "machine": 7})",
                           R"({"results": [3], "machine": {}})", R"({"machine": {"host": "a"}})"}) {
    EXPECT_FALSE(parse_remote_report(text).ok()) << text;
  }
}

TEST(DoctorRemoteReport, NothingInItCanSteerATerminal) {
  const auto report = parse_remote_report(
      "{\"machine\": {\"host\": \"a\\u001b[2Jb\"}, \"results\": [{\"check\": \"x\\ny\"}]}");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().host, "a [2Jb");
  EXPECT_EQ(report.value().findings[0].check, "x y");
  EXPECT_EQ(report.value().findings[0].mark, Mark::fail) << "nothing says that it is ok";
  EXPECT_EQ(printable("abc", 2), "ab");
}

TEST(DoctorRemoteReport, AFloodOfRowsIsRefused) {
  std::string text = R"({"machine": {}, "results": [{})";
  for (int i = 0; i < 5000; ++i) text += ",{}";
  EXPECT_FALSE(parse_remote_report(text + "]}").ok());
}

TEST(DoctorServe, ItsFirstLineNamesItsAddresses) {
  const std::vector<std::string> addresses{"192.0.2.2:4000", "[fd00::2]:4001"};
  const std::string line = serve_hello_line(addresses);
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(parse_serve_hello(line), addresses);
  for (const char* text : {"", "Welcome", "UNISONO-DOCTOR", "UNISONO-DOCTOR {}",
                           "UNISONO-DOCTOR {\"addresses\": [3]}"}) {
    EXPECT_FALSE(parse_serve_hello(text)) << text;
  }
}

TEST(DoctorServe, AKeySurvivesItsLine) {
  const rendezvous::JobKey key = rendezvous::make_job_key();
  EXPECT_EQ(parse_key_line(key_line(key)), key);
  EXPECT_FALSE(parse_key_line(""));
  EXPECT_FALSE(parse_key_line(std::string(63, 'a')));
  EXPECT_FALSE(parse_key_line(std::string(63, 'a') + "g"));
  EXPECT_FALSE(parse_key_line(std::string(62, 'a') + "+1"));
}

}  // namespace
}  // namespace unisono::tools
