// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "doctor/hosts/remote_report.hpp"

namespace unisono::tools {
namespace {

Diagnosis example() {
  Diagnosis diagnosis;
  diagnosis.here.host = "alpha";
  diagnosis.here.machine.versions = {{"unisono", "0.1.0"}};
  diagnosis.here.findings = {good("cores", "2 of 2"), doubtful("memory", "little", "buy some")};
  return diagnosis;
}

Visit visit_to(const std::string& host, const std::string& version) {
  Visit visit;
  visit.host = host;
  visit.report = RemoteReport{host, {{"unisono", version}}, {}};
  return visit;
}

TEST(DoctorReport, AMendStandsBelowItsRow) {
  const std::string text = diagnosis_text(example());
  EXPECT_NE(text.find("ok    cores   2 of 2\n"
                      "warn  memory  little\n"
                      "              mend: buy some\n"
                      "\n"
                      "1 ok, 1 warning, 0 failed\n"),
            std::string::npos)
      << text;
}

TEST(DoctorReport, WarningsAreAllowedAndFailuresAreNot) {
  Diagnosis diagnosis = example();
  EXPECT_FALSE(lacks_something(diagnosis));
  diagnosis.here.findings.push_back(lacking("random numbers", "none", "wait"));
  EXPECT_TRUE(lacks_something(diagnosis));
}

TEST(DoctorReport, AnotherHostOrItsVersionCanFailTheWhole) {
  Diagnosis diagnosis = example();
  diagnosis.visits.push_back(visit_to("beta", "0.1.0"));
  EXPECT_FALSE(lacks_something(diagnosis));
  diagnosis.visits.push_back(visit_to("gamma", "0.0.9"));
  EXPECT_TRUE(lacks_something(diagnosis));
  const std::string text = diagnosis_text(diagnosis);
  EXPECT_NE(text.find("Versions that differ"), std::string::npos) << text;
  EXPECT_NE(text.find("install unisono 0.1.0 on gamma"), std::string::npos) << text;
}

TEST(DoctorReport, JsonIsWhatAnotherDoctorReads) {
  Diagnosis diagnosis = example();
  diagnosis.here.findings.push_back(lacking("odd", "\xff not UTF-8", "none"));
  const auto report = parse_remote_report(diagnosis_json(diagnosis));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report.value().host, "alpha");
  EXPECT_EQ(report.value().versions, diagnosis.here.machine.versions);
  ASSERT_EQ(report.value().findings.size(), 3U);
  for (std::size_t i = 0; i < 2; ++i) {
    const Finding &read = report.value().findings[i], &written = diagnosis.here.findings[i];
    EXPECT_EQ(read.check, written.check);
    EXPECT_EQ(read.mark, written.mark);
    EXPECT_EQ(read.found, written.found);
    EXPECT_EQ(read.mend, written.mend);
  }
}

TEST(DoctorReport, JsonNamesHostsOnlyWhereTheyWereVisited) {
  Diagnosis diagnosis = example();
  const auto alone = nlohmann::json::parse(diagnosis_json(diagnosis));
  EXPECT_FALSE(alone.contains("hosts"));
  EXPECT_EQ(alone.at("results").at(1).at("ok"), true) << "a warning";
  diagnosis.visits.push_back(visit_to("beta", "0.1.0"));
  diagnosis.visits[0].skew = Skew{0.25, 0.001};
  diagnosis.visits[0].traffic = Traffic{1.5, 80};
  diagnosis.visits[0].addresses.push_back({"192.0.2.3:9", Fd(), "no answer"});
  const auto json = nlohmann::json::parse(diagnosis_json(diagnosis));
  EXPECT_EQ(json.at("hosts").at(0).at("clock_ahead_s"), 0.25);
  EXPECT_EQ(json.at("hosts").at(0).at("gb_per_s"), 1.5);
  EXPECT_EQ(json.at("hosts").at(0).at("addresses").at(0).at("reached"), false);
}

}  // namespace
}  // namespace unisono::tools
