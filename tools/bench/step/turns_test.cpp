// SPDX-FileCopyrightText: 2026 the unisono authors
// SPDX-License-Identifier: Apache-2.0
// Steps replayed by ranks that are threads; every sum is compared with what it must be.
#include "bench/step/turns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "bench/step/replay.hpp"

namespace unisono::tools {
namespace {

using ::testing::HasSubstr;

sim::Workload short_step() {
  sim::Workload step;
  step.name = "short";
  step.tensors = {{"last", 40'000, 600, 300}, {"big", 1'000'000, 800, 200},
                  {"bias", 4, 900, 100},      {"first", 8'196, 1'000, 0}};
  step.compute_us = 1'100;
  step.forward_us = 400;
  return step;
}

StepSettings short_run() {
  StepSettings settings;
  settings.profile = short_step();
  settings.steps = 2;
  settings.repeat = 2;
  settings.warmup = 6;
  settings.warmup_most = 30;
  return settings;
}

// What each rank got.
std::vector<Result<StepResults>> replay(const StepSettings& settings, int ranks, Options base) {
  base.order = "topo";
  std::vector<std::unique_ptr<ThreadWorld>> worlds;  // of control, and of each planner
  for (std::size_t i = 0; i <= settings.planners.size(); ++i) {
    worlds.push_back(std::make_unique<ThreadWorld>(ranks));
  }
  std::vector<Result<StepResults>> results(static_cast<std::size_t>(ranks),
                                           Result<StepResults>(Status(Code::internal, "nothing")));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      auto control = Engine::join({}, *worlds.back(), rank);
      ASSERT_TRUE(control.ok()) << control.status().to_string();
      const OpenLane open = [&](const Options& options, int lane) {
        return Engine::join(options, *worlds[static_cast<std::size_t>(lane)], rank);
      };
      results[static_cast<std::size_t>(rank)] = measure_steps(settings, base, *control, open, {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(StepTurns, TwoRanksReplayEveryPlannerThatTheEngineHas) {
  StepSettings settings = short_run();
  settings.planners = {"wfbp", "single", "threshold", "groups", "of-tomorrow"};
  settings.groups = 2;
  auto all = replay(settings, 2, {});
  for (auto& each : all) ASSERT_TRUE(each.ok()) << each.status().to_string();
  const StepResults& results = all[0].value();
  ASSERT_EQ(results.rows.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(results.rows[i].steps_ms.size(), 4U) << results.rows[i].planner;
    EXPECT_GE(results.rows[i].warmup, 6);
    EXPECT_GE(results.rows[i].buckets, 1);
    EXPECT_GE(results.rows[i].median_ms(), 1.1);
  }
  EXPECT_THAT(results.rows[4].refused, HasSubstr("of-tomorrow"));
  EXPECT_TRUE(results.rows[4].steps_ms.empty());
}

TEST(StepTurns, ThreeRanksOverMessagesWaitLayerByLayer) {
  StepSettings settings = short_run();
  settings.planners = {"wfbp", "threshold"};
  settings.forward_waits = true;
  Options base;
  base.transport = "tcp";
  auto all = replay(settings, 3, base);
  for (auto& each : all) ASSERT_TRUE(each.ok()) << each.status().to_string();
  EXPECT_EQ(all[2].value().rows[1].steps_ms.size(), 4U);
}

TEST(StepTurns, AnEmulatedNetworkIsPartOfEveryStep) {
  StepSettings settings = short_run();
  settings.planners = {"threshold"};
  Options base;
  ASSERT_TRUE(base.set("emulate", "alpha=20ms").ok());
  auto all = replay(settings, 2, base);
  ASSERT_TRUE(all[0].ok()) << all[0].status().to_string();
  // No step can end before its last bucket has spent that time on the wire, however fast we are.
  for (const double ms : all[0].value().rows[0].steps_ms) EXPECT_GE(ms, 20);
}

TEST(StepTurns, WithoutAnyPlannerThatTheEngineHasTheReasonIsTheError) {
  StepSettings settings = short_run();
  settings.planners = {"of-tomorrow"};
  auto all = replay(settings, 2, {});
  ASSERT_FALSE(all[0].ok());
  EXPECT_THAT(all[0].status().message(), HasSubstr("of-tomorrow"));
}

TEST(StepReplay, AWrongSumIsNamedWithItsTensorAndElement) {
  const sim::Workload step = short_step();
  ThreadWorld world(2);
  std::vector<Status> found(2);
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      auto engine = Engine::join({}, world, rank);
      ASSERT_TRUE(engine.ok());
      // The second rank brings what rank 7 would bring.
      StepReplay steps(step, {rank == 1 ? 7 : 0, 2, 0, false, Nanos(0)});
      ASSERT_TRUE(steps.step(*engine, false).ok());
      found[static_cast<std::size_t>(rank)] = steps.check();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& each : found) {
    EXPECT_EQ(each.code(), Code::corrupted);
    EXPECT_THAT(each.message(), HasSubstr("the sum of 'last' is wrong at element 0 of 10000"));
    EXPECT_THAT(each.message(), HasSubstr("instead of"));
  }
}

TEST(StepReplay, WhatWasNeverReducedIsFound) {
  const sim::Workload step = short_step();
  const StepReplay steps(step, {0, 1, 0, false, Nanos(0)});
  EXPECT_THAT(steps.check().message(), HasSubstr("'last' is wrong"));
}

}  // namespace
}  // namespace unisono::tools
