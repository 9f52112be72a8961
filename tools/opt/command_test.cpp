// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "opt/command.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "exit_codes.hpp"
#include "opt/arguments.hpp"
#include "testing/folder.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Opt : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return folder_.path() + "/" + name; }
  Printed run(const std::vector<std::string>& arguments, int expected = kSuccess) {
    int code = -1;
    const Printed printed = printed_by([&] { code = opt_command(arguments); });
    EXPECT_EQ(code, expected) << printed.err;
    return printed;
  }

  const TestFolder folder_;
};

TEST_F(Opt, GeneratesTrainsAndPredicts) {
  run({"generate", "url", "--rows", "600", "--out", in("data.svm"), "--seed", "3"});
  run({"generate", "url", "--rows", "200", "--out", in("held.svm"), "--seed", "3", "--first-row",
       "600"});
  const Printed trained = run({"train", "--data", in("data.svm"), "--held", in("held.svm"),
                               "--batch", "100", "--epochs", "4", "--model", in("m"), "--json",
                               in("report.json")});
  EXPECT_THAT(trained.out, AllOf(HasSubstr("600 rows"), HasSubstr("communication s"),
                                 HasSubstr("exchange: allgather")));
  const auto report = nlohmann::json::parse(text_of_file(in("report.json")));
  ASSERT_EQ(report["epochs"].size(), 4u);
  for (const char* key : {"loss", "accuracy", "compute_s", "communication_s", "bytes"}) {
    EXPECT_TRUE(report["epochs"][3][key].is_number()) << key;
  }
  EXPECT_LT(report["epochs"][3]["loss"], report["epochs"][0]["loss"]);
  const double held = report["held_accuracy"];
  EXPECT_GT(held, 0.55);
  const Printed predicted = run({"predict", "--model", in("m"), "--data", in("held.svm"), "--out",
                                 in("labels"), "--json", "-"});
  EXPECT_NEAR(nlohmann::json::parse(predicted.out)["accuracy"], held, 1e-9)
      << "the model file is the model";
  EXPECT_THAT(text_of_file(in("labels")), testing::StartsWith("-1 -"));
}

TEST_F(Opt, WithJsonToStandardOutputNothingElseIsThere) {
  const std::string data = folder_.file("data", "1 1:1\n-1 2:1\n1 1:2 3:1\n");
  const Printed printed = run({"train", "--data", data, "--solver", "scd", "--epochs", "2",
                               "--exchange", "dense", "--json", "-"});
  const auto report = nlohmann::json::parse(printed.out);
  EXPECT_EQ(report["exchange"], "dense");
  EXPECT_EQ(report["solver"], "scd");
  EXPECT_TRUE(report["held_accuracy"].is_null());
}

TEST_F(Opt, NothingIsTrainedOnHalfAFile) {
  const std::string data = folder_.file("data", "1 1:1\n-1 2:1\n1 2:1 1:2\n");
  const Printed printed = run({"train", "--data", data, "--model", in("m"), "--json", in("j")},
                              kJobFailed);
  EXPECT_EQ(printed.out, "");
  EXPECT_EQ(printed.err, "unisono opt: " + data +
                             ":3:7: index 1 comes after 2; indices must ascend\n");
  EXPECT_EQ(text_of_file(in("m")) + text_of_file(in("j")), "");
}

TEST_F(Opt, SaysWhyACacheIsNotUsed) {
  const std::string data = folder_.file("data", "1 1:1\n-1 2:1\n");
  folder_.file("cache.0-of-1", "something else");
  const std::vector<std::string> line{"train", "--data", data, "--cache", in("cache"),
                                      "--epochs", "1"};
  EXPECT_THAT(run(line).err, HasSubstr("this is no cache, or a damaged one; read the text"));
  EXPECT_EQ(run(line).err, "");
}

TEST_F(Opt, PredictsWhereLabelsAreUnknown) {
  const std::string data = folder_.file("data", "1 1:1\n-1 2:1\n");
  run({"train", "--data", data, "--model", in("m"), "--epochs", "1"});
  const std::string other = folder_.file("other", "0 1:1\n0 2:1 9:1\n");
  const Printed printed = run({"predict", "--model", in("m"), "--data", other});
  EXPECT_THAT(printed.out, HasSubstr("2 rows, 1 of the higher label"));
  EXPECT_THAT(run({"predict", "--model", data, "--data", other}, kJobFailed).err,
              HasSubstr("this is no model"));
}

TEST_F(Opt, WrongUsageIsToldApart) {
  run({"train"}, kWrongUsage);
  run({"train", "--data", "x", "--loss", "square"}, kWrongUsage);
  EXPECT_THAT(run({"train", "--data", "x", "--exchange", "tree"}, kWrongUsage).err,
              HasSubstr("dense"));
  run({"generate", "movies", "--rows", "1", "--out", in("x")}, kWrongUsage);
  run({}, kWrongUsage);
  EXPECT_THAT(run({"--help"}).out, AllOf(HasSubstr("Examples:"), HasSubstr("Exit codes")));
  EXPECT_THAT(run({"train", "--help"}).out, AllOf(HasSubstr("--async"), HasSubstr("allgather")));
}

TEST(OptArguments, SettingsReachTheTrainer) {
  const OptArguments asked = parse_opt_arguments(
      {"train", "--data", "d", "--loss", "hinge", "--solver", "scd", "--async", "--l2", "0.5",
       "--rate", "2", "--schedule", "step", "--threads", "3", "--epochs", "7", "--batch", "11"});
  EXPECT_EQ(asked.exit_code, -1);
  EXPECT_EQ(asked.train.solver.loss, opt::Loss::hinge);
  EXPECT_EQ(asked.train.solver.kind, opt::SolverKind::scd);
  EXPECT_TRUE(asked.train.solver.async);
  EXPECT_EQ(asked.train.solver.l2, 0.5);
  EXPECT_EQ(asked.train.solver.rate.rate, 2);
  EXPECT_EQ(asked.train.solver.rate.schedule, opt::Schedule::step);
  EXPECT_EQ(asked.train.threads, 3);
  EXPECT_EQ(asked.train.epochs, 7);
  EXPECT_EQ(asked.train.solver.batch, 11u);
}

}  // namespace
}  // namespace unisono::tools
