// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "study/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using StudyWords = std::vector<std::string>;

ScalingSettings study_settings(const StudyWords& line) {
  const ScalingArguments parsed = parse_study_arguments(line);
  EXPECT_EQ(parsed.exit_code, -1) << join_text(line, " ");
  return parsed.settings;
}

std::string study_complaint(const StudyWords& line) {
  ScalingArguments parsed;
  const Printed printed = printed_by([&] { parsed = parse_study_arguments(line); });
  EXPECT_EQ(parsed.exit_code, kWrongUsage) << join_text(line, " ");
  return printed.err;
}

TEST(StudyArguments, WhatIsNotTheStudysOwnIsTheSimulators) {
  const ScalingSettings settings =
      study_settings({"weak", "--model", "resnet50", "--ranks", "2,4", "--network", "25gbe",
                      "--order", "topo", "--runs", "7", "--jitter", "0.05"});
  EXPECT_EQ(settings.kind, ScalingKind::weak);
  EXPECT_THAT(settings.ranks, ElementsAre(2, 4));
  EXPECT_EQ(settings.runs, 7);
  EXPECT_EQ(settings.simulated.seeds, 7);
  EXPECT_EQ(settings.simulated.base.network.name, "25gbe");
  EXPECT_EQ(settings.simulated.base.host.jitter_sigma, 0.05);
  EXPECT_THAT(settings.simulated.orders, ElementsAre("topo"));
}

TEST(StudyArguments, PlannersOfAnIterationCanBeFollowed) {
  EXPECT_EQ(study_settings({"weak", "--model", "resnet50", "--planner", "merged"}).simulated.engine,
            SimulateEngine::timeline);
}

TEST(StudyArguments, AProgramStandsBehindTwoDashes) {
  const ScalingSettings settings = study_settings(
      {"strong", "--ranks", "1,2", "--global-batch", "64", "--", "prog", "--batch", "{batch}"});
  EXPECT_THAT(settings.program, ElementsAre("prog", "--batch", "{batch}"));
  EXPECT_EQ(settings.global_batch, 64);
  EXPECT_THAT(settings.pattern, HasSubstr("throughput:"));
  EXPECT_THAT(study_settings({"time-to-solution", "--", "prog"}).pattern,
              HasSubstr("time to solution:"));
  EXPECT_EQ(study_settings({"weak", "--pattern", "x (.*)", "--", "prog"}).pattern, "x (.*)");
}

TEST(StudyArguments, WhatIsMissingOrTooMuchIsNamed) {
  EXPECT_THAT(study_complaint({}), HasSubstr("which study?"));
  EXPECT_THAT(study_complaint({"week"}), HasSubstr("no study \"week\"; did you mean weak?"));
  EXPECT_THAT(study_complaint({"weak", "--"}), HasSubstr("which program?"));
  EXPECT_THAT(study_complaint({"weak"}), HasSubstr("give one of --model NAME, --trace FILE"));
  EXPECT_THAT(study_complaint({"weak", "--model", "resnet50", "--order", "all"}),
              HasSubstr("one order, one pacing and one planner"));
  EXPECT_THAT(study_complaint({"weak", "--model", "resnet50", "--planner", "all"}),
              HasSubstr("one order, one pacing and one planner"));
  EXPECT_THAT(study_complaint({"strong", "--model", "resnet50"}), HasSubstr("--global-batch N"));
  EXPECT_THAT(study_complaint({"weak", "--model", "resnet50", "--global-batch", "8"}),
              HasSubstr("unisono study strong"));
  EXPECT_THAT(study_complaint({"time-to-solution", "--model", "resnet50"}),
              HasSubstr("Give --samples N"));
  EXPECT_THAT(study_complaint({"time-to-solution", "--model", "tiny", "--samples", "9"}),
              HasSubstr("of how many samples is the compute of tiny? Give --batch N"));
  EXPECT_THAT(study_complaint({"weak", "--model", "resnet50", "--samples", "9"}),
              HasSubstr("belong to unisono study time-to-solution"));
  EXPECT_THAT(study_complaint({"weak", "--model", "resnet50", "--pattern", "(x)"}),
              HasSubstr("--pattern is for a program"));
  EXPECT_THAT(study_complaint({"weak", "--model", "resnet50", "--", "prog"}),
              HasSubstr("--model: a program is not simulated"));
  EXPECT_THAT(study_complaint({"weak", "--pattern", "no figure", "--", "prog"}),
              HasSubstr("put the figure in parentheses"));
  EXPECT_THAT(study_complaint({"weak", "--pattern", "([", "--", "prog"}),
              HasSubstr("--pattern (["));
  EXPECT_NE(study_complaint({"weak", "--model", "resnet50", "--no-such-option"}), "");
  EXPECT_NE(study_complaint({"weak", "--ranks", "0", "--", "prog"}), "");
}

}  // namespace
}  // namespace unisono::tools
