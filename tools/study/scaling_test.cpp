// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "study/scaling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "study/arguments.hpp"
#include "study/command.hpp"
#include "study/report.hpp"
#include "testing/folder.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

void ignore_progress(double, const std::string&) {}

ScalingSettings parsed_study(const std::vector<std::string>& line) {
  ScalingArguments parsed = parse_study_arguments(line);
  EXPECT_EQ(parsed.exit_code, -1) << join_text(line, " ");
  return parsed.settings;
}

Scaling simulated_study(const std::vector<std::string>& line) {
  auto scaling = simulate_scaling(parsed_study(line), ignore_progress);
  EXPECT_TRUE(scaling.ok()) << scaling.status().message();
  return scaling.ok() ? scaling.value() : Scaling{};
}

TEST(Scaling, WithoutNoiseAndCommunicationWeakScalingIsPerfect) {
  const Scaling scaling =
      simulated_study({"weak", "--model", "resnet50", "--ranks", "1,4,16", "--network",
                       "alpha=1e-12,beta=1e-15", "--planner", "merged"});
  ASSERT_EQ(scaling.points.size(), 3U);
  EXPECT_EQ(scaling.unit, "samples/s");
  for (const ScalingPoint& point : scaling.points) {
    EXPECT_NEAR(point.value.median, 64 * point.ranks / 0.178, 1e-3 * point.value.median);
    EXPECT_NEAR(point.efficiency.median, 1, 1e-3);
    EXPECT_EQ(point.batch, 64 * point.ranks);
  }
}

TEST(Scaling, StrongScalingLosesWhatDoesNotShrink) {
  const Scaling scaling = simulated_study(
      {"strong", "--model", "resnet50", "--ranks", "1,64", "--network", "alpha=1e-12,beta=1e-15",
       "--planner", "merged", "--global-batch", "64", "--fixed-share", "0.1"});
  EXPECT_NEAR(scaling.points[0].value.median, 64 / 0.178, 1);
  EXPECT_NEAR(scaling.points[1].efficiency.median, 1 / (64 * 0.1 + 0.9), 1e-3);
  EXPECT_EQ(scaling.points[1].batch, 64);
}

TEST(Scaling, AtTheCriticalBatchTwiceAsManySamplesAreNeeded) {
  const std::vector<std::string> line{
      "time-to-solution", "--model", "resnet50", "--ranks", "1,63", "--network",
      "alpha=1e-12,beta=1e-15", "--planner", "merged", "--samples", "1e6"};
  const Scaling free = simulated_study(line);
  EXPECT_EQ(free.unit, "s");
  EXPECT_NEAR(free.points[0].value.median, 1e6 / 64 * 0.178, 1);
  EXPECT_NEAR(free.points[1].efficiency.median, 1, 1e-3);
  std::vector<std::string> critical = line;
  critical.insert(critical.end(), {"--critical-batch", "4032"});
  const Scaling paid = simulated_study(critical);
  EXPECT_NEAR(paid.points[1].value.median, 2 * free.points[1].value.median, 1e-3);
  EXPECT_NEAR(paid.points[1].efficiency.median, (1 + 1.0 / 63) / 2, 1e-3);
}

TEST(Scaling, SeedsMakeAnIntervalAroundTheMedian) {
  const Scaling scaling =
      simulated_study({"weak", "--model", "resnet50", "--ranks", "2,4", "--runs", "5",
                       "--iterations", "2", "--jitter", "0.05"});
  for (const ScalingPoint& point : scaling.points) {
    EXPECT_EQ(point.values.size(), 5U);
    EXPECT_LT(point.value.low, point.value.median);
    EXPECT_LT(point.value.median, point.value.high);
    EXPECT_LT(point.efficiency.low, point.efficiency.high);
  }
}

TEST(Scaling, AProgramIsStartedAtEachSizeWithItsShareOfTheBatch) {
  const ScalingSettings settings =
      parsed_study({"strong", "--ranks", "1,3", "--runs", "2", "--global-batch", "8", "--", "prog",
                    "-n{ranks}", "--batch={batch}"});
  std::vector<std::string> started;
  const auto launch = [&](const std::vector<std::string>& command) {
    started.push_back(join_text(std::span(command).subspan(1), " "));
    const bool alone = command[3] == "1";
    return Captured{0, true, cat("[0] throughput: 1\n[0] throughput: ", alone ? 10 : 24, "\n"), ""};
  };
  const auto scaling = measure_scaling(settings, launch, ignore_progress);
  ASSERT_TRUE(scaling.ok()) << scaling.status().message();
  EXPECT_THAT(started, ElementsAre("run -np 1 -- prog -n1 --batch=8",
                                   "run -np 1 -- prog -n1 --batch=8",
                                   "run -np 3 -- prog -n3 --batch=3",
                                   "run -np 3 -- prog -n3 --batch=3"));
  EXPECT_EQ(scaling.value().points[1].value.median, 24) << "the last line counts";
  EXPECT_NEAR(scaling.value().points[1].efficiency.median, 0.8, 1e-9);
}

