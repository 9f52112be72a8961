// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/timeline/timeline_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/text.hpp"
#include "plan/planner.hpp"
#include "sim/network/collective_cost.hpp"

namespace unisono::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SimSettings resnet(std::string_view planner, int ranks = 64, const char* network = "10gbe") {
  SimSettings s;
  s.workload = make_workload("resnet50").value();
  s.network = parse_network(network).value();
  s.ranks = ranks;
  s.planner = std::string(planner);
  return s;
}

SimResult timed(const SimSettings& s) {
  auto result = timeline_step(s);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? result.value() : SimResult{};
}

// Two tensors, 1 ms for any collective, no time for bytes: what can be reckoned by hand.
SimSettings by_hand(std::string_view planner) {
  SimSettings s;
  s.workload = {"two", {{"last", 1000, 2000, 1000}, {"first", 1000, 3000, 0}}, 3000, 2000};
  s.network = parse_network("alpha=0.0005,beta=1e-18").value();
  s.network.launch_us = 0;
  s.ranks = 2;
  s.planner = std::string(planner);
  return s;
}

TEST(Timeline, AStepEndsWhenItsLastBucketHasArrived) {
  const double transfer_ms = 1e-3 * allreduce_cost(by_hand("wfbp").network, 1000, 2, 1).total_us();
  for (const char* planner : {"wfbp", "merged"}) {
    const SimResult r = timed(by_hand(planner));
    EXPECT_NEAR(r.step_ms, 3 + transfer_ms, 1e-6) << planner;
    EXPECT_NEAR(r.exposed_ms, transfer_ms, 1e-6) << planner;
    EXPECT_NEAR(r.efficiency, 3 / (3 + transfer_ms), 1e-6) << planner;
    EXPECT_EQ(r.limited_by, "latency") << planner;
  }
  EXPECT_EQ(timed(by_hand("wfbp")).buckets, 2);
  EXPECT_EQ(timed(by_hand("single")).buckets, 1);
}

TEST(Timeline, WhatTheForwardPassNeedsLateMayArriveLate) {
  // The last layer is needed 1 ms into the next forward pass, so only the first one is waited for.
  SimSettings s = by_hand("priority");
  s.workload.tensors[0].ready_us = 3000;
  for (WorkloadTensor& tensor : s.workload.tensors) tensor.bytes = 3 << 20;  // do not fit together
  const double transfer_ms = 1e-3 * allreduce_cost(s.network, 3 << 20, 2, 1).total_us();
  EXPECT_NEAR(timed(s).exposed_ms, std::max(transfer_ms, 2 * transfer_ms - 1), 1e-6);
  s.planner = "wfbp";
  EXPECT_NEAR(timed(s).exposed_ms, 2 * transfer_ms, 1e-6);
}

TEST(Timeline, PrioritySendsSmallTensorsThatAreReadyTogetherAsOne) {
  SimSettings s = by_hand("priority");
  s.workload.tensors[0].ready_us = 3000;
  EXPECT_EQ(timed(s).buckets, 1);
  s.workload.tensors[0].bytes = 9 << 20;  // two whole partitions and 1 MiB
  EXPECT_EQ(timed(s).buckets, 4);       // what is less urgent does not overtake, so it joins nothing
  EXPECT_LT(timed(resnet("priority")).buckets, 100);
}

TEST(Timeline, WithoutForwardTimesEverythingIsNeededAtOnce) {
  SimSettings s = by_hand("priority");
  s.workload.forward_us = 0;
  for (WorkloadTensor& tensor : s.workload.tensors) tensor.ready_us = 3000, tensor.forward_us = 0;
  const SimResult urgent = timed(s);
  s.planner = "single";
  EXPECT_NEAR(urgent.step_ms, timed(s).step_ms, 1e-6);
}

