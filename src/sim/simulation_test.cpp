// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/simulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/data/text.hpp"
#include "sim/cores/cores.hpp"
#include "sim/study/study.hpp"
#include "sim/timeline/timeline_step.hpp"

namespace unisono::sim {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

SimSettings small(const char* order = "cache", const char* pacing = "event") {
  SimSettings s;
  s.workload = make_workload("resnet50", 50).value();
  s.network = parse_network("infiniband-edr").value();
  s.ranks = 12;
  s.host.ranks_per_host = 4;
  s.iterations = 5;
  s.order = order;
  s.pacing = pacing;
  return s;
}

SimResult run(const SimSettings& s) {
  auto result = simulate(s);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? result.value() : SimResult{};
}

TEST(Simulation, StepsEndUnderEveryOrderAndPacing) {
  for (const auto& [name, about, make] : order::order_table()) {
    const std::string order(name);
    for (const char* pacing : {"event", "cycle", "gs", "nbcs"}) {
      SCOPED_TRACE(cat(order, " ", pacing));
      const SimResult r = run(small(order.c_str(), pacing));
      EXPECT_TRUE(r.failure.ok()) << r.failure.to_string();
      EXPECT_EQ(r.steps, 5);
      EXPECT_GT(r.step_ms, 50);
      EXPECT_LT(r.step_ms, 120);
    }
  }
}

TEST(Simulation, AnotherSeedIsNotTheSameNoiseOnOtherRanks) {
  SimSettings s = small();
  s.network = parse_network("400gbe").value();
  s.host.jitter_sigma = 0.05;
  s.ranks = 8;
  std::set<double> steps;
  for (s.seed = 1; s.seed <= 5; ++s.seed) steps.insert(run(s).step_ms);
  EXPECT_EQ(steps.size(), 5U);
  EXPECT_GT(*steps.rbegin() - *steps.begin(), 0.1);
}

TEST(Simulation, TheSameSeedGivesTheSameRunAndAnotherSeedAnother) {
  SimSettings s = small("cache", "cycle");
  s.faults.delay_probability = 0.1;
  s.faults.duplicate_probability = 0.1;
  const SimResult a = run(s), b = run(s);
  EXPECT_EQ(a.digest, b.digest);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.step_ms, b.step_ms);
  s.seed = 2;
  EXPECT_NE(run(s).digest, a.digest);
}

TEST(Simulation, AnotherNumberOfIterationsDoesNotChangeTheFirst) {
  SimSettings s = small();
  s.host.jitter_sigma = 0.05;
  s.iterations = 1;
  const double first = run(s).step_ms;
  s.iterations = 4;
  const SimResult four = run(s);
  EXPECT_LE(four.step_p10_ms, first);
  EXPECT_GE(four.step_p90_ms, first);
}

TEST(Simulation, TopoSendsNothingOnceItHasLearned) {
  const SimResult r = run(small("topo"));
  EXPECT_TRUE(r.failure.ok()) << r.failure.to_string();
  EXPECT_EQ(r.control_messages, 0);
  EXPECT_EQ(r.control_bytes, 0);
}

// Its only bucket is on its way for longer than the second that topo_patience_s is.
TEST(Simulation, TopoPlansLongStepsAsSoonAsShortOnes) {
  SimSettings s = small("topo");
  s.planner = "single";
  s.network = parse_network("1gbe").value();
  const SimResult r = run(s);
  EXPECT_TRUE(r.failure.ok()) << r.failure.to_string();
  EXPECT_GT(r.exposed_ms, 1000);
  EXPECT_EQ(r.control_messages, 0);
}