TEST(Scaling, AProgramThatFailsOrSaysNothingIsAnErrorWithItsWords) {
  const ScalingSettings settings = parsed_study({"weak", "--ranks", "2", "--", "prog"});
  const auto error_of = [&](const Captured& captured) {
    const auto scaling = measure_scaling(
        settings, [&](const auto&) { return captured; }, ignore_progress);
    EXPECT_FALSE(scaling.ok());
    return scaling.status().message();
  };
  EXPECT_THAT(error_of({3, true, "", "rank 1 fell over"}),
              HasSubstr("run -np 2 -- prog: failed with exit code 3\nrank 1 fell over"));
  EXPECT_THAT(error_of({0, true, "nothing of use", ""}), HasSubstr("it printed no line with"));
  EXPECT_THAT(error_of({-1, false, "", ""}), HasSubstr("not at its end after 3600 s"));
}

TEST(Scaling, AFigureWithCommasIsNotReadAsItsBeginning) {
  constexpr const char* kPattern = R"(rate: ([0-9.]+))";
  EXPECT_FALSE(figure_in("rate: 1,234.5\n", kPattern).ok());
  EXPECT_FALSE(figure_in("rate: 1.2.3\n", kPattern).ok());
  EXPECT_EQ(figure_in("rate: 1234.5, all is well\n", kPattern).value(), 1234.5);
}

TEST(Scaling, FiguresAreReadFromTheLastLineThatHasOne) {
  EXPECT_EQ(figure_in("rate 1.5\nrate 2.5e3 images\nend\n", "rate ([0-9.e]+)").value(), 2500);
  EXPECT_THAT(figure_in("rate ?", "rate (.)").status().message(), HasSubstr("\"?\" is no figure"));
  EXPECT_THAT(figure_in("rate 0", "rate (.)").status().message(), HasSubstr("\"0\" is no figure"));
  EXPECT_FALSE(figure_in("", "rate (.)").ok());
}

TEST(StudyReport, TableJsonAndPictureSayTheSame) {
  const std::vector<std::string> line{"weak", "--model", "resnet50", "--ranks", "1,8", "--network",
                                      "1gbe", "--planner", "merged"};
  const ScalingSettings settings = parsed_study(line);
  const Scaling scaling = simulated_study(line);
  const std::string table = scaling_table(settings, scaling);
  for (const char* part : {"study weak: resnet50 simulated on 1gbe", "throughput, samples/s",
                           "on a timeline", "what 1 rank promises"}) {
    EXPECT_THAT(table, HasSubstr(part));
  }
  const auto document = nlohmann::json::parse(scaling_json(settings, scaling));
  EXPECT_EQ(document.at("study"), "weak");
  EXPECT_EQ(document.at("results").at(1).at("ranks").get<int>(), 8);
  EXPECT_EQ(document.at("results").at(1).at("throughput").at("median").get<double>(),
            scaling.points[1].value.median);
  const std::string svg = scaling_svg(settings, scaling);
  EXPECT_THAT(svg, EndsWith("</svg>\n"));
  for (const char* part : {">simulated<", ">ideal<", "8 ranks: "}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
}

TEST(StudyCommand, WritesWhatWasAskedFor) {
  const TestFolder folder;
  const std::string json = folder.path() + "/s.json", plot = folder.path() + "/s.svg";
  int code = -1;
  const Printed printed = printed_by([&] {
    code = study_command({"weak", "--model", "tiny", "--ranks", "1,2", "--runs", "2",
                          "--iterations", "1", "--json", json, "--plot", plot});
  });
  EXPECT_EQ(code, kSuccess) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("steps/s, of all ranks"));
  EXPECT_EQ(nlohmann::json::parse(text_of_file(json)).at("results").size(), 2U);
  EXPECT_THAT(text_of_file(plot), HasSubstr("<svg"));
  printed_by([&] {
    code = study_command({"weak", "--model", "tiny", "--ranks", "1", "--iterations", "1", "--plot",
                          "/no/such/folder/s.svg"});
  });
  EXPECT_EQ(code, kJobFailed);
}

}  // namespace
}  // namespace unisono::tools
