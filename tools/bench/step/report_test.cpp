// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/step/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/trace.hpp"
#include "testing/folder.hpp"

namespace unisono::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StepRow row_of(const std::string& planner, double ms) {
  StepRow row;
  row.planner = planner;
  row.steps_ms = {ms - 1, ms, ms + 1};
  row.late_ms = {0.1, 0.2, 0.3};
  row.buckets = 4;
  row.planned = 1;
  return row;
}

StepResults three_planners() {
  StepResults results;
  results.ranks = 2;
  results.order = "topo";
  results.transport = "auto";
  results.integrity = "auth";
  results.emulate = "off";
  results.rows = {row_of("wfbp", 30), row_of("single", 24), row_of("threshold", 20)};
  results.rows.push_back({});
  results.rows.back().planner = "merged";
  results.rows.back().refused = "option planner: no <merged> yet";
  return results;
}

StepSettings ten_milliseconds() {
  StepSettings settings;
  settings.profile.name = "a & b";
  settings.profile.tensors = {{"t", 4'000'000, 10'000, 0}};
  settings.profile.compute_us = 10'000;
  return settings;
}

TEST(StepReport, TheTableComparesWithWfbpWithSingleAndWithTheBest) {
  const std::string text = step_table(ten_milliseconds(), {}, three_planners());
  EXPECT_THAT(text, HasSubstr("threshold"));
  EXPECT_THAT(text, HasSubstr("1.50x"));     // 30 / 20
  EXPECT_THAT(text, HasSubstr("1.20x"));     // 24 / 20
  EXPECT_THAT(text, HasSubstr("0.67x"));     // 20 / 30
  EXPECT_THAT(text, HasSubstr("not measured: merged: option planner: no <merged> yet"));
  EXPECT_THAT(text, Not(HasSubstr("EMULATED")));
}

TEST(StepReport, WhatIsEmulatedIsSaid) {
  StepResults results = three_planners();
  results.emulate = "alpha=0.5ms";
  EXPECT_THAT(step_table(ten_milliseconds(), {}, results),
              HasSubstr("EMULATED on top: alpha=0.5ms"));
}

TEST(StepReport, RatiosNeedWhatTheyCompareWith) {
  StepResults results = three_planners();
  results.rows.erase(results.rows.begin());
  const auto document = nlohmann::json::parse(step_json(ten_milliseconds(), {}, results));
  EXPECT_FALSE(document["results"][0].contains("over_wfbp"));
  EXPECT_DOUBLE_EQ(document["results"][1]["over_single"].get<double>(), 1.2);
  EXPECT_DOUBLE_EQ(document["results"][0]["exposed_ms"].get<double>(), 14);
  EXPECT_EQ(document["results"][2]["refused"], "option planner: no <merged> yet");
}

TEST(StepReport, ThePictureHasABarForEachPlannerThatWasMeasured) {
  const std::string svg = step_svg(ten_milliseconds(), {}, three_planners());
  EXPECT_THAT(svg, HasSubstr("a &amp; b"));
  EXPECT_THAT(svg, HasSubstr(">threshold</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("merged")));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

TEST(StepReport, TheStepItselfCanBeReadAgain) {
  const TestFolder folder;
  auto again = read_trace(folder.file("step.json", profile_json(ten_milliseconds().profile)));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->tensors[0].bytes, 4'000'000);
  EXPECT_DOUBLE_EQ(again->compute_us, 10'000);
}

TEST(StepReport, ResultsSurviveTheWayFromRankToCommand) {
  const nlohmann::json sent = three_planners();
  const auto got = nlohmann::json::parse(sent.dump()).get<StepResults>();
  EXPECT_EQ(got.rows.size(), 4U);
  EXPECT_DOUBLE_EQ(got.rows[1].median_ms(), 24);
  EXPECT_EQ(got.rows[3].refused, three_planners().rows[3].refused);
}

}  // namespace
}  // namespace unisono::tools