TEST(Simulation, ThePlansOfTopoAreArrangedByThePlanner) {
  SimSettings s = small("topo");
  s.network = parse_network("10gbe").value();
  s.host.jitter_sigma = 0;
  const auto with = [&](const char* planner) {
    s.planner = planner;
    return run(s);
  };
  EXPECT_EQ(with("wfbp").buckets, 161);
  EXPECT_EQ(with("single").buckets, 1);
  EXPECT_EQ(with("threshold").buckets, 2);
  const SimResult merged = with("merged");
  EXPECT_GT(merged.buckets, 2);
  EXPECT_LT(merged.buckets, 20);
  for (const char* other : {"wfbp", "single", "threshold"}) {
    EXPECT_LT(merged.step_ms, with(other).step_ms) << other;
  }
}

TEST(Simulation, APlanThatIsFollowedTakesWhatTheTimelineSays) {
  // Without noise all ranks are ready at the learned times, so only threads and their wake-ups
  // are between the two engines.
  SimSettings s = small("topo");
  s.host.jitter_sigma = 0;
  s.shuffle = false;
  for (const char* network : {"10gbe", "infiniband-edr"}) {
    s.network = parse_network(network).value();
    for (const char* planner : {"wfbp", "single", "threshold", "merged", "merged-greedy"}) {
      s.planner = planner;
      const SimResult events = run(s), timeline = timeline_step(s).value();
      EXPECT_EQ(events.buckets, timeline.buckets) << network << " " << planner;
      EXPECT_NEAR(events.step_ms, timeline.step_ms, 0.01 * timeline.step_ms)
          << network << " " << planner;
      s.plan_codecs = "fp16";
      const SimResult encoded = run(s), said = timeline_step(s).value();
      EXPECT_NEAR(encoded.step_ms, said.step_ms, 0.01 * said.step_ms) << network << " " << planner;
      EXPECT_LE(encoded.step_ms, 1.001 * events.step_ms) << network << " " << planner;
      s.plan_codecs = "none";
    }
  }
}

TEST(Simulation, WithPriorityTensorsTravelInPartsAndSmallOnesTogether) {
  SimSettings s = small("topo");
  s.planner = "priority";
  s.network = parse_network("10gbe").value();
  s.host.jitter_sigma = 0;
  const SimResult r = run(s);
  EXPECT_TRUE(r.failure.ok()) << r.failure.to_string();
  EXPECT_EQ(r.control_messages, 0);
  EXPECT_NEAR(r.buckets, timeline_step(s).value().buckets, 5);
}

TEST(Simulation, TheCacheSaysTheSameWithFewerBytesThanTheCoordinator) {
  const SimResult coordinator = run(small("coordinator")), cache = run(small("cache"));
  EXPECT_LT(cache.control_bytes, coordinator.control_bytes / 5);
}

TEST(Simulation, DelayedDuplicatedAndReorderedMessagesChangeNoResult) {
  for (const auto& [name, about, make] : order::order_table()) {
    for (const char* pacing : {"event", "gs"}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        SCOPED_TRACE(cat(name, " ", pacing, " seed ", seed));
        SimSettings s = small(std::string(name).c_str(), pacing);
        s.seed = seed;
        s.faults.delay_probability = 0.2;
        s.faults.delay_mean_ms = 2;
        s.faults.duplicate_probability = 0.2;
        s.faults.reorder_probability = 0.3;
        const SimResult r = run(s);
        EXPECT_TRUE(r.failure.ok()) << r.failure.to_string();
        EXPECT_EQ(r.steps, 5);
      }
    }
  }
}

TEST(Simulation, APartitionHoldsTheJobUpUntilItIsOver) {
  SimSettings s = small();
  s.warm_up = 0;
  s.iterations = 6;
  s.faults.partitions = {{100, 700, 6}};
  const SimResult r = run(s);
  EXPECT_TRUE(r.failure.ok()) << r.failure.to_string();
  EXPECT_GT(r.virtual_ms, 700);
  EXPECT_GT(r.step_p90_ms, 400);
}

