// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "simulate/arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "doctor/costs.hpp"
#include "exit_codes.hpp"
#include "order/order.hpp"
#include "order/pacing/pacing.hpp"
#include "plan/planner.hpp"
#include "sim/timeline/timeline_step.hpp"
#include "testing/folder.hpp"
#include "testing/printed.hpp"

namespace unisono::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Words = std::vector<std::string>;

Words for_tiny(const Words& arguments) {
  Words line{"--model", "tiny"};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return line;
}

SimulateSettings simulate_settings(const Words& line) {
  const SimulateArguments parsed = parse_simulate_arguments(line);
  EXPECT_EQ(parsed.exit_code, -1) << join_text(line, " ");
  return parsed.settings;
}

// What a wrong line is answered with.
std::string simulate_complaint(const Words& line) {
  SimulateArguments parsed;
  const Printed printed = printed_by([&] { parsed = parse_simulate_arguments(line); });
  EXPECT_EQ(parsed.exit_code, kWrongUsage) << join_text(line, " ");
  EXPECT_EQ(printed.out, "");
  return printed.err;
}

Words names_in(const auto& table) {
  Words names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

TEST(SimulateArguments, AModelAloneIsEnough) {
  const SimulateSettings settings = simulate_settings(for_tiny({}));
  EXPECT_EQ(settings.base.workload.name, "tiny");
  EXPECT_EQ(settings.base.network.name, "10gbe");
  EXPECT_EQ(settings.base.fusion_bytes, 64 << 20);
  EXPECT_THAT(settings.ranks, ElementsAre(8));
  EXPECT_THAT(settings.orders, ElementsAre("cache"));
  EXPECT_EQ(settings.command, "unisono simulate --model tiny");
}

TEST(SimulateArguments, ListsAreTakenApart) {
  const SimulateSettings settings = simulate_settings(
      for_tiny({"--ranks", "8,64,512", "--order", "tree,topo", "--pacing", "gs,event"}));
  EXPECT_THAT(settings.ranks, ElementsAre(8, 64, 512));
  EXPECT_THAT(settings.orders, ElementsAre("tree", "topo"));
  EXPECT_THAT(settings.pacings, ElementsAre("gs", "event"));
}

TEST(SimulateArguments, AllIsEveryNameThereIs) {
  const SimulateSettings settings = simulate_settings(
      for_tiny({"--order", "all", "--pacing", "all", "--planner", "all"}));
  EXPECT_EQ(settings.orders, names_in(order::order_table()));
  EXPECT_EQ(settings.pacings, names_in(order::pacing_table()));
  Words playable = names_in(plan::planner_table());
  for (const char* more : {"merged-greedy", "merged", "priority"}) playable.push_back(more);
  EXPECT_EQ(settings.planners, playable);
  EXPECT_THAT(simulate_complaint(for_tiny({"--order", "tree,all"})),
              HasSubstr("no order \"all\""));
}

TEST(SimulateArguments, PlannersOfAnIterationArePlayedOnATimeline) {
  for (const char* planner : {"merged", "two-phase", "priority", "merged-greedy"}) {
    const SimulateSettings settings = simulate_settings(for_tiny({"--planner", planner}));
    EXPECT_EQ(settings.engine, SimulateEngine::timeline) << planner;
    EXPECT_THAT(settings.planners, ElementsAre(planner));
  }
  const SimulateSettings mixed = simulate_settings(for_tiny({"--planner", "wfbp,merged"}));
  EXPECT_EQ(mixed.engine, SimulateEngine::timeline);
  EXPECT_THAT(mixed.planners, ElementsAre("wfbp", "merged"));
  EXPECT_EQ(simulate_settings(for_tiny({"--planner", "wfbp"})).engine, SimulateEngine::events);
  EXPECT_EQ(simulate_settings(for_tiny({"--planner", "wfbp", "--engine", "timeline"})).engine,
            SimulateEngine::timeline);
}

TEST(SimulateArguments, PlannersOfAnIterationArrangeThePlansOfOrdersThatMakeSome) {
  for (const Words& more : {Words{"--order", "topo"}, Words{"--order", "cache,auto"},
                            Words{"--order", "topo", "--engine", "events"}}) {
    Words line = for_tiny({"--planner", "merged,priority"});
    line.insert(line.end(), more.begin(), more.end());
    const SimulateSettings settings = simulate_settings(line);
    EXPECT_EQ(settings.engine, SimulateEngine::events);
    EXPECT_THAT(settings.planners, ElementsAre("merged", "priority"));
  }
}

TEST(SimulateArguments, AllPlannersAreThoseOfTheTimelineUnlessEventsAreAskedFor) {
  const SimulateSettings all = simulate_settings(for_tiny({"--planner", "all"}));
  const auto known = sim::timeline_planners();
  EXPECT_EQ(all.engine, SimulateEngine::timeline);
  EXPECT_EQ(all.planners, Words(known.begin(), known.end()));
  EXPECT_EQ(all.note, "");
  for (const Words& more : {Words{"--order", "cache"}, Words{"--engine", "events"},
                            Words{"--seed", "3"}, Words{"--straggler", "0=2"}}) {
    Words line = for_tiny({"--planner", "all"});
    line.insert(line.end(), more.begin(), more.end());
    const SimulateSettings events = simulate_settings(line);
    EXPECT_EQ(events.engine, SimulateEngine::events) << more.front();
    EXPECT_EQ(events.planners, names_in(plan::planner_table()));
    EXPECT_THAT(events.note, HasSubstr("Not among these planners: merged-greedy, merged, "
                                       "two-phase, priority. They arrange a whole iteration"));
    EXPECT_THAT(events.note, HasSubstr("orders that plan (topo, auto) all but two-phase"));
  }
}

TEST(SimulateArguments, WhatTheOtherEngineCannotPlayIsSaid) {
  EXPECT_THAT(simulate_complaint(for_tiny({"--planner", "merged", "--order", "cache"})),
              HasSubstr("planner merged arranges a whole iteration beforehand, which the event "
                        "engine plays with an order that plans, topo or auto (it has threshold, "
                        "wfbp, single, groups here); on a timeline --order means nothing"));
  EXPECT_THAT(simulate_complaint(for_tiny({"--planner", "two-phase", "--order", "topo"})),
              HasSubstr("planner two-phase arranges a whole iteration beforehand, which the event "
                        "engine cannot play"));
  EXPECT_THAT(simulate_complaint(for_tiny({"--planner", "priority", "--engine", "events"})),
              HasSubstr("planner priority arranges a whole iteration beforehand"));
  const std::string plain =
      simulate_complaint(for_tiny({"--engine", "timeline", "--kill", "1@5"}));
  EXPECT_THAT(plain, HasSubstr("on a timeline --kill means nothing"));
  EXPECT_THAT(plain, Not(HasSubstr("arranges")));
}

TEST(SimulateArguments, AnUnknownNameIsAnsweredWithWhatIsKnown) {
  EXPECT_THAT(simulate_complaint(for_tiny({"--order", "tree,cahce"})),
              HasSubstr("no order \"cahce\"; did you mean cache?"));
  EXPECT_THAT(simulate_complaint(for_tiny({"--pacing", "sometimes"})),
              HasSubstr("no pacing \"sometimes\"; one of event, cycle, gs, nbcs"));
  EXPECT_THAT(simulate_complaint(for_tiny({"--planner", "groop"})),
              HasSubstr("no planner \"groop\"; did you mean groups?"));
  EXPECT_THAT(simulate_complaint(for_tiny({"--planner", "wfbp,mergd"})),
              HasSubstr("no planner \"mergd\"; did you mean merged?"));
  EXPECT_THAT(simulate_complaint({"--model", "nothing"}),
              HasSubstr("no model \"nothing\"; see unisono simulate --list"));
}

TEST(SimulateArguments, AWorkloadIsAModelOrATraceAndNotBoth) {
  constexpr const char* kOne = "give one of --model NAME, --trace FILE and --study NAME";
  EXPECT_THAT(simulate_complaint({}), HasSubstr(kOne));
  EXPECT_THAT(simulate_complaint(for_tiny({"--trace", "step.json"})), HasSubstr(kOne));
  const TestFolder folder;
  const std::string trace = folder.file(
      "step.json", R"({"tensors": [{"name": "a", "bytes": 8, "ready_us": 20}]})");
  EXPECT_EQ(simulate_settings({"--trace", trace}).base.workload.compute_us, 20);
}

TEST(SimulateArguments, ListsAndStudiesNeedNoWorkload) {
  EXPECT_TRUE(simulate_settings({"--list"}).list);
  EXPECT_EQ(simulate_settings({"--study", "oversleep"}).study, "oversleep");
  EXPECT_THAT(simulate_complaint({"--study", "oversleep", "--plot", "x.svg"}),
              HasSubstr("--plot: a study is a table"));
}

TEST(SimulateArguments, ComputeTakesAsLongAsIsSaidAndMayHandOverAtItsEnd) {
  const SimulateSettings settings = simulate_settings(for_tiny({"--compute-ms", "50", "--at-end"}));
  EXPECT_EQ(settings.base.workload.compute_us, 50e3);
  for (const sim::WorkloadTensor& tensor : settings.base.workload.tensors) {
    EXPECT_EQ(tensor.ready_us, 50e3);
  }
}

TEST(SimulateArguments, AModelIsTimedOnADeviceAndHandedOverByTensorOrLayer) {
  const auto workload = [](const Words& more) {
    Words line{"--model", "resnet50"};
    line.insert(line.end(), more.begin(), more.end());
    return simulate_settings(line).base.workload;
  };
  EXPECT_EQ(workload({}).compute_us, 178e3);
  EXPECT_EQ(workload({"--device", "k80"}).compute_us, 646e3);
  EXPECT_EQ(workload({"--device", "k80", "--compute-ms", "40"}).compute_us, 40e3);
  EXPECT_EQ(workload({}).tensors.size(), 161U);
  EXPECT_EQ(workload({"--granularity", "layers"}).tensors.size(), 107U);
  EXPECT_THAT(simulate_complaint({"--model", "resnet50", "--device", "abacus"}),
              HasSubstr("nothing is known of resnet50 on \"abacus\""));
  EXPECT_THAT(simulate_complaint(for_tiny({"--granularity", "atoms"})), HasSubstr("--granularity"));
  EXPECT_THAT(simulate_complaint({"--trace", "step.json", "--device", "k80"}),
              HasSubstr("--device and --granularity choose among what is known of a --model"));
}

TEST(SimulateArguments, ANetworkIsANameOrItsParameters) {
  EXPECT_EQ(simulate_settings(for_tiny({"--network", "100gbe"})).base.network.name, "100gbe");
  EXPECT_EQ(simulate_settings(for_tiny({"--network", "alpha=5e-5,beta=1e-9"})).base.network.name,
            "alpha=5e-5,beta=1e-9");
  for (const char* text : {"pigeon", "alpha=5e-5", "alpha=x,beta=1e-9", "alpha=1,beta=-1"}) {
    EXPECT_THAT(simulate_complaint(for_tiny({"--network", text})), HasSubstr("--network "));
  }
}

TEST(SimulateArguments, AnEmulatedNetworkIsOnTopOfTheOther) {
  const sim::Network plain = simulate_settings(for_tiny({"--network", "1gbe"})).base.network;
  const sim::Network slower =
      simulate_settings(for_tiny({"--network", "1gbe", "--emulate", "alpha=0.5ms,beta=8ns"}))
          .base.network;
  EXPECT_DOUBLE_EQ(slower.launch_us - plain.launch_us, 500);
  EXPECT_DOUBLE_EQ(slower.emulated_ns_per_byte, 8);
  EXPECT_EQ(slower.hop_us, plain.hop_us);
  EXPECT_THAT(simulate_complaint(for_tiny({"--emulate", "slow"})), HasSubstr("--emulate slow"));
}

TEST(SimulateArguments, PlansMayHaveCodecs) {
  const auto base =
      simulate_settings(for_tiny({"--plan-codecs", "fp16,bf16", "--codec-ns", "0.5"})).base;
  EXPECT_EQ(base.plan_codecs, "fp16,bf16");
  EXPECT_DOUBLE_EQ(base.network.codec_ns_per_byte, 0.5);
  EXPECT_THAT(simulate_complaint(for_tiny({"--plan-codecs", "morse"})), HasSubstr("morse"));
  EXPECT_THAT(simulate_complaint(for_tiny({"--codec-ns", "1"})), HasSubstr("--plan-codecs"));
}

TEST(SimulateArguments, StragglersKillsAndPartitionsAreRead) {
  const sim::Faults faults =
      simulate_settings(for_tiny({"--straggler", "3=1.5", "--straggler", "0=2", "--kill", "7@0.5",
                                  "--partition", "8@100-250"}))
          .base.faults;
  ASSERT_EQ(faults.stragglers.size(), 2U);
  EXPECT_EQ(faults.stragglers[0].rank, 3);
  EXPECT_EQ(faults.stragglers[0].factor, 1.5);
  ASSERT_EQ(faults.kills.size(), 1U);
  EXPECT_EQ(faults.kills[0].rank, 7);
  EXPECT_EQ(faults.kills[0].at_ms, 0.5);
  ASSERT_EQ(faults.partitions.size(), 1U);
  EXPECT_EQ(faults.partitions[0].boundary, 8);
  EXPECT_EQ(faults.partitions[0].from_ms, 100);
  EXPECT_EQ(faults.partitions[0].until_ms, 250);
}

TEST(SimulateArguments, AWrongFaultIsNamedWithTheWayToWriteIt) {
  const auto expect_named = [](const char* option, const Words& texts) {
    for (const std::string& text : texts) {
      EXPECT_THAT(simulate_complaint(for_tiny({option, text})),
                  HasSubstr(cat(option, " ", text, ": write RANK")));
    }
  };
  expect_named("--straggler", {"3", "=2", "x=2", "3=", "3=fast", "3=1.5x", "3=0", "3=-1"});
  expect_named("--kill", {"3", "@5", "3@", "3@x", "3.5@1", "3@5ms"});
  expect_named("--partition", {"8", "8@100", "8@100-", "8@-250", "8-100@250", "x@1-2"});
}

TEST(SimulateArguments, SizesAndTimesOfTheTuningAreRead) {
  const SimulateSettings settings = simulate_settings(
      for_tiny({"--fusion-bytes", "1M", "--pacing", "gs", "--cycle-ms", "5", "--radix", "4"}));
  EXPECT_EQ(settings.base.fusion_bytes, 1 << 20);
  EXPECT_NEAR(nanos_to_seconds(settings.base.tuning.cycle), 5e-3, 1e-8);
  EXPECT_EQ(settings.base.tuning.tree_radix, 4);
  EXPECT_THAT(simulate_complaint(for_tiny({"--fusion-bytes", "much"})),
              HasSubstr("--fusion-bytes much: as 64M"));
}

TEST(SimulateArguments, GroupsArePlannedAsGroupsUnlessAPlannerWasNamed) {
  EXPECT_THAT(simulate_settings(for_tiny({"--groups", "2"})).planners, ElementsAre("groups"));
  EXPECT_THAT(simulate_settings(for_tiny({"--groups", "2", "--planner", "single"})).planners,
              ElementsAre("single"));
}

TEST(SimulateArguments, AGlobalBatchNeedsABatchThatTheComputeIsOf) {
  const SimulateSettings settings = simulate_settings(
      {"--model", "resnet50", "--global-batch", "1024", "--fixed-share", "0.25"});
  EXPECT_EQ(settings.global_batch, 1024);
  EXPECT_EQ(settings.fixed_share, 0.25);
  EXPECT_EQ(settings.base.workload.batch, 64);
  EXPECT_THAT(simulate_complaint(for_tiny({"--global-batch", "8"})),
              HasSubstr("of how many samples is the compute of tiny? Give --batch N"));
  EXPECT_EQ(simulate_settings(for_tiny({"--global-batch", "8", "--batch", "2"}))
                .base.workload.batch, 2);
}

TEST(SimulateArguments, AMeasuredNetworkIsReadAndItsLackIsNamedWithTheMend) {
  const TestFolder folder;
  const std::string path = folder.path() + "/costs.json", network = "measured:" + path;
  EXPECT_THAT(simulate_complaint(for_tiny({"--network", network})),
              HasSubstr("make one with unisono doctor -H HOST,... --costs"));
  ASSERT_TRUE(write_costs(path, {{"n1"}, {1.5, 50}, {3, 20}, 9}).ok());
  const sim::Network read = simulate_settings(for_tiny({"--network", network})).base.network;
  EXPECT_EQ(read.gb_per_s, 1.5);
  EXPECT_EQ(read.hop_us, 25);
  EXPECT_EQ(read.local_gb_per_s, 9);
  ASSERT_TRUE(write_costs(path, {{}, {}, {3, 20}, 9}).ok());
  EXPECT_THAT(simulate_complaint(for_tiny({"--network", network})),
              HasSubstr("has no way to another host"));
  EXPECT_EQ(simulate_settings(for_tiny({"--network", network, "--ranks-per-host", "8"}))
                .base.network.local_gb_per_s, 9);
}

TEST(SimulateArguments, HostsAdaptersAndSwitchesAreRead) {
  const SimulateSettings s = simulate_settings(
      for_tiny({"--hosts", "4,16", "--ranks-per-host", "8", "--nics", "2", "--hosts-per-switch",
                "4", "--oversubscription", "3", "--spine-us", "2", "--data-queue", "1M"}));
  EXPECT_THAT(s.ranks, ElementsAre(32, 128));
  EXPECT_EQ(s.base.network.nics, 2);
  EXPECT_EQ(s.base.network.hosts_per_switch, 4);
  EXPECT_EQ(s.base.network.oversubscription, 3);
  EXPECT_EQ(s.base.network.spine_us, 2);
  EXPECT_EQ(s.base.network.data_queue_bytes, 1 << 20);
}

TEST(SimulateArguments, AnOptionThatWouldMeanNothingIsRefusedWithTheReason) {
  struct Case {
    Words line;
    const char* complaint;
  };
  const Case cases[] = {
      {{"--oversubscription", "4"}, "--oversubscription means nothing without --hosts-per-switch"},
      {{"--fixed-share", "0.2"}, "--fixed-share means nothing without --global-batch"},
      {{"--stall-ms", "3"}, "without --stall-probability or --displaced-per-ms"},
      {{"--oversleep-probability", "0.1"}, "without --oversleep-ms"},
      {{"--delay-ms", "3"}, "without --delay or --reorder"},
      {{"--cycle-ms", "5"}, "pacing event has no cycle"},
      {{"--scp"}, "--scp is about threads that spin"},
      {{"--shared-cores", "2", "--jitter", "0"}, "--jitter means nothing with --shared-cores"},
      {{"--planner", "wfbp", "--fusion-bytes", "1M"}, "--fusion-bytes means nothing to wfbp"},
      {{"--hosts", "2", "--ranks", "4"}, "give one of --hosts and --ranks"},
      {{"--study-scale", "0.5"}, "--study-scale is a share of a study's ranks"},
      {{"--list"}, "--model means nothing beside --list"},
      {{"--study", "paper001"}, "--model means nothing beside --study paper001"}};
  for (const Case& each : cases) {
    EXPECT_THAT(simulate_complaint(for_tiny(each.line)), HasSubstr(each.complaint));
  }
  EXPECT_THAT(simulate_complaint({"--study", "paper003", "--seeds", "3"}),
              HasSubstr("--seeds means nothing to study paper003, which draws nothing"));
  EXPECT_THAT(simulate_complaint({"--study", "live", "--study-scale", "0.5"}),
              HasSubstr("--study-scale means nothing to study live"));
}

TEST(SimulateArguments, NumbersOutOfTheirRangeAreWrongUsage) {
  const std::vector<Words> lines{{"--ranks", "0"},    {"--ranks", "8,many"},
                                 {"--jitter", "3"},   {"--iterations", "0"},
                                 {"--cycle-ms", "0"}, {"--study-scale", "2"},
                                 {"--seeds", "0"},    {"--fixed-share", "1.5"},
                                 {"--no-such-option"}};
  for (const Words& line : lines) EXPECT_NE(simulate_complaint(for_tiny(line)), "");
}

TEST(SimulateArguments, WhatIsNoNumberOrHasNoMeasureIsWrongUsage) {
  for (const char* option : {"--compute-ms", "--jitter", "--fixed-share", "--stall-probability",
                             "--stall-ms", "--oversleep-ms", "--parse-ns", "--cycle-ms",
                             "--cores-per-rank", "--busy-threads", "--delay-ms", "--delay"}) {
    for (const char* value : {"nan", "inf", "1e300", "-1"}) {
      EXPECT_THAT(simulate_complaint(for_tiny({option, value})), HasSubstr(option)) << value;
    }
  }
}

}  // namespace
}  // namespace unisono::tools
