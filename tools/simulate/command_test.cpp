// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/data/text.hpp"
#include "exit_codes.hpp"
#include "testing/folder.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two ranks that agree on almost nothing.
Printed simulated(int wanted_code, const std::vector<std::string>& more) {
  std::vector<std::string> line{"--model", "tiny", "--ranks", "2", "--iterations", "1"};
  line.insert(line.end(), more.begin(), more.end());
  int code = -1;
  Printed printed = printed_by([&] { code = simulate_command(line); });
  EXPECT_EQ(code, wanted_code) << join_text(line, " ") << "\n" << printed.err;
  return printed;
}

TEST(SimulateCommand, ThereIsARowPerCombinationInTheOrderGiven) {
  const Printed printed =
      simulated(kSuccess, {"--order", "tree,cache", "--planner", "wfbp,single", "--json", "-"});
  const auto document = nlohmann::json::parse(printed.out);
  std::vector<std::string> rows;
  for (const auto& row : document.at("results")) {
    rows.push_back(cat(row.at("order").get<std::string>(), " ",
                       row.at("planner").get<std::string>()));
  }
  EXPECT_THAT(rows, ElementsAre("tree wfbp", "tree single", "cache wfbp", "cache single"));
}

TEST(SimulateCommand, AllPlannersAreComparedForEachNumberOfRanks) {
  int code = -1;
  const Printed printed = printed_by([&] {
    code = simulate_command({"--model", "resnet50", "--ranks", "8,64", "--network", "10gbe",
                             "--planner", "all", "--json", "-"});
  });
  ASSERT_EQ(code, kSuccess) << printed.err;
  const auto document = nlohmann::json::parse(printed.out);
  ASSERT_EQ(document.at("results").size(), 16U);
  std::map<std::string, double> at_64;
  for (const auto& row : document.at("results")) {
    if (row.at("ranks") == 64) at_64[row.at("planner")] = row.at("step_ms").get<double>();
  }
  for (const char* planner : {"wfbp", "single", "threshold", "groups", "merged-greedy"}) {
    EXPECT_LE(at_64.at("merged"), at_64.at(planner)) << planner;
  }
}

TEST(SimulateCommand, ThePictureHasALineForEachStrategyAndOneForCompute) {
  const TestFolder folder;
  const std::string path = folder.path() + "/steps.svg";
  int code = -1;
  printed_by([&] {
    code = simulate_command({"--model", "tiny", "--ranks", "2,4", "--planner", "wfbp,merged",
                             "--plot", path});
  });
  EXPECT_EQ(code, kSuccess);
  const std::string svg = text_of_file(path);
  for (const char* part : {">wfbp<", ">merged<", ">compute alone<", "on a timeline",
                           "merged, 4 ranks: "}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  simulated(kSuccess, {"--order", "tree,cache", "--plot", path});
  EXPECT_THAT(text_of_file(path), HasSubstr(">tree<"));
  EXPECT_THAT(simulated(kJobFailed, {"--plot", "/no/such/folder/x.svg"}).err,
              HasSubstr("cannot write /no/such/folder/x.svg"));
}

TEST(SimulateCommand, SeveralSeedsAreRunsOfTheirOwn) {
  const Printed printed = simulated(kSuccess, {"--seed", "5", "--seeds", "3", "--json", "-"});
  const auto row = nlohmann::json::parse(printed.out).at("results").at(0);
  ASSERT_EQ(row.at("step_ms_each").size(), 3U);
  for (const int i : {0, 1, 2}) {
    const Printed alone = simulated(kSuccess, {"--seed", std::to_string(5 + i), "--json", "-"});
    EXPECT_EQ(nlohmann::json::parse(alone.out).at("results").at(0).at("step_ms"),
              row.at("step_ms_each").at(static_cast<std::size_t>(i)));
  }
}

TEST(SimulateCommand, AStudyIsRepeatedWithEachSeed) {
  int code = -1;
  const Printed printed = printed_by([&] {
    code = simulate_command({"--study", "paper001", "--study-scale", "0.0005", "--iterations", "2",
                             "--seeds", "3", "--json", "-"});
  });
  ASSERT_EQ(code, kSuccess) << printed.err;
  const auto figure = nlohmann::json::parse(printed.out).at("figures").at(0);
  EXPECT_LT(figure.at("simulated_low").get<double>(), figure.at("simulated").get<double>());
  EXPECT_LT(figure.at("simulated").get<double>(), figure.at("simulated_high").get<double>());
}

TEST(SimulateCommand, AGlobalBatchIsDividedAmongRanks) {
  const auto results = [](const std::string& ranks, int wanted) {
    int code = -1;
    const Printed printed = printed_by([&] {
      code = simulate_command({"--model", "resnet50", "--ranks", ranks, "--global-batch", "100",
                               "--planner", "merged", "--network", "400gbe", "--json", "-"});
    });
    EXPECT_EQ(code, wanted);
    return wanted == kSuccess ? printed.out : printed.err;
  };
  const auto rows = nlohmann::json::parse(results("2,3", kSuccess)).at("results");
  EXPECT_EQ(rows.at(0).at("batch").get<int>(), 50);
  EXPECT_EQ(rows.at(1).at("batch").get<int>(), 34) << "the rank with the most counts";
  const auto compute_ms = [](const auto& row) {
    return row.at("step_ms").template get<double>() * row.at("efficiency").template get<double>();
  };
  EXPECT_NEAR(compute_ms(rows.at(0)), 178 * (0.1 + 0.9 * 50 / 64), 1e-6);
  EXPECT_NEAR(compute_ms(rows.at(1)), 178 * (0.1 + 0.9 * 34 / 64), 1e-6);
  EXPECT_THAT(results("101", kWrongUsage),
              HasSubstr("a global batch of 100 leaves some of 101 ranks without work"));
}

TEST(SimulateCommand, AFileGetsTheJsonAndStandardOutputTheTable) {
  const TestFolder folder;
  const std::string path = folder.path() + "/out.json";
  const Printed printed = simulated(kSuccess, {"--json", path});
  EXPECT_THAT(printed.out, HasSubstr("tiny: 4 tensors"));
  EXPECT_EQ(nlohmann::json::parse(text_of_file(path)).at("results").size(), 1U);
}

TEST(SimulateCommand, AJobThatDiesIsAFailureThatIsStillReported) {
  const Printed printed = simulated(kJobFailed, {"--kill", "1@5"});
  EXPECT_THAT(printed.out, HasSubstr("Failed:\ncache, event, 2 ranks, at "));
}

TEST(SimulateCommand, SettingsThatCannotBeAreWrongUsage) {
  EXPECT_THAT(simulated(kWrongUsage, {"--kill", "2@5"}).err, HasSubstr("no rank 2 to kill"));
  EXPECT_THAT(simulated(kWrongUsage, {"--straggler", "2=3"}).err, HasSubstr("no rank 2 to slow"));
  EXPECT_NE(simulated(kWrongUsage, {"--study", "no-such-study"}).err, "");
}

TEST(SimulateCommand, AFileThatCannotBeWrittenIsAFailure) {
  const Printed printed = simulated(kJobFailed, {"--json", "/no/such/folder/out.json"});
  EXPECT_THAT(printed.err, HasSubstr("cannot write /no/such/folder/out.json"));
}

}  // namespace
}  // namespace unisono::tools
