// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/step/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exit_codes.hpp"
#include "testing/folder.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// What is said about a line that cannot be.
std::string refusal_of(const std::vector<std::string>& line) {
  int exit_code = -1;
  const Printed printed = printed_by([&] { exit_code = parse_step_arguments(line).exit_code; });
  EXPECT_EQ(exit_code, kWrongUsage) << printed.out << printed.err;
  return printed.err;
}

TEST(StepArguments, AModelAndItsPlanners) {
  const auto parsed = parse_step_arguments(
      {"--model", "resnet50", "--planner", "wfbp, single,wfbp", "-np", "3", "--repeat", "2"});
  ASSERT_EQ(parsed.exit_code, -1);
  EXPECT_THAT(parsed.settings.planners, ElementsAre("wfbp", "single"));
  EXPECT_EQ(parsed.settings.profile.tensors.size(), 161U);
  EXPECT_EQ(parsed.settings.ranks, 3);
  EXPECT_EQ(parsed.settings.repeat, 2);
  EXPECT_THAT(parsed.settings.options, Contains(Pair("order", "topo")));
}

TEST(StepArguments, AllMeansThosePlannersThatAreYetToComeToo) {
  const auto parsed = parse_step_arguments({"--model", "tiny"});
  ASSERT_EQ(parsed.exit_code, -1);
  for (const char* name : {"wfbp", "single", "threshold", "groups", "merged-greedy", "merged",
                           "two-phase", "priority"}) {
    EXPECT_THAT(parsed.settings.planners, Contains(name));
  }
}

TEST(StepArguments, OptionsOfTheEngineGoToTheEngine) {
  const auto parsed = parse_step_arguments(
      {"--model", "tiny", "--order", "cache", "--integrity", "plain", "--fusion-bytes", "2M",
       "--emulate", "alpha=0.5ms,beta=8ns", "--set", "tree_radix=4", "--transport", "tcp",
       "--plan-codecs", "fp16"});
  ASSERT_EQ(parsed.exit_code, -1);
  EXPECT_THAT(parsed.settings.options,
              ElementsAre(Pair("order", "cache"), Pair("transport", "tcp"),
                          Pair("integrity", "plain"), Pair("fusion_bytes", "2M"),
                          Pair("emulate", "alpha=0.5ms,beta=8ns"), Pair("plan_codecs", "fp16"),
                          Pair("tree_radix", "4")));
}

TEST(StepArguments, WhatCannotBeIsRefusedWithItsReason) {
  EXPECT_THAT(refusal_of({}), HasSubstr("--model NAME or --trace FILE"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--trace", "x.json"}), HasSubstr("not both"));
  EXPECT_THAT(refusal_of({"--model", "resnet5000"}), HasSubstr("resnet5000"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--planner", "mergd"}),
              HasSubstr("did you mean merged?"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--planner", "wfbp,"}), HasSubstr("no planner \"\""));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--order", "topoo"}), HasSubstr("did you mean topo?"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--emulate", "alpha=fast"}),
              HasSubstr("option emulate"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--set", "novalue"}), HasSubstr("write key=value"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--set", "planner=wfbp"}), HasSubstr("--planner"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--plot", "x.png"}), HasSubstr("FILE.svg"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--scale", "0"}), HasSubstr("--scale"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--steps", "0"}), HasSubstr("--steps"));
  EXPECT_THAT(refusal_of({"--model", "tiny", "--nonsense"}), HasSubstr("--nonsense"));
}

TEST(StepArguments, AProfileThatCannotBeIsNamedWithPlaceAndReason) {
  const TestFolder folder;
  EXPECT_THAT(refusal_of({"--trace", folder.path() + "/none.json"}), HasSubstr("cannot be read"));
  EXPECT_THAT(refusal_of({"--trace", folder.file("cut.json", R"({"tensors":[{"name":)")}),
              HasSubstr("cut.json"));
  EXPECT_THAT(refusal_of({"--trace", folder.file("word.json",
                                                 R"({"tensors":[{"name":"a","bytes":"x","ready_us":1}]})")}),
              HasSubstr("tensors[0]"));
  EXPECT_THAT(refusal_of({"--trace", folder.file("empty.json", R"({"tensors":[]})")}),
              HasSubstr("no tensors"));
  EXPECT_THAT(
      refusal_of({"--trace", folder.file("huge.json", R"({"tensors":[{"name":"a","bytes":)"
                                                      R"(900000000000,"ready_us":5}]})")}),
      HasSubstr("do not fit"));
  EXPECT_THAT(refusal_of({"--forward-waits", "--trace",
                          folder.file("flat.json", R"({"tensors":[{"name":"a","bytes":4,)"
                                                   R"("ready_us":5}]})")}),
              HasSubstr("forward_us"));
}

TEST(StepArguments, AScaledStepKeepsWholeFloatsAndTheOrderOfItsTimes) {
  sim::Workload step;
  step.tensors = {{"a", 1000, 10, 4}, {"b", 5, 20, 2}, {"c", 4, 40, 0}};
  step.compute_us = 50;
  step.forward_us = 8;
  const sim::Workload tenth = scaled(step, 0.1);
  EXPECT_EQ(tenth.tensors[0].bytes, 100);
  EXPECT_EQ(tenth.tensors[1].bytes, 4);
  EXPECT_EQ(tenth.tensors[2].bytes, 4);
  EXPECT_DOUBLE_EQ(tenth.tensors[2].ready_us, 4);
  EXPECT_DOUBLE_EQ(tenth.tensors[0].forward_us, 0.4);
  EXPECT_DOUBLE_EQ(tenth.compute_us, 5);
  EXPECT_DOUBLE_EQ(tenth.forward_us, 0.8);
  EXPECT_EQ(scaled(step, 1).tensors[1].bytes, 8);
}

}  // namespace
}  // namespace unisono::tools