TEST(Simulation, ADeadRankEndsTheJobWithAnErrorThatNamesIt) {
  for (const auto& [name, about, make] : order::order_table()) {
    for (const char* pacing : {"event", "cycle"}) {
      SCOPED_TRACE(cat(name, " ", pacing));
      SimSettings s = small(std::string(name).c_str(), pacing);
      s.iterations = 100;
      s.faults.kills = {{7, 1500}};
      const SimResult r = run(s);
      EXPECT_THAT(r.failure.code(), AnyOf(Code::peer_left, Code::peer_lost));
      EXPECT_THAT(r.failure.message(), HasSubstr("rank 7"));
      EXPECT_LT(r.virtual_ms, 4000);
    }
  }
}

TEST(Simulation, AStragglerLimitsTheStepAndIsCalledSo) {
  SimSettings s = small();
  s.faults.stragglers = {{5, 1.5}};
  const SimResult r = run(s);
  EXPECT_NEAR(r.step_ms, 75, 5);
  EXPECT_EQ(r.limited_by, "straggler");
}

TEST(Simulation, SaysWhatLimitsAStep) {
  SimSettings s = small();
  s.host.jitter_sigma = 0;
  EXPECT_EQ(run(s).limited_by, "compute");
  s.network = parse_network("1gbe").value();
  EXPECT_EQ(run(s).limited_by, "bandwidth");
  s = small("coordinator", "cycle");
  s.host.jitter_sigma = 0;
  s.tuning.cycle = Nanos(300'000'000);
  EXPECT_EQ(run(s).limited_by, "control");
  s = small();
  s.host.jitter_sigma = 0;
  s.planner = "wfbp";
  s.network = parse_network("alpha=1e-3,beta=1e-12").value();
  EXPECT_EQ(run(s).limited_by, "latency");
}

TEST(Simulation, SpinningSlowsComputeWhereCoresAreShort) {
  SimSettings s = small("cache", "cycle");
  s.tuning.cycle = Nanos(5'000'000);
  s.host.jitter_sigma = 0;
  s.host.cores_per_rank = 4;
  s.host.window = 1;
  s.host.stall_mean_ms = 10;
  s.host.displaced_per_ms = 0.01;
  s.faults.oversleeps = {{3, 20, 4}};   // the others wait for rank 3 from then on
  s.host.busy_threads = 1;
  const SimResult roomy = run(s);
  s.host.busy_threads = 4;
  const SimResult tight = run(s);
  s.host.partitioned = true;
  const SimResult apart = run(s);
  EXPECT_GT(tight.spin_share, 0.2);
  EXPECT_GT(tight.straggler_ms, roomy.straggler_ms + 1);
  EXPECT_NEAR(apart.step_ms, roomy.step_ms, 0.05 * roomy.step_ms);
  s.pacing = "nbcs";
  s.host.partitioned = false;
  EXPECT_EQ(run(s).spin_share, 0);
}

TEST(Simulation, WhatTheDeviceHasSlackForDelaysNothing) {
  SimSettings s = small("cache", "cycle");
  s.tuning.cycle = Nanos(5'000'000);
  s.host.jitter_sigma = 0;
  s.host.cores_per_rank = s.host.busy_threads = 4;
  s.host.window = 1;
  s.faults.oversleeps = {{3, 20, 4}};   // the others spin from then on, and take a fifth of a core
  const SimResult tight = run(s);
  s.host.slack_us = 50e3;
  const SimResult loose = run(s);
  EXPECT_GT(tight.straggler_ms, 5);
  EXPECT_LT(loose.straggler_ms, 0.1);
}

TEST(SharedCores, StepsEndUnderEveryOrderAndTheSameSeedGivesTheSameRun) {
  for (const auto& [name, about, make] : order::order_table()) {
    if (in_one_order(name)) continue;     // refused, below
    for (const int ranks : {1, 2, 3, 8}) {
      SCOPED_TRACE(cat(name, " ", ranks));
      SimSettings s = two_cores_settings(std::string(name).c_str(), ranks);
      const SimResult a = run(s), b = run(s);
      EXPECT_TRUE(a.failure.ok()) << a.failure.to_string();
      EXPECT_EQ(a.steps, 10);
      EXPECT_EQ(a.digest, b.digest);
      s.seed = 2;
      if (ranks == 1) continue;
      EXPECT_NE(run(s).digest, a.digest);
    }
  }
}

