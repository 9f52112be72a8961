// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace unisono::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

Row reported(const std::string& impl, std::int64_t bytes, double p10, double median, double p90) {
  Row row;
  row.label = {impl, impl.starts_with("unisono") ? "auto" : "default", "shm"};
  row.ranks = 2;
  row.bytes = bytes;
  row.p10_us = p10;
  row.median_us = median;
  row.p90_us = p90;
  row.repetitions = 5;
  row.iterations = 500;
  row.checked = true;
  return row;
}

struct BenchReport {
  BenchSettings settings;
  Machine machine;
  Measurement measured;

  BenchReport() {
    settings.dtypes = {DType::f32};
    settings.command = "unisono bench allreduce";
    machine.cpu = "Chip";
    machine.cores = 2;
    machine.load = 0.25;
    machine.versions = {{"gloo", "torch 2.1"}, {"unisono", "1.0"}};
  }
  void add(Row row) { measured.rows.push_back(std::move(row)); }
  std::string table() const { return table_text(settings, machine, measured); }
  nlohmann::json json() const {
    return nlohmann::json::parse(json_text(settings, machine, measured));
  }
};

TEST(BenchReport, NumbersHaveThreeDigitsThatMatter) {
  EXPECT_EQ(short_number(0), "0.00");
  EXPECT_EQ(short_number(1.234), "1.23");
  EXPECT_EQ(short_number(45.64), "45.6");
  EXPECT_EQ(short_number(12345.4), "12345");
}

TEST(BenchReport, TrafficIsWhatAllRanksReadAndWrite) {
  EXPECT_DOUBLE_EQ(traffic_gb_per_s(reported("limit", 1'000'000, 1000, 2000, 3000)), 4.0);
  EXPECT_TRUE(std::isfinite(traffic_gb_per_s(reported("limit", 8, 0, 0, 0))));
}

TEST(BenchReport, OursIsComparedWithTheBestPeerAndTheLimit) {
  BenchReport report;
  report.add(reported("unisono", 1 << 20, 9, 10, 11));
  report.add(reported("gloo", 1 << 20, 38, 40, 44));
  report.add(reported("mpich", 1 << 20, 18, 20, 24));
  report.add(reported("limit", 1 << 20, 4, 5, 6));
  const std::string text = report.table();
  for (const char* part :
       {"allreduce, 2 ranks, fp32, 5 rounds\n", "load 0.2", "gloo torch 2.1, unisono 1.0\n",
        "1 MiB", "10.0 ±1.00  2.00x  40%", "20.0 ±3.00", "5.00 ±1.00  1049 GB/s",
        "x: how many times", "%: of the memory limit"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(BenchReport, AWrongResultIsMarkedAndNothingToCompareWith) {
  BenchReport report;
  report.add(reported("unisono", 8, 9, 10, 11));
  report.add(reported("gloo", 8, 18, 20, 24));
  report.measured.rows.back().checked = false;
  EXPECT_THAT(report.table(), HasSubstr("20.0 ±3.00 WRONG"));
  EXPECT_THAT(report.table(), Not(HasSubstr("2.00x")));
  EXPECT_THAT(report.table(), Not(HasSubstr("x: how many times")));
  report.measured.rows.front().checked = false;
  EXPECT_THAT(report.table(), HasSubstr("10.0 ±1.00 WRONG"));
}

TEST(BenchReport, WorkThatAContenderCouldNotDoHasADash) {
  BenchReport report;
  report.add(reported("unisono", 8, 9, 10, 11));
  report.add(reported("gloo", 8, 18, 20, 24));
  EXPECT_THAT(report.table(), Not(HasSubstr("-\n")));
  report.add(reported("unisono", 16, 9, 10, 11));
  EXPECT_THAT(report.table(), HasSubstr("-\n"));
}

TEST(BenchReport, SeveralElementTypesAndAlgorithmsAreToldApart) {
  BenchReport report;
  report.settings.dtypes = {DType::f32, DType::bf16};
  report.add(reported("unisono", 8, 9, 10, 11));
  report.add(reported("unisono", 8, 9, 12, 11));
  report.measured.rows[1].label.algorithm = "ring";
  report.add(reported("unisono", 8, 9, 14, 15));
  report.measured.rows[2].dtype = DType::bf16;
  const std::string text = report.table();
  for (const char* part : {"dtype   bytes", "unisono:ring", " fp32       8", " bf16       8",
                           "14.0 ±3.00"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(BenchReport, ExplanationsFollowTheTable) {
  BenchReport report;
  report.add(reported("unisono", 8, 1, 2, 3));
  EXPECT_FALSE(report.json().contains("explanations"));
  report.measured.explanations = {{"unisono", "ring; it is the fastest.\n"}};
  EXPECT_THAT(report.table(), HasSubstr("\n\nunisono\nring; it is the fastest.\n"));
  EXPECT_EQ(report.json().at("explanations").at("unisono"), "ring; it is the fastest.\n");
}

TEST(BenchReport, JsonHasEveryRowWithItsFigures) {
  BenchReport report;
  report.add(reported("unisono", 1'000'000, 9, 10, 11));
  report.add(reported("gloo", 1'000'000, 18, 20, 24));
  report.add(reported("limit", 1'000'000, 4, 5, 6));
  report.measured.rows[1].checked = false;
  const nlohmann::json document = report.json();
  EXPECT_EQ(document.at("command"), "unisono bench allreduce");
  EXPECT_EQ(document.at("machine").at("versions").at("gloo"), "torch 2.1");
  const nlohmann::json& rows = document.at("results");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows.at(0).at("collective"), "allreduce");
  EXPECT_EQ(rows.at(0).at("dtype"), "fp32");
  EXPECT_EQ(rows.at(0).at("bytes").get<int>(), 1'000'000);
  EXPECT_EQ(rows.at(0).at("p10_us").get<double>(), 9);
  EXPECT_EQ(rows.at(0).at("median_us").get<double>(), 10);
  EXPECT_EQ(rows.at(0).at("p90_us").get<double>(), 11);
  EXPECT_DOUBLE_EQ(rows.at(0).at("percent_of_limit").get<double>(), 40);
  EXPECT_FALSE(rows.at(1).contains("percent_of_limit"));
  EXPECT_FALSE(rows.at(1).at("checked").get<bool>());
  EXPECT_DOUBLE_EQ(rows.at(2).at("gb_per_s").get<double>(), 1000);
  EXPECT_FALSE(rows.at(0).contains("gb_per_s"));
}

}  // namespace
}  // namespace unisono::tools
