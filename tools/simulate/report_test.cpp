// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "order/order.hpp"
#include "order/pacing/pacing.hpp"
#include "plan/iteration/iteration.hpp"
#include "plan/planner.hpp"

namespace unisono::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

SimulateSettings reported_settings() {
  SimulateSettings settings;
  settings.base.workload.name = "step";
  settings.base.workload.tensors = {{"a", 1'500'000, 10}, {"b", 500'000, 20}};
  settings.base.workload.compute_us = 5000;
  settings.base.seed = 7;
  settings.command = "unisono simulate --trace step";
  return settings;
}

SimulatedRow finished_row() {
  SimulatedRow row{4, "cache", "event", "threshold", {}};
  row.result.steps = 5;
  row.result.step_ms = 6;
  row.result.exposed_ms = 1;
  row.result.efficiency = 5.0 / 6;
  row.result.control_messages = 12345;
  row.result.control_bytes = 2'500'000;
  row.result.buckets = 3;
  row.result.limited_by = "bandwidth";
  return row;
}

SimulatedRow failed_row() {
  SimulatedRow row{4, "tree", "gs", "threshold", {}};
  row.result.failure = Status(Code::peer_lost, "rank 3 died");
  row.result.virtual_ms = 151.5;
  return row;
}

TEST(SimulateReport, ATableSaysWhatWasSimulatedAndOneLinePerRow) {
  const std::string text = table_text(reported_settings(), {finished_row()});
  for (const char* part : {"step: 2 tensors, 2.0 MB, compute 5.0 ms; network 10gbe", "seed 7\n",
                           "cache    event   threshold", "6.00", "1.00", "0.833", "12.3K", "2.5M",
                           "bandwidth"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("Failed:")));
}

TEST(SimulateReport, DetailIsShownWhenAskedFor) {
  SimulateSettings settings = reported_settings();
  EXPECT_THAT(table_text(settings, {finished_row()}), Not(HasSubstr("straggler")));
  settings.detail = true;
  EXPECT_THAT(table_text(settings, {finished_row()}), HasSubstr("straggler"));
}

TEST(SimulateReport, AJobThatFailedSaysWhenAndWhy) {
  const std::string text = table_text(reported_settings(), {finished_row(), failed_row()});
  EXPECT_THAT(text, HasSubstr("failed\n"));
  EXPECT_THAT(text, HasSubstr("\nFailed:\ntree, gs, 4 ranks, at 151.5 ms: rank 3 died\n"));
}

SimulateSettings timeline_settings() {
  SimulateSettings settings = reported_settings();
  settings.engine = SimulateEngine::timeline;
  return settings;
}

TEST(SimulateReport, ATimelineHasNoColumnsOfAgreement) {
  SimulateSettings settings = timeline_settings();
  SimulatedRow row = finished_row();
  row.order = row.pacing = "-";
  row.planner = "merged";
  const std::string text = table_text(settings, {row});
  for (const char* part : {"; a timeline\n", "merged        4      6.00", "0.833", "bandwidth",
                           "no agreement, no noise, no faults",
                           "no forward times, so every tensor is needed at once"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("messages")));
  settings.base.workload.forward_us = 1000;
  EXPECT_THAT(table_text(settings, {row}), Not(HasSubstr("no forward times")));
  const auto document = nlohmann::json::parse(json_text(settings, {row}));
  EXPECT_EQ(document.at("engine"), "timeline");
  EXPECT_EQ(document.at("results").at(0).at("planner"), "merged");
}

TEST(SimulateReport, WhatAnAllLeftOutStandsBelowTheTable) {
  SimulateSettings settings = reported_settings();
  settings.note = "Not among these planners: merged.";
  EXPECT_THAT(table_text(settings, {finished_row()}), HasSubstr("\nNot among these planners: "));
}

TEST(SimulateReport, SeveralSeedsAreAMedianAndAnInterval) {
  SimulateSettings settings = reported_settings();
  settings.seeds = 3;
  SimulatedRow row = finished_row();
  row.step_ms = {6.25, 6.1, 6.75};
  row.efficiency = {0.8, 0.75, 0.82};
  row.step_each_ms = {6.25, 6, 7};
  const std::string text = table_text(settings, {row, failed_row()});
  for (const char* part : {"seeds 7 to 9\n", "6.25", "6.10-6.75", "0.750-0.820",
                           "the median of the seeds"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const auto rows = nlohmann::json::parse(json_text(settings, {row, failed_row()})).at("results");
  EXPECT_EQ(rows.at(0).at("seeds").get<int>(), 3);
  EXPECT_EQ(rows.at(0).at("step_ms_of_seeds").at("high").get<double>(), 6.75);
  EXPECT_EQ(rows.at(0).at("efficiency_of_seeds").at("median").get<double>(), 0.8);
  EXPECT_FALSE(rows.at(1).contains("seeds"));
}

TEST(SimulateReport, AGlobalBatchHasItsShareAndItsRate) {
  SimulateSettings settings = reported_settings();
  settings.global_batch = 600;
  SimulatedRow row = finished_row();
  row.batch = 150;
  const std::string text = table_text(settings, {row});
  for (const char* part : {"samples/s", "150      100000", "compute is 10 % fixed"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const auto rows = nlohmann::json::parse(json_text(settings, {row})).at("results");
  EXPECT_EQ(rows.at(0).at("samples_per_s").get<double>(), 100'000);
}

TEST(SimulateReport, JsonHasARowForEachRun) {
  const auto document = nlohmann::json::parse(
      json_text(reported_settings(), {finished_row(), failed_row()}));
  EXPECT_EQ(document.at("command"), "unisono simulate --trace step");
  EXPECT_EQ(document.at("engine"), "events");
  EXPECT_EQ(document.at("seed").get<int>(), 7);
  EXPECT_EQ(document.at("workload").at("bytes").get<int>(), 2'000'000);
  const auto& rows = document.at("results");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows.at(0).at("order"), "cache");
  EXPECT_EQ(rows.at(0).at("ranks").get<int>(), 4);
  EXPECT_EQ(rows.at(0).at("step_ms").get<double>(), 6);
  EXPECT_FALSE(rows.at(0).contains("failure"));
  EXPECT_EQ(rows.at(1).at("failure"), "rank 3 died");
}

SeededStudy small_study() {
  SeededStudy seeded;
  sim::Study& study = seeded.study;
  study.rows = {{"inside", "x", 1, 2, 1.5, ""},
                {"above", "x", 1, 2, 3, "a note"},
                {"below", "%", 90, 90, 45, ""},
                {"nobody's", "x", 0, 0, 1.25, "", false}};
  study.runs = {{"run one", 4, "cache", "event", "threshold", finished_row().result}};
  for (const sim::StudyRow& row : study.rows) {
    seeded.simulated.push_back({row.simulated, row.simulated - 0.25, row.simulated + 0.5});
  }
  return seeded;
}

TEST(SimulateReport, AStudyOfSeveralSeedsHasIntervals) {
  SimulateSettings settings = reported_settings();
  settings.study = "oversleep";
  EXPECT_THAT(study_text(settings, small_study()), Not(HasSubstr("68 %")));
  settings.seeds = 3;
  const std::string text = study_text(settings, small_study());
  for (const char* part : {"seeds 7 to 9", "68 %", "2.75-3.50", "44.8-45.5", "of the first seed"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const auto document = nlohmann::json::parse(study_json(settings, small_study()));
  EXPECT_EQ(document.at("figures").at(1).at("simulated_high").get<double>(), 3.5);
}

TEST(SimulateReport, AStudySaysHowFarItsFiguresAreFromThePublishedOnes) {
  SimulateSettings settings = reported_settings();
  settings.study = "oversleep";
  const std::string text = study_text(settings, small_study());
  for (const char* part : {"study oversleep; seed 7", "1.00-2.00", "within", "+50 %", "90.0",
                           "-50 %", "\nNotes:\n  above: a note\n", "run one"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(SimulateReport, JsonOfAStudyHasFiguresAndNamedRuns) {
  SimulateSettings settings = reported_settings();
  settings.study = "oversleep";
  const auto document = nlohmann::json::parse(study_json(settings, small_study()));
  EXPECT_EQ(document.at("study"), "oversleep");
  ASSERT_EQ(document.at("figures").size(), 4U);
  EXPECT_EQ(document.at("figures").at(0).at("error").get<double>(), 0);
  EXPECT_DOUBLE_EQ(document.at("figures").at(1).at("error").get<double>(), 0.5);
  EXPECT_TRUE(document.at("figures").at(3).at("published_low").is_null());
  EXPECT_TRUE(document.at("figures").at(3).at("error").is_null());
  EXPECT_EQ(document.at("figures").at(3).at("simulated").get<double>(), 1.25);
  EXPECT_EQ(document.at("results").at(0).at("name"), "run one");
  EXPECT_EQ(document.at("results").at(0).at("limited_by"), "bandwidth");
}

TEST(SimulateReport, TheListNamesEverythingThatCanBeChosen) {
  const std::string text = list_text();
  const auto expect_listed = [&](const auto& table) {
    for (const auto& row : table) EXPECT_THAT(text, HasSubstr(cat("\n  ", row.name, " ")));
  };
  expect_listed(sim::model_table());
  expect_listed(sim::network_table());
  expect_listed(order::order_table());
  expect_listed(order::pacing_table());
  expect_listed(plan::planner_table());
  expect_listed(plan::iteration_table());
  expect_listed(sim::study_table());
}

TEST(SimulateReport, TheListSaysHowLargeModelsAreAndWhereFiguresComeFrom) {
  const std::string text = list_text();
  for (const char* part :
       {"25,557,032 parameters in 161 tensors of 107 layers, 102,228,128 bytes",
        "k80: 646 ms, 33 % of it forward, for 32 images, fp32 (published by TensorFlow",
        "\n  wifi            0.03 GB/s, L 1500 us", "order of magnitude", "hop: paper 003"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace unisono::tools