TEST(Timeline, MergedIsNeverSlowerThanWhatAlsoWaitsForAll) {
  for (const char* network : {"1gbe", "10gbe", "100gbe", "infiniband-edr"}) {
    for (const int ranks : {2, 8, 64, 1024}) {
      const double merged = timed(resnet("merged", ranks, network)).step_ms;
      for (const char* other : {"wfbp", "single", "threshold", "groups", "merged-greedy"}) {
        EXPECT_LE(merged, timed(resnet(other, ranks, network)).step_ms * (1 + 1e-9))
            << other << ", " << network << ", " << ranks;
      }
    }
  }
}

TEST(Timeline, CodecsThatPlansMayChooseHelpWhereBytesCountAndNeverHurt) {
  for (const char* planner : {"wfbp", "single", "threshold", "merged-greedy", "merged", "priority"}) {
    for (const char* network : {"1gbe", "infiniband-edr"}) {
      SimSettings s = resnet(planner, 8, network);
      s.fusion_bytes = INT64_MAX;
      const double plain = timed(s).step_ms;
      s.plan_codecs = "fp16,bf16";
      const double chosen = timed(s).step_ms;
      EXPECT_LE(chosen, plain * (1 + 1e-3)) << planner << ", " << network;
      EXPECT_LT(chosen, (network == std::string("1gbe") ? 0.9 : 1.002) * plain) << planner;
      s.network.codec_ns_per_byte = 1000;
      EXPECT_NEAR(timed(s).step_ms, plain, 1e-3 * plain) << planner << ": none wins";
    }
  }
}

TEST(Timeline, EveryPlannerExplainsWhatIsExposed) {
  for (const std::string_view planner : timeline_planners()) {
    const SimResult r = timed(resnet(planner, 64, "1gbe"));
    EXPECT_GE(r.exposed_ms, 0) << planner;
    EXPECT_NEAR(r.latency_ms + r.bandwidth_ms, r.exposed_ms, 1e-6) << planner;
    EXPECT_NEAR(r.step_ms * r.efficiency, 178, 1e-6) << planner;
    EXPECT_GE(r.buckets, 1) << planner;
    EXPECT_NE(r.limited_by, "") << planner;
  }
}

TEST(Timeline, GroupsAndFusionBytesMeanWhatTheyMeanElsewhere) {
  SimSettings s = resnet("groups");
  EXPECT_EQ(timed(s).buckets, 161);
  s.groups = 5;
  EXPECT_EQ(timed(s).buckets, 5);
  s = resnet("threshold");
  s.fusion_bytes = 1;
  EXPECT_EQ(timed(s).buckets, 161);
}

TEST(Timeline, KnowsWhichPlannersRoundsDoNotHave) {
  EXPECT_THAT(timeline_planners(),
              ElementsAre("wfbp", "single", "threshold", "groups", "merged-greedy", "merged",
                          "two-phase", "priority"));
  for (const plan::PlannerRow& row : plan::planner_table()) {
    EXPECT_FALSE(only_on_timeline(row.name)) << row.name;
  }
  for (const char* name : {"merged-greedy", "merged", "two-phase", "priority"}) {
    EXPECT_TRUE(arranges_iterations(name)) << name;
    EXPECT_EQ(only_on_timeline(name), name == std::string_view("two-phase")) << name;
  }
  EXPECT_FALSE(only_on_timeline("no such planner"));
}

TEST(Timeline, WhatCannotBeIsRefused) {
  EXPECT_THAT(timeline_step(resnet("merged-methods")).status().message(),
              HasSubstr("no planner \"merged-methods\" on a timeline; one of wfbp"));
  EXPECT_THAT(timeline_step(resnet("merged", 0)).status().message(), HasSubstr("1 to 1,000,000"));
  SimSettings s = resnet("merged");
  s.workload.tensors.resize(100'001, {"t", 4, 1});
  EXPECT_THAT(timeline_step(s).status().message(), HasSubstr("too many; at most 100000"));
  s.workload.tensors.clear();
  EXPECT_THAT(timeline_step(s).status().message(), HasSubstr("no tensors"));
}

}  // namespace
}  // namespace unisono::sim