TEST(SharedCores, MoreRanksOnTheSameCoresTakeLongerToAgreeAndMoreCoresLessLong) {
  for (const char* order : {"coordinator", "tree", "cache"}) {
    SCOPED_TRACE(order);
    const double two = run(two_cores_settings(order, 2)).negotiation_ms;
    const double eight = run(two_cores_settings(order, 8)).negotiation_ms;
    EXPECT_GT(eight, 2 * two);
    SimSettings roomy = two_cores_settings(order, 8);
    roomy.host.shared_cores = 16;
    EXPECT_LT(run(roomy).negotiation_ms, eight);
  }
}

TEST(SharedCores, RefusesWhatItDoesNotModel) {
  SimSettings s = two_cores_settings("cache", 2);
  s.pacing = "cycle";
  EXPECT_THAT(simulate(s).status().message(), HasSubstr("pacing event"));
  EXPECT_THAT(simulate(two_cores_settings("program", 2)).status().message(),
              HasSubstr("agree by name"));
}

TEST(Cores, ThreadsQueueForACoreAndGiveWayWhenTheirSliceIsOver) {
  Cores cores(1, 100);
  EXPECT_TRUE(cores.take(7));
  EXPECT_TRUE(cores.may_go_on(0, 1000));  // nobody waits
  EXPECT_FALSE(cores.take(8));
  EXPECT_FALSE(cores.take(9));
  EXPECT_TRUE(cores.may_go_on(0, 99));
  EXPECT_FALSE(cores.may_go_on(0, 100));
  EXPECT_EQ(cores.give_way(7), 8);
  EXPECT_EQ(cores.leave(), 9);
  EXPECT_EQ(cores.leave(), 7);
  EXPECT_EQ(cores.leave(), -1);
  EXPECT_TRUE(cores.take(3));
}

TEST(Simulation, RefusesSettingsThatCannotBe) {
  SimSettings s = small("cahce");
  EXPECT_THAT(simulate(s).status().message(), HasSubstr("no order"));
  s = small("cache", "sometimes");
  EXPECT_THAT(simulate(s).status().message(), HasSubstr("no pacing"));
  s = small();
  s.faults.kills = {{12, 1}};
  EXPECT_THAT(simulate(s).status().message(), HasSubstr("no rank 12"));
}

TEST(Oversleep, UnderCycleTheOtherRankWaitsInNearlyEveryRoundThatFollows) {
  const OversleepVerdict v = judge_oversleep(run(oversleep_settings("cache", "cycle")));
  EXPECT_GT(v.rounds, 100);
  EXPECT_GT(v.share(), 0.9);
  EXPECT_GT(v.time_in_rounds, 0.9);
}

TEST(Oversleep, UnderGlobalSleepItIsForgottenAfterOneRound) {
  const OversleepVerdict v = judge_oversleep(run(oversleep_settings("cache", "gs")));
  EXPECT_GT(v.rounds, 100);
  EXPECT_LE(v.until_recovered, 1);
  EXPECT_LT(v.time_in_rounds, 0.01);
}

TEST(Oversleep, UnderNbcsTheOtherRankIsInRoundsAllTheTimeAndNeverSpins) {
  const SimResult r = run(oversleep_settings("cache", "nbcs"));
  EXPECT_GT(judge_oversleep(r).time_in_rounds, 0.9);
  EXPECT_EQ(r.spin_share, 0);
}

TEST(Oversleep, UnderEventThereIsNothingToWaitFor) {
  for (const char* order : {"cache", "topo"}) {
    const SimResult r = run(oversleep_settings(order, "event"));
    EXPECT_TRUE(r.rounds.empty());
    EXPECT_EQ(r.spin_share, 0);
    EXPECT_GT(r.efficiency, 0.99);
  }
}

}  // namespace
}  // namespace unisono::sim
